import type { Key } from './key.ts'

/** A key without its secrets, times as texts; `bannedUntilMs` is there while a ban of it runs. */
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

/** Which keys a list is to have; what is left out leaves none out, but for revoked keys. */
export type KeyFilter = Readonly<{
  plan?: string | undefined
  account?: string | undefined
  /** A part of the name, however it is spelled. */
  name?: string | undefined
  /** Revoked ones too. */
  all: boolean
}>

export function isWanted(key: Key, { plan, account, name, all }: KeyFilter): boolean {
  if (!all && key.revokedAtMs !== undefined) return false
  if ((plan ?? key.plan) !== key.plan || (account ?? key.account) !== key.account) return false
  return name === undefined || key.name.toLowerCase().includes(name.toLowerCase())
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
