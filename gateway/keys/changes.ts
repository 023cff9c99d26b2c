import Type, { type Static } from 'typebox'
import { limit as limitKind, moment } from '../operations/values.ts'
import type { KeySettings } from './settings.ts'

const text = Type.String({ expected: 'a text' })
/** An empty one would not mean "all", but "none": such a key could do nothing. */
const texts = Type.Array(text, { minItems: 1, expected: 'a list of at least one text' })
const limit = Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('unlimited')], {
  expected: limitKind.mayBe,
})
const date = Type.Refine(
  Type.String({ expected: moment.mayBe }),
  (value) => moment.read(value) !== undefined,
  () => `must be ${moment.mayBe}`,
)
const closed = { additionalProperties: false, expected: 'an object' }

/** How a new key is to be, as operators write it. */
export const newKey = Type.Object(
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

/** How a key is to change, as operators write it: `null` takes away. */
export const keyChange = Type.Object(
  {
    name: Type.Optional(text),
    plan: Type.Optional(text),
    account: Type.Optional(orNull(text, 'a text')),
    limits: Type.Optional(
      orNull(
        Type.Object(
          {
            perMinute: Type.Optional(orNull(limit, limitKind.mayBe)),
            perDay: Type.Optional(orNull(limit, limitKind.mayBe)),
          },
          closed,
        ),
        'an object',
      ),
    ),
    expiresAt: Type.Optional(orNull(date, moment.mayBe)),
    methods: Type.Optional(orNull(texts, 'a list of at least one text')),
    paths: Type.Optional(orNull(texts, 'a list of at least one text')),
    addresses: Type.Optional(orNull(texts, 'a list of at least one text')),
    note: Type.Optional(orNull(text, 'a text')),
  },
  closed,
)

export type KeyChange = Static<typeof keyChange>

/** What a change decides about a key. */
export function settingsFrom(change: KeyChange): Partial<KeySettings> {
  const { expiresAt, limits, ...given } = change
  return {
    ...withoutNull(given),
    ...(limits && Object.keys(limits).length > 0 ? { limits: withoutNull(limits) } : {}),
    ...(limits === null ? { limits: { perMinute: undefined, perDay: undefined } } : {}),
    ...(expiresAt === undefined
      ? {}
      : { expiresAtMs: expiresAt === null ? undefined : moment.read(expiresAt) }),
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
