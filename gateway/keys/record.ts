import Type from 'typebox'
import { Compile } from 'typebox/compile'
import type { Key } from './key.ts'

const time = Type.Optional(Type.Integer())
const limit = Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('unlimited')]))
const texts = Type.Optional(Type.Array(Type.String()))

const record = Compile(
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    plan: Type.String(),
    account: Type.Optional(Type.String()),
    limits: Type.Optional(Type.Object({ perMinute: limit, perDay: limit })),
    createdAtMs: Type.Integer(),
    expiresAtMs: time,
    disabled: Type.Optional(Type.Boolean()),
    revokedAtMs: time,
    methods: texts,
    paths: texts,
    addresses: texts,
    note: Type.Optional(Type.String()),
    secrets: Type.Array(Type.Object({ hash: Type.String(), untilMs: time })),
  }),
)

/** A key as stores keep it: one JSON text, the same in all of them. */
export function recordOf(key: Key): string {
  return JSON.stringify(key)
}

/** The key of a store's text, or nothing if it is damaged: one such must not hide all the others. */
export function intactKeyFrom(text: string): Key | undefined {
  try {
    return keyFrom(text)
  } catch {
    return undefined
  }
}

/** A key from a store's text; throws if it isn't one, rather than let half a key pass. */
export function keyFrom(text: string): Key {
  const value: unknown = JSON.parse(text)
  if (record.Check(value)) return value
  throw new Error('a key in the store is damaged')
}
