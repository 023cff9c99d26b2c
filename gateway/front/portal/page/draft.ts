import { pretty, section, text, type Section, list } from '../../http/page/sections.ts'
import type { Openapi, Operation } from './openapi.ts'
import type { Draft } from './request.ts'

/** The values of a form's fields, by the places of the parameters. */
export type Values = readonly string[]

/** A body that can be sent. */
export type Body = Readonly<{ type: string; text: string }>

/** The values to begin with: required parameters have an example, all others are empty. */
export function firstValues(openapi: Openapi, { parameters }: Operation): Values {
  return parameters.map((parameter) => {
    if (parameter['required'] !== true) return ''
    const sample = givenSample(parameter) ?? sampleOf(openapi, parameter['schema'])
    return typeof sample === 'string' ? sample : JSON.stringify(sample ?? '')
  })
}

/** The bodies to begin with, one for each type. */
export function bodyChoices(openapi: Openapi, { body }: Operation): readonly Body[] {
  return Object.entries(section(body?.['content'])).map(([type, value]) => {
    const media = openapi.resolve(value)
    const sample = givenSample(media) ?? sampleOf(openapi, media['schema'] ?? media['itemSchema'])
    return { type, text: typeof sample === 'string' ? sample : pretty(sample) }
  })
}

/** Whether a browser lets a page send a parameter. The name of a header is a token: curl reads a file for one with @. */
export function canSend({ in: place, name }: Section): boolean {
  if (place === 'header') return /^[\w!#$%&'*+.^`|~-]+$/.test(text(name) ?? '')
  return place !== 'cookie'
}

export function draftOf(
  openapi: Openapi,
  { method, path, parameters }: Operation,
  values: Values,
  body: Body | undefined,
): Draft {
  const query: string[] = []
  const headers: Record<string, string> = {}
  let filled = path
  for (const [i, parameter] of parameters.entries()) {
    const [name, value] = [text(parameter['name']) ?? '', values[i] ?? '']
    const place = parameter['in']
    if (place === 'path') filled = filled.replace(`{${name}}`, () => encodeURIComponent(value))
    else if (value === '') continue
    else if (place === 'query')
      query.push(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    // All of the query, as it is sent.
    else if (place === 'querystring') query.push(value.replace(/^\?/, ''))
    else if (place === 'header' && canSend(parameter)) headers[name] = value
  }
  if (body) headers['Content-Type'] = body.type
  const search = query.length > 0 ? `?${query.join('&')}` : ''
  return {
    method,
    path: `${openapi.root}${filled}${search}`,
    headers,
    body: body?.text,
  }
}

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
