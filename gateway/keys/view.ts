import type { Key } from './key.ts'

/** A key without its secrets, with times as texts. `bannedUntilMs` is given while a ban of the key runs. */
export function keyView(key: Key, nowMs: number, bannedUntilMs?: number) {
  const { id, name, plan, account, limits, methods, paths, addresses, note, secrets } = key
  return {
    id,
    name,
    plan,
    state: stateOf(key, nowMs),
    account,
    limits: limits && Object.values(limits).some(Boolean) ? limits : undefined,
    createdAt: iso(key.createdAtMs),
    expiresAt: time(key.expiresAtMs),
    revokedAt: time(key.revokedAtMs),
    methods,
    paths,
    addresses,
    note,
    bannedUntil: time(bannedUntilMs),
    oldTokenUntil: time(secrets.find(({ untilMs = 0 }) => untilMs > nowMs)?.untilMs),
  }
}

export const keyStates = ['active', 'disabled', 'expired', 'revoked'] as const
export type KeyState = (typeof keyStates)[number]

/** The state of a key at a time, in one word. */
export function stateOf(key: Key, nowMs: number): KeyState {
  if (key.revokedAtMs !== undefined) return 'revoked'
  if (key.disabled) return 'disabled'
  return (key.expiresAtMs ?? Infinity) <= nowMs ? 'expired' : 'active'
}

function time(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : iso(ms)
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
