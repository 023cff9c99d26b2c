import Type, { type Static } from 'typebox'
import { instantFrom } from '../config/units.ts'
import type { KeySettings } from '../keys/settings.ts'

const text = Type.String({ expected: 'a text' })
/** An empty one would not mean "all", but "none": such a key could do nothing. */
const texts = Type.Array(text, { minItems: 1, expected: 'a list of at least one text' })
const limit = Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('unlimited')], {
  expected: 'a whole number above 0 or "unlimited"',
})
const date = Type.Refine(
  Type.String({ expected: 'a day such as 2030-12-31, or a time with its zone' }),
  (value) => instantFrom(value) !== undefined,
  () => 'must be a day such as 2030-12-31, or a time with its zone',
)
const closed = { additionalProperties: false, expected: 'an object' }

/** What a new key is to be like. */
export const created = Type.Object(
  {
    name: text,
    plan: text,
    account: Type.Optional(text),
    limits: Type.Optional(
      Type.Object({ perMinute: Type.Optional(limit), perDay: Type.Optional(limit) }, closed),
    ),
    expiresAt: Type.Optional(date),
    methods: Type.Optional(texts),
    paths: Type.Optional(texts),
    addresses: Type.Optional(texts),
    note: Type.Optional(text),
  },
  closed,
)

/** How a key is to change: what is `null` is taken away. */
export const changed = Type.Object(
  {
    name: Type.Optional(text),
    plan: Type.Optional(text),
    account: Type.Optional(orNull(text, 'a text')),
    limits: Type.Optional(
      orNull(
        Type.Object(
          {
            perMinute: Type.Optional(orNull(limit, 'a whole number above 0 or "unlimited"')),
            perDay: Type.Optional(orNull(limit, 'a whole number above 0 or "unlimited"')),
          },
          closed,
        ),
        'an object',
      ),
    ),
    expiresAt: Type.Optional(orNull(date, 'a day such as 2030-12-31, or a time with its zone')),
    methods: Type.Optional(orNull(texts, 'a list of at least one text')),
    paths: Type.Optional(orNull(texts, 'a list of at least one text')),
    addresses: Type.Optional(orNull(texts, 'a list of at least one text')),
    note: Type.Optional(orNull(text, 'a text')),
  },
  closed,
)

/** What a body decides about a key. */
export function settingsFrom(body: Static<typeof changed>): Partial<KeySettings> {
  const { expiresAt, limits, ...given } = body
  return {
    ...withoutNull(given),
    ...(limits && Object.keys(limits).length > 0 ? { limits: withoutNull(limits) } : {}),
    ...(limits === null ? { limits: { perMinute: undefined, perDay: undefined } } : {}),
    ...(expiresAt === undefined
      ? {}
      : { expiresAtMs: expiresAt === null ? undefined : instantFrom(expiresAt) }),
  }
}

function withoutNull(given: object): object {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value === null ? undefined : value]),
  )
}

function orNull<Schema extends Type.TSchema>(schema: Schema, expected: string) {
  return Type.Union([schema, Type.Null()], { expected: `${expected}, or null` })
}
