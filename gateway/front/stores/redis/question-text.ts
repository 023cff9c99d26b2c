import { onceFor } from '../../../../shared/once-for.ts'
import { copyOf, fits, numberOf, roll, usedIn, type Counters } from '../../limits/counters.ts'
import { textOf, textOfMarks } from '../../limits/counters-text.ts'
import { countsBrief, limitOf, type Limits } from '../../limits/limits.ts'
import { rulesFor, type BanRules } from '../../limits/conduct.ts'
import type { Owed, Seen } from '../../limits/quota-state.ts'
import { neededBy, type Ask } from '../../limits/step.ts'
import {
  dayWindow,
  endsAtMs,
  shortest,
  steadyWindows,
  windows,
} from '../../../../shared/windows.ts'
import type { Part } from '../../limits/parts.ts'
import { packedParts } from './quota-hash.ts'

/** A question as quota.lua takes it. */
export function packed(
  { key, cost, least, limits, included, bans, seen, owed, ...ask }: Ask,
  predicted: Predicted | undefined,
): string {
  const isBriefCounted = ask.countsBrief ?? countsBrief(limits)
  const question = `${cost},${packedLimits(limits)},${isBriefCounted ? 1 : 0},${bans ? packedRules(rulesFor(bans, neededBy({ cost, least }))) : ''}`
  const report = owed ? packedReport(owed) : ''
  const metered = ask.prepaid ? undefined : included
  const more = least || metered ? `${least ?? ''}|${metered ? packedLimits(metered) : ''}` : ''
  const parts = ask.parts ? ask.parts.map((part) => packedPart(part, seen)).join('&') : ''
  const banned = seen?.bannedUntilMs ?? 0
  return `${packedSeen(seen, predicted)};${question};${more};${banned};${report};${parts};${key}`
}

function packedReport({ by, number, parts, included, ...counters }: Owed): string {
  const limits = included ? `&included=${packedLimits(included)}` : ''
  return `${textOf(counters)}${packedParts(parts)}${limits},${by},${number}`
}

function packedPart({ name, limits }: Part, seen: Seen | undefined): string {
  const counters = seen?.parts?.get(name)
  return `${name}|${packedLimits(limits)}|${countsBrief(limits) ? 1 : 0}|${counters ? textOf(counters) : ''}`
}

export const packedLimits = onceFor((limits: Limits): string => {
  const numbers = windows.map((window) => limitOf(limits, window))
  return numbers.map((limit) => (limit === Infinity ? -1 : limit)).join()
})

const packedRules = onceFor((bans: BanRules): string => {
  const { strikes, withinMs, graceMs, forMs, factor, atMostMs, memoryMs } = bans
  return [strikes, withinMs, graceMs, forMs, factor, atMostMs, memoryMs].join()
})

/** The counters after admitting a request, if no gateway writes meanwhile, and when and how far that is right. */
export type Predicted = Readonly<{ next: Seen; tillS: number; top: number }>

/** The counters in the script's own form, so that it can compare texts in most cases. */
function packedSeen(seen: Seen | undefined, predicted: Predicted | undefined): string {
  if (!seen) return ';0;;0'
  const marks = textOfMarks(seen)
  if (!predicted) return `${seen.total},${marks};0;;0`
  const { next, tillS, top } = predicted
  const isSame = numberOf(next, shortest) === numberOf(seen, shortest)
  const expected = `${next.total},${isSame ? marks : textOfMarks(next)}`
  return `${seen.total},${marks};${tillS};${expected};${top}`
}

/** Predicts an admission by the rules that the script has, too; `undefined` where it can't be predicted. */
export function predictedOf({
  seen,
  cost,
  limits,
  included,
  owed,
  ...ask
}: Ask): Predicted | undefined {
  const needed = neededBy({ cost, least: ask.least })
  if (!seen || owed || needed === 0 || seen.bannedUntilMs > 0) return undefined
  // A brief window has mostly ended by the next question; parts have texts of their own.
  if (ask.parts || (ask.countsBrief ?? countsBrief(limits))) return undefined
  const next = { ...copyOf(seen), bannedUntilMs: 0 }
  if (ask.atMs !== undefined) roll(next, ask.atMs, false)
  // Points of a day that ends are kept for the ledger, and its quota is kept for longer.
  const isNewDay = numberOf(next, dayWindow) !== numberOf(seen, dayWindow)
  if (isNewDay || !fits(next, needed, limits)) return undefined
  // What lies beyond is noted by its day, which the gateway doesn't know, or taken of a purse, which is the store's to say.
  if (included && !fits(next, needed, included)) return undefined
  next.total += cost
  const tillS = endsAtMs(shortest, numberOf(next, shortest)) / 1_000
  const top = Math.min(topOf(next, limits), included ? topOf(next, included) : Infinity)
  return { next, tillS, top: top - (needed - cost) }
}

/** The largest total that has room in all windows. */
function topOf(counters: Counters, limits: Limits): number {
  const room = steadyWindows.map((window) => limitOf(limits, window) - usedIn(counters, window))
  return Math.min(Number.MAX_SAFE_INTEGER, counters.total + Math.min(...room))
}
