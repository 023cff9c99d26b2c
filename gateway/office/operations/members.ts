import { Type, type AnySchema } from '../../../shared/schema.ts'
import type { Parameter, Parameters } from './parameter.ts'

type Values = Record<string, unknown>

/** The parameters of a path, a query or a body of JSON, with their names. */
export function plainParameters(parameters: Parameters): [name: string, parameter: Parameter][] {
  return Object.entries(parameters).flatMap(([name, parameter]) =>
    'kind' in parameter && parameter.header === undefined && !parameter.isOfCommand
      ? [[name, parameter]]
      : [],
  )
}

/** The parameters of an operation that is about one key, or names none. */
export function parametersOf(parameters: Parameters, hasKey: boolean): Parameters {
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

/** Makes a reader of objects that fit the schema: it gives the value of each parameter, by its kind. */
export function fromMembers(parameters: Parameters): (members: unknown) => Values {
  const all = plainParameters(parameters)
  return (members) =>
    Object.fromEntries(
      all.map(([name, parameter]) => [name, valueOf(memberOf(members as Values, name), parameter)]),
    )
}

/** The schema of a body with these parameters. A dot in a name leads into an object. */
export function bodySchema(parameters: Parameters): AnySchema {
  const all = plainParameters(parameters)
  const groups = new Map<string, Parameters>()
  const members: Record<string, AnySchema> = {}
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

function memberSchema({ kind, many = false, takeAway, isRequired = false }: Parameter): AnySchema {
  const { expected, schema } = many
    ? manyOf(kind.schema)
    : { expected: kind.expected, schema: kind.schema }
  const whole = takeAway === undefined || isRequired ? schema : orNull(schema, expected)
  return isRequired ? whole : Type.Optional(whole)
}

/** A list of at least one: an empty list would allow nothing, so that the key could do nothing. */
function manyOf(schema: AnySchema) {
  const expected = 'a list of at least one text'
  return { expected, schema: Type.Array(schema, { minItems: 1, expected }) }
}

function orNull(schema: AnySchema, expected: string): AnySchema {
  return Type.Union([schema, Type.Null()], { expected: `${expected}, or null` })
}

/** The member with a name. If `null` takes an object away, it takes away each member. */
function memberOf(members: Values, name: string): unknown {
  const [group = '', inner] = name.split('.', 2)
  const member = members[group]
  if (inner === undefined || member === undefined || member === null) return member
  return (member as Values)[inner]
}

function valueOf(json: unknown, { kind, many = false, defaultText }: Parameter): unknown {
  if (json === undefined) return defaultText === undefined ? undefined : kind.read(defaultText)
  if (json === null) return null
  // Anything but a text is its value: it fits the schema.
  const one = (each: unknown): unknown => (typeof each === 'string' ? kind.read(each) : each)
  return many && Array.isArray(json) ? json.map(one) : one(json)
}
