import { lastUse, markOf, type KeyUses } from './last-use-store.ts'
import type { Key, Secret } from './key.ts'

/** The old token of a key while it still works, and its last use. */
export type OldToken = Readonly<{ untilMs: number; lastUsedMs: number | undefined }>

/** A key with the last uses of its tokens; `undefined` if none is known. */
export type KeyInUse = Readonly<{ key: Key; uses: KeyUses | undefined }>

/** The facts of a key's view that the key itself doesn't have. */
export type Beside = Readonly<{
  /** The end of a running ban. */
  bannedUntilMs?: number | undefined
  /** The last uses; left out where they don't matter, as in the audit. */
  inUse?: KeyInUse
}>

/** A key without its secrets, with times as texts. */
export function keyView(key: Key, nowMs: number, { bannedUntilMs, inUse }: Beside = {}) {
  const { id, name, plan, account, limits, methods, paths, addresses, note } = key
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
    oldTokenUntil: time(oldSecretOf(key, nowMs)?.untilMs),
    ...(inUse && usesView(inUse, nowMs)),
  }
}

function usesView(inUse: KeyInUse, nowMs: number) {
  const old = oldTokenOf(inUse, nowMs)
  return {
    lastUsedAt: time(lastUse(inUse.uses)) ?? null,
    ...(old && { oldToken: { until: iso(old.untilMs), lastUsedAt: time(old.lastUsedMs) ?? null } }),
  }
}

/** The old token of a key, if it still works. */
export function oldTokenOf({ key, uses }: KeyInUse, nowMs: number): OldToken | undefined {
  const secret = oldSecretOf(key, nowMs)
  const { untilMs } = secret ?? {}
  return secret && untilMs !== undefined
    ? { untilMs, lastUsedMs: uses?.get(markOf(secret.hash)) }
    : undefined
}

function oldSecretOf({ secrets }: Key, nowMs: number): Secret | undefined {
  return secrets.find(({ untilMs = 0 }) => untilMs > nowMs)
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
