import type TypeBox from 'typebox'
import type { Static, TSchema } from 'typebox'
import { checkOf, refine } from './schema-check.ts'

// TypeBox gives the types alone. Its builders come with its whole algebra of types, 500 modules, and its checker with
// 235: 0.4 s and 0.15 s of each start of a process. These make the same JSON schemas, and schema-check.ts checks by them.

export type { Static, TObject, TSchema } from 'typebox'

type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'BigInt'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'Refine'
  | 'String'
  | 'Tuple'
  | 'Union'
>

type Members = Readonly<Record<string, object>>

/** Marks members that may be missing; it isn't printed. */
const optional = '~optional'

const of = (type: string) => (options?: object) => ({ type, ...options })

const builders = {
  BigInt: of('bigint'),
  Boolean: of('boolean'),
  Integer: of('integer'),
  Null: of('null'),
  Number: of('number'),
  String: of('string'),
  Array: (items: object, options?: object) => ({ type: 'array', items, ...options }),
  Enum: (values: readonly unknown[], options?: object) => ({ enum: values, ...options }),
  Literal: (value: unknown, options?: object) => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  Object: (properties: Members, options?: object) => {
    const names = Object.keys(properties).filter((name) => !hasOwn(properties[name], optional))
    const required = names.length > 0 ? { required: names } : {}
    return { type: 'object', ...required, properties, ...options }
  },
  Optional: (schema: object) => hidden(schema, optional, true),
  Partial: ({ type, properties }: TSchema & Members) => ({ type, properties }),
  Record: ({ pattern = '^.*$' }: { pattern?: string }, member: object, options?: object) => ({
    type: 'object',
    patternProperties: { [pattern]: member },
    ...options,
  }),
  Refine: (schema: { [refine]?: object[] }, check: unknown, error: unknown = () => '') =>
    hidden(schema, refine, [...(schema[refine] ?? []), { check, error }]),
  Tuple: (items: readonly object[], options?: object) => ({
    type: 'array',
    items,
    minItems: items.length,
    additionalItems: false,
    ...options,
  }),
  Union: (anyOf: readonly object[], options?: object) => ({ anyOf, ...options }),
}

/** Makes schemas: what TypeBox's `Type` makes, as far as it is used here. */
export const Type = builders as unknown as Builders

/** A time that a date can have, in milliseconds since 1970. */
export const timeSchema = Type.Integer({ minimum: -8.64e15, maximum: 8.64e15 })

/** Whether a value is as a schema says. */
export function isOf<Schema extends TSchema>(
  schema: Schema,
  value: unknown,
): value is Static<Schema> {
  return checkOf(schema)(value)
}

/** The same as a function. */
export function checkerOf<Schema extends TSchema>(
  schema: Schema,
): (value: unknown) => value is Static<Schema> {
  return (value): value is Static<Schema> => isOf(schema, value)
}

/**
 * Reads JSON that another process has written: the value of a text; `undefined` if there is none, if it isn't JSON, or if it
 * isn't as the schema says.
 */
export function readerOf<Schema extends TSchema>(
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
export function withOptions<Schema extends TSchema, Options extends object>(
  schema: Schema,
  options: Options,
): Schema & Options {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as Schema
  return Object.assign(copy, options)
}

/** A schema with one more member that is no word of JSON schemas. */
function hidden(schema: object, name: string, value: unknown): object {
  const copy = withOptions(schema, {})
  return Object.defineProperty(copy, name, { value, enumerable: false, configurable: true })
}

function hasOwn(schema: object | undefined, name: string): boolean {
  return schema !== undefined && Object.hasOwn(schema, name)
}
