import type { Conduct, QuotaState } from '../limits/step.ts'
import { auditEntriesFrom, auditText, type AuditEntry } from '../records/audit-store.ts'

/**
 * What is known of a quota by two stores together: the larger count in each window. Of two generations the later is
 * right as a whole, because an operator has reset the quota or lifted a ban since.
 */
export function larger(one: QuotaState, other: QuotaState): QuotaState {
  if (one.generation !== other.generation) return one.generation > other.generation ? one : other
  const ofMinute = one.minute > other.minute ? one : other
  const ofDay = one.day > other.day ? one : other
  const isSameMinute = one.minute === other.minute
  const isSameDay = one.day === other.day
  return {
    minute: ofMinute.minute,
    minuteUsed: isSameMinute ? Math.max(one.minuteUsed, other.minuteUsed) : ofMinute.minuteUsed,
    day: ofDay.day,
    dayUsed: isSameDay ? Math.max(one.dayUsed, other.dayUsed) : ofDay.dayUsed,
    dayGivenBack: isSameDay ? Math.max(one.dayGivenBack, other.dayGivenBack) : ofDay.dayGivenBack,
    generation: one.generation,
    conducts: worse(one.conducts, other.conducts),
  }
}

type Conducts = QuotaState['conducts']

/** Of each key the ban that ends later; of two that end together, or are none, the one with more strikes. */
function worse(one: Conducts, other: Conducts): Conducts {
  if (!one || !other) return one ?? other
  const conducts = new Map<string, Conduct>(one)
  for (const [key, conduct] of other) {
    const known = conducts.get(key)
    if (!known || isWorse(conduct, known)) conducts.set(key, conduct)
  }
  return conducts
}

function isWorse(one: Conduct, other: Conduct): boolean {
  if (one.bannedUntilMs !== other.bannedUntilMs) return one.bannedUntilMs > other.bannedUntilMs
  return one.strikesMs.length > other.strikesMs.length
}

/** Lines of an audit that are there, as texts, and others, each once, the oldest first. */
export function mergedAudit(
  texts: readonly string[],
  others: readonly AuditEntry[],
): readonly AuditEntry[] {
  const known = new Set(texts)
  const entries = texts.flatMap((text) => auditEntriesFrom(text))
  entries.push(...others.filter((entry) => !known.has(auditText(entry))))
  return entries.sort((a, b) => a.atMs - b.atMs)
}
