import { upToPattern } from '../limits/limit-settings.ts'
import { readerOf, Type } from '../../../shared/schema.ts'
import { byLimit } from '../../../shared/windows.ts'
import type { Key } from './key.ts'

const time = Type.Optional(Type.Integer())
const points = Type.Integer({ minimum: 1 })
const metered = Type.Object({
  limit: points,
  beyond: Type.Literal('meter'),
  upTo: Type.String({ pattern: upToPattern }),
})
const prepaid = Type.Object({
  limit: Type.Integer({ minimum: 0 }),
  beyond: Type.Literal('prepaid'),
})
const limit = Type.Optional(Type.Union([points, Type.Literal('unlimited'), metered, prepaid]))
const limits = {
  ...byLimit(() => limit),
  atOnce: Type.Optional(Type.Union([points, Type.Literal('unlimited')])),
}
const texts = Type.Optional(Type.Array(Type.String()))

/** The key of a stored text; `undefined` if it is damaged, so that lists can leave it out. */
export const intactKeyFrom: (text: string) => Key | undefined = readerOf(
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    plan: Type.String(),
    account: Type.Optional(Type.String()),
    reference: Type.Optional(Type.String()),
    test: Type.Optional(Type.Boolean()),
    limits: Type.Optional(Type.Object(limits)),
    cap: Type.Optional(Type.Object({ ...limits, sinceMs: Type.Integer() })),
    createdAtMs: Type.Integer(),
    expiresAtMs: time,
    disabled: Type.Optional(Type.Boolean()),
    revokedAtMs: time,
    methods: texts,
    paths: texts,
    addresses: texts,
    scopes: texts,
    origins: texts,
    note: Type.Optional(Type.String()),
    kind: Type.Optional(Type.String()),
    issuer: Type.Optional(Type.String()),
    subject: Type.Optional(Type.String()),
    outsideLimits: Type.Optional(Type.Object(limits)),
    isTouched: Type.Optional(Type.Boolean()),
    secrets: Type.Array(Type.Object({ hash: Type.String(), untilMs: time })),
  }),
)

/** The JSON text of a key, the same in all stores. */
export function recordOf(key: Key): string {
  return JSON.stringify(key)
}

/** The key of a stored text; throws if it is damaged, because half a key must not work. */
export function keyFrom(text: string): Key {
  const key = intactKeyFrom(text)
  if (key) return key
  throw new Error('a key in the store is damaged')
}
