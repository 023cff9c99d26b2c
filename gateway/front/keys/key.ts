import { readerOf, Type, type Static } from '../../../shared/schema.ts'
import { limitsSchema, mergedLimits, type LimitSettings } from '../limits/limit-settings.ts'

export const keyStates = ['active', 'disabled', 'expired', 'revoked'] as const
export type KeyState = (typeof keyStates)[number]

const time = Type.Optional(Type.Integer())
const text = Type.Optional(Type.String())
const texts = Type.Optional(Type.Array(Type.String()))
const yes = Type.Optional(Type.Boolean())
/** One secret of a key: the hash of its token, and the end of its validity. */
const secret = Type.Object({ hash: Type.String(), untilMs: time })

/** The parts of a key that operators decide. Times are milliseconds since 1970. */
const settings = {
  name: Type.String(),
  plan: Type.String(),
  account: text,
  /** The id by which the operator's own systems know the customer. */
  reference: text,
  /** Whether it may have refusals acted for it. It stays what it was made as. */
  test: yes,
  limits: Type.Optional(limitsSchema),
  /** Limits that are counted for this key alone, beside those of its account, and the time at which they were set. */
  cap: Type.Optional(Type.Object({ ...limitsSchema.properties, sinceMs: Type.Integer() })),
  expiresAtMs: time,
  /** The key's restrictions; without one, everything is allowed. */
  methods: texts,
  paths: texts,
  addresses: texts,
  scopes: texts,
  origins: texts,
  note: text,
}

const keySchema = Type.Object({
  ...settings,
  id: Type.String(),
  createdAtMs: Type.Integer(),
  disabled: yes,
  revokedAtMs: time,
  /** How its caller is known, if by somebody else's word in place of a secret: `kind`, who says so, and whom they mean. */
  kind: text,
  issuer: text,
  subject: text,
  /** The limits that they say it has; `limits` go before. */
  outsideLimits: Type.Optional(limitsSchema),
  /** Whether an operator has changed a record of that kind: it is kept, however long nobody uses it. */
  isTouched: yes,
  /** The newest first. Ended ones stay for some time, so that every gateway learns of their end. */
  secrets: Type.Array(secret),
})

/** A key as it is stored. */
export type Key = Readonly<Static<typeof keySchema>>

export type Secret = Readonly<Static<typeof secret>>

/** A key as operators make it. */
export type KeySettings = Omit<Pick<Key, keyof typeof settings>, 'cap'> &
  Readonly<{ cap?: LimitSettings | undefined }>

/** A key and its version. Each change gives it a higher one. */
export type StoredKey = Readonly<{ key: Key; version: number }>

/** The key of a stored text; `undefined` if it is damaged, so that lists can leave it out. */
export const intactKeyFrom = readerOf(keySchema)

/** The key of a stored text; throws if it is damaged, because half a key must not work. */
export function keyFrom(text: string): Key {
  const key = intactKeyFrom(text)
  if (key) return key
  throw new Error('a key in the store is damaged')
}

/** The own limits of a key: an operator's, before those that somebody else says it has. */
export function ownLimits({
  limits,
  outsideLimits,
}: Pick<Key, 'limits' | 'outsideLimits'>): LimitSettings | undefined {
  return outsideLimits ? mergedLimits(limits, outsideLimits) : limits
}

/** The end of a secret's validity; 0 if it isn't valid, `Infinity` if it never ends. */
export function validUntil(key: Key, hash: string): number {
  const secret = key.secrets.find((secret) => secret.hash === hash)
  return secret ? Math.min(keyUntil(key), secret.untilMs ?? Infinity) : 0
}

/** The end of a key that has no secret. */
export function keyUntil({ disabled, revokedAtMs, expiresAtMs = Infinity }: Key): number {
  return disabled || revokedAtMs !== undefined ? 0 : expiresAtMs
}

/** Why a token isn't valid any more, or won't be from its end on. */
export type EndReason = 'expired' | 'disabled' | 'revoked' | 'rotated_out'

/**
 * Why the validity of a secret ends, or has ended. A secret that the key has no more was rotated out; without one, the key
 * alone decides.
 */
export function endReason(key: Key, hash: string | undefined): EndReason {
  if (key.revokedAtMs !== undefined) return 'revoked'
  if (key.disabled) return 'disabled'
  if (hash === undefined) return 'expired'
  const secret = key.secrets.find((secret) => secret.hash === hash)
  const isRotatedOut = !secret || (secret.untilMs ?? Infinity) < (key.expiresAtMs ?? Infinity)
  return isRotatedOut ? 'rotated_out' : 'expired'
}

const accountPrefix = 'account:'

/** The name under which a key's requests are counted. A test key uses nothing of its account up. */
export function quotaOf({ id, account, test }: Pick<Key, 'id' | 'account' | 'test'>): string {
  return account === undefined || test ? `key:${id}` : `${accountPrefix}${account}`
}

/** The account of a quota's name; `undefined` for a key's own quota. */
export function accountOf(quota: string): string | undefined {
  return quota.startsWith(accountPrefix) ? quota.slice(accountPrefix.length) : undefined
}
