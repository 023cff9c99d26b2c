import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from '../../../shared/refusal.ts'
import { Type, type TSchema } from '../../../shared/schema.ts'
import type { Endpoint } from '../operations/context.ts'
import type { Parameter, Parameters } from '../operations/parameter.ts'
import { read } from './body.ts'

type Given = Record<string, unknown>

/** The parameters of a path, a query or a body of JSON, with their names. */
export function plainParameters(parameters: Parameters): [name: string, parameter: Parameter][] {
  return Object.entries(parameters).flatMap(([name, parameter]) =>
    'kind' in parameter && parameter.header === undefined && !parameter.isOfCommand
      ? [[name, parameter]]
      : [],
  )
}

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
  const hasKey = endpoint.includes('{id}')
  const isThere = ([, each]: [string, Parameters[string]]): boolean =>
    !('kind' in each && (hasKey ? each.isOfMany : each.isOfOne))
  const all = Object.entries(parameters).filter(isThere)
  return Object.fromEntries(
    all.map(([name, parameter]) => {
      if (hasKey || !('kind' in parameter) || !parameter.namesMany) return [name, parameter]
      return [name, { ...parameter, isRequired: true }]
    }),
  )
}

/** Makes a reader of a path's parameters: those whose name stands in braces in it. */
export function fromPath(parameters: Parameters, path: string): (params: unknown) => Given {
  const all = plainParameters(parameters).filter(([name]) => isInPath(name, path))
  return (params) =>
    Object.fromEntries(
      all.map(([name, { kind }]) => {
        const text = (params as Record<string, string>)[name] ?? ''
        const value = kind.read(text)
        if (value !== undefined) return [name, value]
        throw new Refusal('invalid_request', `${name} must be ${kind.expected}.`)
      }),
    )
}

/** The parameters that aren't in the path: those of the query or of the body. */
export function withoutPath(parameters: Parameters, path: string): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !isInPath(name, path)))
}

export function isInPath(name: string, path: string): boolean {
  return path.includes(`{${name}}`)
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
        const value = text === undefined ? undefined : kind.read(text)
        if (text === undefined || value !== undefined) return [name, value]
        throw new Refusal('invalid_request', `${name} must be ${kind.expected}.`)
      }),
    )
  }
}

/** Makes a reader of bodies, by the kinds of the parameters. It throws a refusal with all mistakes of a body. */
export function fromBody(parameters: Parameters): (body: unknown) => Given {
  const all = plainParameters(parameters)
  const schema = bodySchema(parameters)
  const hasSecret = all.some(([, { isSecret = false }]) => isSecret)
  return (body) => {
    const members = (hasSecret ? readSecret(body, schema) : read(body, schema)) as Given
    return Object.fromEntries(
      all.map(([name, parameter]) => [name, valueOf(memberOf(members, name), parameter)]),
    )
  }
}

/** The value of a body with a secret: a message about a mistake in it could quote the secret. */
export function readSecret(body: unknown, schema: TSchema & { expected?: string }): unknown {
  try {
    return read(body, schema)
  } catch {
    throw new Refusal('invalid_request', `The body must be ${schema.expected}, and nothing else.`)
  }
}

/** The schema of a body with these parameters. A dot in a name leads into an object. */
export function bodySchema(parameters: Parameters): TSchema {
  const all = plainParameters(parameters)
  const groups = new Map<string, Parameters>()
  const members: Record<string, TSchema> = {}
  for (const [name, parameter] of all) {
    const [group = '', inner] = name.split('.', 2)
    if (inner === undefined) members[name] = memberSchema(parameter)
    else groups.set(group, { ...groups.get(group), [inner]: parameter })
  }
  for (const [name, inner] of groups) {
    const canGo = plainParameters(inner).every(([, { takeAway }]) => takeAway !== undefined)
    const schema = bodySchema(inner)
    members[name] = Type.Optional(canGo ? orNull(schema, 'an object') : schema)
  }
  const needed = all.filter(([, { isRequired = false }]) => isRequired).map(([name]) => `"${name}"`)
  const expected = needed.length > 0 ? `an object with ${needed.join(' and ')}` : 'an object'
  return Type.Object(members, { additionalProperties: false, expected })
}

function memberSchema({ kind, many = false, takeAway, isRequired = false }: Parameter): TSchema {
  const { expected, schema } = many
    ? manyOf(kind.schema)
    : { expected: kind.expected, schema: kind.schema }
  const whole = takeAway === undefined || isRequired ? schema : orNull(schema, expected)
  return isRequired ? whole : Type.Optional(whole)
}

/** A list of at least one: an empty list would allow nothing, so that the key could do nothing. */
function manyOf(schema: TSchema) {
  const expected = 'a list of at least one text'
  return { expected, schema: Type.Array(schema, { minItems: 1, expected }) }
}

function orNull(schema: TSchema, expected: string): TSchema {
  return Type.Union([schema, Type.Null()], { expected: `${expected}, or null` })
}

/** The member with a name. If `null` takes an object away, it takes away each member. */
function memberOf(members: Record<string, unknown>, name: string): unknown {
  const [group = '', inner] = name.split('.', 2)
  const member = members[group]
  if (inner === undefined || member === undefined || member === null) return member
  return (member as Record<string, unknown>)[inner]
}

function valueOf(json: unknown, { kind, many = false, defaultText }: Parameter): unknown {
  if (json === undefined) return defaultText === undefined ? undefined : kind.read(defaultText)
  if (json === null) return null
  const one = (each: unknown): unknown =>
    kind.fromJson ? kind.fromJson(each) : typeof each === 'string' ? kind.read(each) : undefined
  return many && Array.isArray(json) ? json.map(one) : one(json)
}
