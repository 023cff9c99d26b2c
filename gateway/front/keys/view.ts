import { endIso, iso } from '../../../shared/times.ts'
import { lastUse, markOf, type KeyInUse } from './last-use-store.ts'
import { hasLimits } from '../limits/limit-settings.ts'
import { ownLimits, type Key, type KeyState, type Secret } from './key.ts'

/** The old token of a key while it still works, and its last use. */
export type OldToken = Readonly<{ untilMs: number; lastUsedMs: number | undefined }>

/** The facts of a key's view that the key itself doesn't have. */
export type Beside = Readonly<{
  /** The end of a running ban. */
  bannedUntilMs?: number | undefined
  /** The last uses; left out where they don't matter, as in the audit. */
  inUse?: KeyInUse
}>

/** A key without its secrets, with times as texts. */
export function keyView(key: Key, nowMs: number, { bannedUntilMs, inUse }: Beside = {}) {
  const { id, name, account, reference, test, cap, note, kind, issuer, subject } = key
  const { methods, paths, addresses, scopes, origins } = key
  const limits = ownLimits(key)
  return {
    id,
    name,
    plan: key.plan,
    state: stateOf(key, nowMs),
    account,
    reference,
    test: test || undefined,
    limits: limits && hasLimits(limits) ? limits : undefined,
    cap: cap && { ...cap, sinceMs: undefined },
    createdAt: iso(key.createdAtMs),
    expiresAt: iso(key.expiresAtMs),
    revokedAt: iso(key.revokedAtMs),
    methods,
    paths,
    addresses,
    scopes,
    origins,
    note,
    kind,
    issuer,
    subject,
    bannedUntil: bannedUntilMs === undefined ? undefined : endIso(bannedUntilMs),
    oldTokenUntil: iso(oldSecretOf(key, nowMs)?.untilMs),
    ...(inUse && usesView(inUse, nowMs)),
  }
}

export type KeyView = ReturnType<typeof keyView>

function usesView(inUse: KeyInUse, nowMs: number) {
  const old = oldTokenOf(inUse, nowMs)
  return {
    lastUsedAt: iso(lastUse(inUse.uses)) ?? null,
    ...(old && { oldToken: { until: iso(old.untilMs), lastUsedAt: iso(old.lastUsedMs) ?? null } }),
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

/** The state of a key at a time, in one word. */
export function stateOf(key: Key, nowMs: number): KeyState {
  if (key.revokedAtMs !== undefined) return 'revoked'
  if (key.disabled) return 'disabled'
  return (key.expiresAtMs ?? Infinity) <= nowMs ? 'expired' : 'active'
}
