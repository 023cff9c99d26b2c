import { checkOf, refine } from './schema-check.ts'

/** A JSON schema that `Type` makes. Its type says the same as its value. */
export type AnySchema = object

export type ObjectSchema<Members extends Schemas = Schemas> = Readonly<{
  type: 'object'
  properties: Members
  required?: readonly string[]
}>

type Schemas = Readonly<Record<string, AnySchema>>

/** Marks members that may be missing; it isn't printed. */
const optional = '~optional'
type Optional = Readonly<{ [optional]: true }>

/** The type of the values that a schema lets pass. */
export type Static<Schema> = Schema extends { anyOf: readonly (infer Each)[] }
  ? Static<Each>
  : Schema extends { items: infer Items }
    ? OfItems<Items>
    : Schema extends { properties: infer Members }
      ? OfMembers<Members>
      : Schema extends { patternProperties: Readonly<Record<string, infer Member>> }
        ? Record<string, Static<Member>>
        : Schema extends { const: infer Word }
          ? Word
          : Schema extends { enum: readonly (infer Word)[] }
            ? Word
            : Schema extends { type: infer Name extends keyof Plain }
              ? Plain[Name]
              : unknown

type OfItems<Items> = Items extends readonly unknown[]
  ? { readonly [Place in keyof Items]: Static<Items[Place]> }
  : readonly Static<Items>[]

type OfMembers<Members> = Flat<
  {
    [Name in keyof Members as Members[Name] extends Optional ? never : Name]: Static<Members[Name]>
  } & {
    [Name in keyof Members as Members[Name] extends Optional ? Name : never]?:
      Static<Members[Name]> | undefined
  }
>

type Flat<Members> = { [Name in keyof Members]: Members[Name] }

type Plain = {
  bigint: bigint
  boolean: boolean
  integer: number
  null: null
  number: number
  string: string
}

const of =
  <const Name extends keyof Plain>(type: Name) =>
  (options?: object) => ({ type, ...options })

/** Makes schemas. */
export const Type = {
  BigInt: of('bigint'),
  Boolean: of('boolean'),
  Integer: of('integer'),
  Null: of('null'),
  Number: of('number'),
  String: of('string'),
  Array: <Items extends AnySchema>(items: Items, options?: object) => ({
    type: 'array' as const,
    items,
    ...options,
  }),
  Enum: <const Words extends readonly unknown[]>(words: Words, options?: object) => ({
    enum: words,
    ...options,
  }),
  Literal: <const Word extends string | number | boolean>(word: Word, options?: object) => ({
    type: typeof word,
    const: word,
    ...options,
  }),
  Object: <Members extends Schemas>(
    properties: Members,
    options?: object,
  ): ObjectSchema<Members> => {
    const names = Object.keys(properties).filter((name) => !hasOwn(properties[name], optional))
    const required = names.length > 0 ? { required: names } : {}
    return { type: 'object', ...required, properties, ...options }
  },
  Optional: <Schema extends AnySchema>(schema: Schema) =>
    hidden(schema, optional, true) as Schema & Optional,
  Partial: <Members extends Schemas>({ type, properties }: ObjectSchema<Members>) =>
    ({ type, properties }) as ObjectSchema<{ [Name in keyof Members]: Members[Name] & Optional }>,
  Record: <Member extends AnySchema>(
    { pattern = '^.*$' }: { type: 'string'; pattern?: string },
    member: Member,
    options?: object,
  ) => ({ type: 'object' as const, patternProperties: { [pattern]: member }, ...options }),
  Refine: <Schema extends AnySchema & { [refine]?: object[] }>(
    schema: Schema,
    check: (value: Static<Schema>) => boolean,
  ) => hidden(schema, refine, [...(schema[refine] ?? []), check]),
  Tuple: <const Items extends readonly AnySchema[]>(items: Items, options?: object) => ({
    type: 'array' as const,
    items,
    minItems: items.length,
    additionalItems: false,
    ...options,
  }),
  Union: <const Any extends readonly AnySchema[]>(anyOf: Any, options?: object) => ({
    anyOf,
    ...options,
  }),
}

/** A time that a date can have, in milliseconds since 1970. */
export const timeSchema = Type.Integer({ minimum: -8.64e15, maximum: 8.64e15 })

/** Whether a value is as a schema says. */
export function isOf<Schema extends AnySchema>(
  schema: Schema,
  value: unknown,
): value is Static<Schema> {
  return checkOf(schema)(value)
}

/** The same as a function. */
export function checkerOf<Schema extends AnySchema>(
  schema: Schema,
): (value: unknown) => value is Static<Schema> {
  return (value): value is Static<Schema> => isOf(schema, value)
}

/**
 * Reads JSON that another process has written: the value of a text; `undefined` if there is none, if it isn't JSON, or if it
 * isn't as the schema says.
 */
export function readerOf<Schema extends AnySchema>(
  schema: Schema,
): (text: string | null | undefined) => Static<Schema> | undefined {
  const isValid = checkerOf(schema)
  return (text) => {
    try {
      const value: unknown = JSON.parse(text ?? '')
      return isValid(value) ? value : undefined
    } catch {
      return undefined
    }
  }
}

/** A schema with further options, such as a description. */
export function withOptions<Schema extends AnySchema, Options extends object>(
  schema: Schema,
  options: Options,
): Schema & Options {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as Schema
  return Object.assign(copy, options)
}

/** A schema with one more member that is no word of JSON schemas. */
function hidden<Schema extends AnySchema>(schema: Schema, name: string, value: unknown): Schema {
  const copy = withOptions(schema, {})
  return Object.defineProperty(copy, name, { value, enumerable: false, configurable: true })
}

function hasOwn(schema: object | undefined, name: string): boolean {
  return schema !== undefined && Object.hasOwn(schema, name)
}
