import formats from 'ajv-formats'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import type { Answer } from './http.ts'
import {
  isObject,
  mapped,
  type DocumentedResponse,
  type Operation,
  type Schema,
} from './openapi-document.ts'

const settings = { allErrors: true, strictTypes: false } as const
const values = formats.default(new Ajv2020(settings))
/** For headers and queries, where a number is a text of digits. */
const texts = formats.default(new Ajv2020({ ...settings, coerceTypes: true }))

/** Headers that belong to the message, whatever it answers, and the one for caches. */
const ofMessages = new Set(
  'content-type content-length date connection keep-alive transfer-encoding via vary'.split(' '),
)

/** Differences of an answer's headers from the document: missing, wrong or undocumented ones. */
export function headerFaults({ headers = {} }: DocumentedResponse, answer: Answer): string[] {
  const documented = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const others = Object.keys(answer.headers).filter(
    (name) => answer.headers[name] !== undefined && !documented.has(name) && !ofMessages.has(name),
  )
  const wrong = Object.entries(headers).flatMap(([name, { required = false, schema }]) => {
    const value = answer.headers[name.toLowerCase()]
    if (value === undefined) return required ? [`the header ${name} is missing`] : []
    // Only links may come in several lines.
    if (Array.isArray(value) && name !== 'Link') return [`the header ${name} came more than once`]
    return textFaults(schema, value.toString(), `the header ${name}`)
  })
  return [...wrong, ...others.map((name) => `the header ${name} is not documented`)]
}

/** Whether an answer says that its operation is deprecated exactly if that is documented. */
export function deprecationFaults({ isDeprecated }: Operation, { headers }: Answer): string[] {
  const isTold = headers['deprecation'] !== undefined
  if (isTold === isDeprecated) return []
  return [isTold ? 'it says that it is deprecated' : 'it does not say that it is deprecated']
}

/** Differences of an answer's body from the document, undocumented members included. */
export function bodyFaults(
  { method }: Operation,
  { content }: DocumentedResponse,
  answer: Answer,
): string[] {
  const { text, status } = answer
  const type = mediaType(answer)
  if (!content) return text === '' && type === undefined ? [] : ['a body is not documented']
  const schema = type === undefined ? undefined : content[type]?.schema
  if (!schema) return [`the content type ${type ?? 'none'} is not documented`]
  if (method === 'HEAD') return text === '' ? [] : ['an answer to HEAD has a body']
  if (!type?.endsWith('json')) return []
  const body = parsed(text)
  if (body === undefined) return [`the body is no JSON: ${text.slice(0, 80)}`]
  const told = isObject(body) ? body['status'] : undefined
  const isOther = status >= 400 && told !== undefined && told !== status
  return [
    ...valueFaults(closedOf(schema), body, 'the body'),
    ...(isOther ? ['the status in the body is another'] : []),
  ]
}

/** Undocumented parts of a request that was answered well. */
export function requestFaults(
  operation: Operation,
  query: string,
  body: unknown,
  type: string,
): string[] {
  const { parameters, content } = operation
  const queryFaults = [...new URLSearchParams(query)].flatMap(([name, value]) => {
    const known = parameters.find((each) => each.in === 'query' && each.name === name)
    if (!known) return [`the parameter ${name} is not documented`]
    return textFaults(known.schema, value, `the parameter ${name}`)
  })
  if (body === undefined) return queryFaults
  const schema = content[type]?.schema
  if (!schema) return [...queryFaults, `a body of the request is not documented as ${type}`]
  const isText = typeof body === 'string' || Buffer.isBuffer(body)
  const sent =
    isText && type.endsWith('json') && !type.endsWith('ndjson') ? parsed(String(body)) : body
  return [...queryFaults, ...valueFaults(schema, sent, 'the request')]
}

/** The type of a body, without parameters; none for a message that has no body. */
export function mediaType({ headers }: Pick<Answer, 'headers'>): string | undefined {
  return headers['content-type']?.toString().split(';', 1)[0]?.trim()
}

/** The JSON value of a text; `undefined` if it isn't JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function valueFaults(schema: Schema, value: unknown, what: string): string[] {
  const validate = values.compile(schema)
  return validate(value) ? [] : sentences(what, validate.errors)
}

function textFaults(schema: Schema, text: string, what: string): string[] {
  const validate = texts.compile(schema)
  return validate(text) ? [] : sentences(what, validate.errors)
}

function sentences(what: string, errors: readonly ErrorObject[] | null = []): string[] {
  return (errors ?? []).map(({ instancePath, message = '', params }) => {
    return `${what}${instancePath} ${message} ${JSON.stringify(params)}`
  })
}

const closedSchemas = new WeakMap<Schema, Schema>()

function closedOf(schema: Schema): Schema {
  const known = closedSchemas.get(schema) ?? (closed(schema) as Schema)
  closedSchemas.set(schema, known)
  return known
}

/** A schema that takes no member that it doesn't name, unless it says something of others itself. */
function closed(schema: unknown, isPart = false): unknown {
  if (!isObject(schema)) return schema
  const copy = { ...schema }
  for (const name of ['allOf', 'anyOf', 'oneOf']) {
    const parts = copy[name]
    if (Array.isArray(parts)) copy[name] = parts.map((part) => closed(part, true))
  }
  const { properties, items } = copy
  if (isObject(properties)) copy['properties'] = mapped(properties, (each) => closed(each))
  if (items !== undefined) copy['items'] = closed(items)
  const names = ['properties', 'allOf', 'anyOf', 'oneOf'].some((name) => name in copy)
  const isSaid = 'additionalProperties' in copy || 'unevaluatedProperties' in copy
  if (names && !isPart && !isSaid) copy['unevaluatedProperties'] = false
  return copy
}
