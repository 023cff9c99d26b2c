import { fileSchema } from './schema.ts'

type Json = Readonly<Record<string, unknown>>

/** The schema of the configuration file as editors read it, from the one that the gateway goes by. */
export function jsonSchema(): Json {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'The configuration of Tollgate',
    ...forEditors({ ...fileSchema }),
  }
}

/** What is expected becomes a description; what isn't a text may still come from the environment. */
function forEditors(rule: Json): Json {
  const { expected, ...rest } = rule
  const described: Json = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, within(name, value)]),
  )
  const isWhole =
    rest['type'] === 'integer' || rest['type'] === 'number' || rest['type'] === 'boolean'
  const either = { anyOf: [described, { type: 'string', pattern: '\\$\\{\\w+(:-[^}]*)?\\}' }] }
  const description = expected === undefined ? {} : { description: expected }
  return { ...description, ...(isWhole ? either : described) }
}

function within(name: string, value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((each: unknown) => (isRule(each) ? forEditors(each) : each))
  if (!isRule(value)) return value
  if (name !== 'properties' && name !== 'patternProperties') return forEditors(value)
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, isRule(each) ? forEditors(each) : each]),
  )
}

function isRule(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
