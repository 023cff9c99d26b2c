import { laterGrants } from '../limits/grants.ts'
import { mergedParts } from '../limits/parts.ts'
import { mergedCounters } from '../limits/recount.ts'
import { largerPast, mergedPast } from '../limits/past-points.ts'
import type { Conduct } from '../limits/conduct.ts'
import type { QuotaState } from '../limits/quota-state.ts'
import { auditEntriesFrom, auditText, type AuditEntry } from '../records/audit-store.ts'

/**
 * Merges the states of a quota in two stores: the larger count of each window. Of two generations the later
 * one is taken, because an operator has reset the quota or lifted a ban since; that leaves grants as they are.
 */
export function mergedQuota(one: QuotaState, other: QuotaState): QuotaState {
  const merged = withLargerCounts(one, other)
  const resetGeneration = Math.max(one.resetGeneration ?? 0, other.resetGeneration ?? 0)
  const beyond = largerPast(one.beyond, other.beyond)
  return {
    ...merged,
    past: mergedPast(one, other, merged),
    ...(beyond ? { beyond } : {}),
    ...(resetGeneration > 0 ? { resetGeneration } : {}),
  }
}

function withLargerCounts(one: QuotaState, other: QuotaState): QuotaState {
  const grants = laterGrants(one.grants, other.grants)
  if (one.generation !== other.generation) {
    return { ...(one.generation > other.generation ? one : other), grants }
  }
  const conducts = worseConducts(one.conducts, other.conducts)
  const parts = mergedParts(one.parts, other.parts)
  return { ...mergedCounters(one, other), conducts, grants, parts }
}

type Conducts = QuotaState['conducts']

/** Of each key the conduct whose ban ends later, else the one with more strikes. */
function worseConducts(one: Conducts, other: Conducts): Conducts {
  if (!one || !other) return one ?? other
  const conducts = new Map<string, Conduct>(one)
  for (const [key, conduct] of other) {
    const present = conducts.get(key)
    if (!present || isWorse(conduct, present)) conducts.set(key, conduct)
  }
  return conducts
}

function isWorse(one: Conduct, other: Conduct): boolean {
  if (one.bannedUntilMs !== other.bannedUntilMs) return one.bannedUntilMs > other.bannedUntilMs
  return one.strikes > other.strikes
}

/** Merges stored lines of an audit with others: each once, the oldest first. */
export function mergedAudit(
  texts: readonly string[],
  others: readonly AuditEntry[],
): readonly AuditEntry[] {
  const stored = new Set(texts)
  const entries = texts.flatMap((text) => auditEntriesFrom(text))
  entries.push(...others.filter((entry) => !stored.has(auditText(entry))))
  return entries.sort((a, b) => a.atMs - b.atMs)
}
