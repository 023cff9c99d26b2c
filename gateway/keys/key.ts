import type { LimitSettings } from '../limits/limits.ts'

/** One secret of a key: what is kept of its token, and until when it may be used. */
export type Secret = Readonly<{ hash: string; untilMs?: number | undefined }>

/** A key as stores keep it. Times are milliseconds since 1970. */
export type Key = Readonly<{
  id: string
  name: string
  plan: string
  account?: string | undefined
  limits?: LimitSettings | undefined
  createdAtMs: number
  expiresAtMs?: number | undefined
  disabled?: boolean | undefined
  revokedAtMs?: number | undefined
  /** What the key is restricted to; nothing here: everything is allowed. */
  methods?: readonly string[] | undefined
  paths?: readonly string[] | undefined
  addresses?: readonly string[] | undefined
  note?: string | undefined
  /** The newest first. Those that have ended stay for a while, so that every gateway hears of it. */
  secrets: readonly Secret[]
}>

/** A key and the number of the change that made it what it is; a later change has a higher number. */
export type StoredKey = Readonly<{ key: Key; version: number }>

/** Until when a secret of a key lets its caller in, as far as is known now; 0 if it doesn't. */
export function validUntil(key: Key, hash: string): number {
  const secret = key.secrets.find((secret) => secret.hash === hash)
  if (!secret || key.disabled || key.revokedAtMs !== undefined) return 0
  return Math.min(key.expiresAtMs ?? Infinity, secret.untilMs ?? Infinity)
}

const ofAccount = 'account:'

/** The name under which a key's requests are counted. */
export function quotaOf({ id, account }: Pick<Key, 'id' | 'account'>): string {
  return account === undefined ? `key:${id}` : `${ofAccount}${account}`
}

/** The account whose requests are counted under a name, if they are an account's. */
export function accountOf(quota: string): string | undefined {
  return quota.startsWith(ofAccount) ? quota.slice(ofAccount.length) : undefined
}
