import type { Key } from './key.ts'
import { KeyMistake } from './mistake.ts'

/** Throws a `KeyMistake` if a key would end before it begins. */
export function requireFuture(expiresAtMs: number | undefined, nowMs: number): void {
  if (expiresAtMs === undefined || expiresAtMs > nowMs) return
  throw new KeyMistake('the expiry is in the past')
}

/** A record of a caller from outside that an operator has changed is kept, however long nobody uses it. */
export function touched(key: Key): Key {
  return key.kind === undefined ? key : { ...key, isTouched: true }
}

/** Settings that somebody else says of a caller are changed there. */
export function requireOwn({ id, kind, issuer }: Key, what: 'plan' | 'account' | 'token'): void {
  if (kind === undefined) return
  throw new KeyMistake(
    `the ${what} of "${id}" comes with its tokens, from ${issuer}: change it there; limits, restrictions, name and note are yours`,
    'conflict',
  )
}

/** Throws a `KeyMistake` for a key that was revoked. */
export function requireAlive(key: Key): void {
  if (key.revokedAtMs === undefined) return
  throw new KeyMistake(
    `the key "${key.id}" is revoked, which is for good; create a new one`,
    'conflict',
  )
}
