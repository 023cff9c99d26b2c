import type { IncomingHttpHeaders } from 'node:http'
import { jsonFrom } from '../../../shared/json.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { isOf, type AnySchema } from '../../../shared/schema.ts'
import type { Endpoint } from '../operations/context.ts'
import type { Kind } from '../operations/kinds.ts'
import { bodySchema, fromMembers, parametersOf, plainParameters } from '../operations/members.ts'
import type { Parameters } from '../operations/parameter.ts'
import { contentOf, read } from './body.ts'

type Given = Record<string, unknown>

/** Makes a reader of headers. A missing one is left to the operation, which knows what it is for. */
export function fromHeaders(parameters: Parameters): (headers: IncomingHttpHeaders) => Given {
  const all = Object.entries(parameters).flatMap(([name, parameter]) =>
    'kind' in parameter && parameter.header !== undefined
      ? [[name, parameter.kind, parameter.header] as const]
      : [],
  )
  return (headers) =>
    Object.fromEntries(
      all.map(([name, kind, header]) => [name, kind.read(String(headers[header] ?? ''))]),
    )
}

/** The parameters of an operation at an endpoint, which names a key or doesn't. */
export function parametersAt(endpoint: Endpoint, parameters: Parameters): Parameters {
  return parametersOf(parameters, endpoint.includes('{id}'))
}

/** Makes a reader of a path's parameters: those whose name stands in braces in it. */
export function fromPath(parameters: Parameters, path: string): (params: unknown) => Given {
  const all = plainParameters(parameters).filter(([name]) => isInPath(name, path, parameters))
  return (params) =>
    Object.fromEntries(
      all.map(([name, { kind }]) => {
        return [name, valueOf(name, kind, (params as Record<string, string>)[name] ?? '')]
      }),
    )
}

/** The parameters that aren't in the path: those of the query or of the body. */
export function withoutPath(parameters: Parameters, path: string): Parameters {
  return Object.fromEntries(
    Object.entries(parameters).filter(([name]) => !isInPath(name, path, parameters)),
  )
}

/** Whether a parameter stands in the path. `{id}` there is the key's, where an operation is about one. */
export function isInPath(name: string, path: string, parameters: Parameters): boolean {
  const isOfKey = name === 'id' && Object.values(parameters).some((each) => 'isKey' in each)
  return !isOfKey && path.includes(`{${name}}`)
}

/** Makes a reader of queries, by the kinds of the parameters. */
export function fromQuery(parameters: Parameters): (query: unknown) => Given {
  const all = plainParameters(parameters)
  return (query) => {
    const texts = new Map(Object.entries(query as Record<string, string>))
    return Object.fromEntries(
      all.map(([name, { kind, value: word, defaultText }]) => {
        const query = texts.get(name)
        // A form sends its empty fields too. An empty switch is on.
        const text = query === '' && word !== undefined ? defaultText : (query ?? defaultText)
        return [name, text === undefined ? undefined : valueOf(name, kind, text)]
      }),
    )
  }
}

function valueOf(name: string, kind: Kind<unknown>, text: string): unknown {
  const value = kind.read(text)
  if (value !== undefined) return value
  throw new Refusal('invalid_request', `${name} must be ${kind.expected}.`)
}

/** Makes a reader of bodies, by the kinds of the parameters. It throws a refusal with all mistakes of a body. */
export function fromBody(parameters: Parameters): (body: unknown) => Given {
  const schema = bodySchema(parameters)
  const valuesOf = fromMembers(parameters)
  const hasSecret = plainParameters(parameters).some(([, { isSecret = false }]) => isSecret)
  return (body) => {
    return valuesOf(hasSecret ? readSecret(body, schema) : read(body, schema))
  }
}

/** What a body with a secret stays within: anybody may send one for a sign-in. */
const bounds = { levels: 4, names: 32 }

/** The value of a body with a secret: a message about a mistake in it could quote the secret. */
export function readSecret(body: unknown, schema: AnySchema & { expected?: string }): unknown {
  const value = jsonFrom(contentOf(body).read().trim() || '{}', bounds)
  if (isOf(schema, value)) return value
  throw new Refusal('invalid_request', `The body must be ${schema.expected}, and nothing else.`)
}
