/** Whether a value is as a schema says. */
export type Check = (value: unknown) => boolean

type Schema = Readonly<Record<string, unknown>>
type Members = Readonly<Record<string, Schema>>
type Entries = Readonly<Record<string, unknown>>

/** Checks that JSON schemas have no word for: `Type.Refine` hides them under this name, which nothing prints. */
export const refine = '~refine'

const types: Readonly<Record<string, Check>> = {
  array: Array.isArray,
  bigint: (value) => typeof value === 'bigint',
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  null: (value) => value === null,
  number: Number.isFinite,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  string: (value) => typeof value === 'string',
}

/**
 * The words of the schemas that `schema.ts` makes, in the order in which they are checked: `type` comes first, and the others
 * may rely on it. `required` belongs to `properties`. Others, such as `description`, say nothing about a value.
 */
const words: Readonly<Record<string, (said: never, schema: Schema) => Check>> = {
  type: (said: string) => types[said] ?? fail(`type ${said}`),
  const: (said: unknown) => (value) => value === said,
  enum: (said: readonly unknown[]) => (value) => said.includes(value),
  anyOf: (said: readonly Schema[]) => {
    const checks = said.map(checkOf)
    return (value) => checks.some((check) => check(value))
  },
  minimum: (said: number) => (value) => (value as number) >= said,
  maximum: (said: number) => (value) => (value as number) <= said,
  exclusiveMinimum: (said: number) => (value) => (value as number) > said,
  minLength: (said: number) => (value) => (value as string).length >= said,
  pattern: (said: string) => {
    const pattern = new RegExp(said, 'u')
    return (value) => pattern.test(value as string)
  },
  minItems: (said: number) => (value) => (value as unknown[]).length >= said,
  maxItems: (said: number) => (value) => (value as unknown[]).length <= said,
  items: (said: Schema | readonly Schema[], { additionalItems }) => {
    if (!Array.isArray(said)) {
      const check = checkOf(said)
      return (value) => (value as unknown[]).every((item) => check(item))
    }
    const checks = said.map(checkOf)
    return (value) =>
      checks.every((check, i) => check((value as unknown[])[i])) &&
      (additionalItems !== false || (value as unknown[]).length <= checks.length)
  },
  minProperties: (said: number) => (value) => Object.keys(value as object).length >= said,
  properties: (said: Members, { required = [] }) => {
    const members = Object.entries(said).map(([name, member]) => {
      if (name in Object.prototype) fail(`a member ${name}, which every object has`)
      return { name, check: checkOf(member), isRequired: (required as string[]).includes(name) }
    })
    return (value) => {
      for (const { name, check, isRequired } of members) {
        const member = (value as Entries)[name]
        // A member that may be missing may be there without a value.
        if (member === undefined ? isRequired : !check(member)) return false
      }
      return true
    }
  },
  patternProperties: (said: Members) => {
    const members = Object.entries(said).map(
      ([pattern, member]) => [new RegExp(pattern, 'u'), checkOf(member)] as const,
    )
    return (value) =>
      Object.entries(value as object).every(([name, member]) =>
        members.every(([pattern, check]) => !pattern.test(name) || check(member)),
      )
  },
  additionalProperties: (said: unknown, { properties = {}, patternProperties = {} }) => {
    if (said !== false) fail('additionalProperties other than false')
    const names = new Set(Object.keys(properties as Members))
    const patterns = Object.keys(patternProperties as Members).map((text) => new RegExp(text, 'u'))
    return (value) =>
      Object.keys(value as object).every(
        (name) => names.has(name) || patterns.some((pattern) => pattern.test(name)),
      )
  },
  [refine]: (said: readonly Check[]) => (value) => said.every((check) => check(value)),
}

/** Words of JSON schemas that would say something, but that nobody checks. */
const unchecked = (
  'allOf contains dependentRequired exclusiveMaximum format if maxLength maxProperties multipleOf not oneOf ' +
  'prefixItems propertyNames uniqueItems $ref'
).split(' ')

const checks = new WeakMap<object, Check>()

/** The check of a schema, which is made once. */
export function checkOf(schema: object): Check {
  const known = checks.get(schema)
  if (known) return known
  const said = schema as Schema
  for (const word of unchecked) if (said[word] !== undefined) fail(word)
  const all = Object.entries(words)
    .filter(([word]) => said[word] !== undefined)
    .map(([word, make]) => make(said[word] as never, said))
  const check = bothOf(all)
  checks.set(schema, check)
  return check
}

/** All of some checks as one. */
function bothOf([one = () => true, ...others]: readonly Check[]): Check {
  if (others.length === 0) return one
  const other = bothOf(others)
  return (value) => one(value) && other(value)
}

function fail(word: string): never {
  throw new Error(`a schema can’t say ${word} here: shared/schema-check.ts doesn’t check it`)
}
