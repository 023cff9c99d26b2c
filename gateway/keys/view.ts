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

/** The keys to list. An absent member filters nothing; revoked keys are listed with `all` only. */
export type KeyFilter = Readonly<{
  plan?: string | undefined
  account?: string | undefined
  /** A part of the name, in upper or lower case. */
  name?: string | undefined
  /** Whether revoked keys are listed too. */
  all: boolean
}>

export function isWanted(key: Key, { plan, account, name, all }: KeyFilter): boolean {
  if (!all && key.revokedAtMs !== undefined) return false
  if ((plan ?? key.plan) !== key.plan || (account ?? key.account) !== key.account) return false
  return name === undefined || key.name.toLowerCase().includes(name.toLowerCase())
}

/** The state of a key at a time, in one word. */
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
