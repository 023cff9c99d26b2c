import type { Key } from './key.ts'

/** A key without its secrets, times as texts. */
export function keyView(key: Key, nowMs: number) {
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
    oldTokenUntil: time(secrets.find(({ untilMs = 0 }) => untilMs > nowMs)?.untilMs),
  }
}

/** What a key is good for at a time, in a word. */
export function stateOf(key: Key, nowMs: number): 'active' | 'revoked' | 'disabled' | 'expired' {
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
