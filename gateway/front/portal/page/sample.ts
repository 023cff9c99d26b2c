import { list, section, text, type Section } from './json.ts'
import type { Openapi } from './openapi.ts'

/** How deep a sample goes. */
const deepest = 6

/** A value that fits a schema as far as can be told: its example, its default, or one of its type. */
export function sampleOf(openapi: Openapi, value: unknown, depth = 0): unknown {
  const schema = openapi.resolve(value)
  const sample = givenSample(schema)
  if (sample !== undefined) return sample
  if (depth > deepest) return null
  const inner = (each: unknown): unknown => sampleOf(openapi, each, depth + 1)
  const choice = list(schema['oneOf'])[0] ?? list(schema['anyOf'])[0]
  if (choice !== undefined) return inner(choice)
  const all = list(schema['allOf'])
  if (all.length > 0) return Object.assign({}, ...all.map((each) => section(inner(each))))
  const type = [schema['type']].flat().find((each) => each !== 'null')
  if (type === 'array') return schema['items'] === undefined ? [] : [inner(schema['items'])]
  if (type === 'object' || schema['properties'] !== undefined) {
    const members = Object.entries(section(schema['properties']))
    return Object.fromEntries(members.map(([name, each]) => [name, inner(each)]))
  }
  return simpleSample(type, schema)
}

/** A value that the document itself gives. */
export function givenSample(schema: Section): unknown {
  const { example, examples, default: usual } = schema
  if (example !== undefined) return example
  const [first] = list(examples)
  if (first !== undefined) return first
  const [named] = Object.values(section(examples))
  if (named !== undefined) return exampleIn(section(named))
  if (usual !== undefined) return usual
  return schema['const'] ?? list(schema['enum'])[0]
}

/** The value of an example that has a name. */
export function exampleIn({ value, dataValue, serializedValue }: Section): unknown {
  return value ?? dataValue ?? serializedValue
}

function simpleSample(type: unknown, { format, minimum }: Section): unknown {
  if (type === 'integer' || type === 'number') return typeof minimum === 'number' ? minimum : 1
  if (type === 'boolean') return true
  if (text(format) === 'date-time') return '2030-12-05T12:00:00Z'
  if (text(format) === 'date') return '2030-12-05'
  return type === 'string' ? 'text' : null
}
