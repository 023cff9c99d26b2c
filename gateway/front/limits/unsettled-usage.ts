import {
  beginningOf,
  copyOf,
  newCounters,
  numberOf,
  setMark,
  type Adjustment,
  type Counters,
} from './counters.ts'
import { limitOf, noLimits } from './limits.ts'
import { countersByPart, type PartCounters } from './parts.ts'
import { takenPart } from './purse.ts'
import { adjust, newQuota, type Owed, type Seen } from './quota-state.ts'
import { sumOfReports } from './recount.ts'
import type { Decision } from './step.ts'
import { dayWindow, windows } from '../../../shared/windows.ts'

/** The id by which a store knows this gateway's reports, and the number of reports so far. */
export type Reporter = { readonly id: string; reports: number }

/** Points of one request, in all windows of its time; those below 0 are given back. */
function pointsOf(seen: Counters, { points: more, isAnswered }: Adjustment): Counters {
  const counted = Math.max(0, more)
  const points = { ...newCounters(), monthFrom: seen.monthFrom, generation: seen.generation }
  points.marks = seen.marks.slice()
  points.total = counted
  for (const window of windows) {
    if (window.at < points.marks.length) {
      const back = isAnswered || window.comesBack ? counted - more : 0
      setMark(points, window, numberOf(seen, window), counted, back)
    }
  }
  return points
}

/** The usage of one quota that was admitted without the store, and the reports of it to the store. */
export class UnsettledUsage {
  readonly state = newQuota()
  /** The counters that the store gave last, before the outage. */
  readonly base: Seen | undefined
  readonly #reporter: Reporter
  /** Admitted or given back, and in no report yet: one entry for each day and for what is included, the oldest first. */
  readonly #unreported: Report[] = []
  /** The report that the store hasn't acknowledged. */
  #report: Owed | undefined
  #isReporting = false

  constructor(base: Seen | undefined, reporter: Reporter) {
    // A copy: `Quotas` writes later answers into the same object.
    this.base = base && {
      ...copyOf(base),
      bannedUntilMs: base.bannedUntilMs,
      parts: copiesOf(base.parts),
      purse: base.purse && { ...base.purse },
    }
    this.#reporter = reporter
  }

  get isSettled(): boolean {
    return !this.#report && this.#unreported.length === 0
  }

  add(decision: Decision, cost: number): void {
    const bought = decision.purse?.took
    this.#note(reportOf(decision, { points: cost, isAnswered: true }, bought))
  }

  adjust(decision: Decision, adjustment: Adjustment, isReported = true): void {
    const { seen: counters, parts, included, purse } = decision
    // It was admitted earlier: later windows that run go on.
    const nowMs = Math.max(decision.nowMs, beginningOf(this.state))
    // The counts of before first, without which nothing says what was included. Of the purse it has a part only.
    const seen = this.base && { ...this.base, purse: undefined }
    const admission = { counters, parts: countersByPart(parts), seen, included, purse }
    // What the store has counted late isn't in the counters of this gateway.
    const bought = adjustment.isLate
      ? -Math.min(-adjustment.points, purse?.took ?? 0)
      : adjust(this.state, adjustment, admission, nowMs)
    if (isReported) this.#note(reportOf(decision, adjustment, bought))
  }

  #note(more: Report): void {
    const same = this.#unreported.findIndex((each) => areAlike(each, more))
    const before = this.#unreported[same]
    if (before) this.#unreported[same] = sumOf(more, before)
    else this.#unreported.push(more)
  }

  /**
   * The report for the next question to the store. One question at a time carries a report, and the
   * same report is repeated until the store has acknowledged it.
   */
  nextReport(): Owed | undefined {
    if (this.#isReporting) return undefined
    const oldest = this.#report ? undefined : this.#unreported.shift()
    if (oldest) {
      const { id } = this.#reporter
      this.#report = { ...oldest, by: id, number: ++this.#reporter.reports }
    }
    this.#isReporting = this.#report !== undefined
    return this.#report
  }

  /** Ends a question that carried a report; without an answer, the store may have counted it or not. */
  endReport(isAcknowledged: boolean): void {
    this.#isReporting = false
    if (isAcknowledged) this.#report = undefined
  }
}

/** Points of a day that the store hasn't heard of. */
type Report = Counters & Pick<Owed, 'parts' | 'included'>

/** `bought`: how many of its points were bought ones. */
function reportOf(decision: Decision, adjustment: Adjustment, bought = 0): Report {
  const { seen, parts, included, purse } = decision
  const ofParts = new Map<string, Counters>()
  for (const { part, counters } of parts ?? []) {
    ofParts.set(part.name, pointsOf(counters, adjustment))
  }
  if (purse) ofParts.set(takenPart, pointsOf(purse.taken, { ...adjustment, points: bought }))
  return {
    ...pointsOf(seen, adjustment),
    parts: ofParts.size > 0 ? ofParts : undefined,
    // Bought points lie beyond; the other points of a prepaid window are included.
    included: purse ? undefined : included,
  }
}

function sumOf(one: Report, other: Report): Report {
  const parts = new Map(one.parts)
  for (const [name, counters] of other.parts ?? []) {
    const present = parts.get(name)
    parts.set(name, present ? sumOfReports(counters, present) : counters)
  }
  const { included } = one
  return { ...sumOfReports(one, other), parts: parts.size > 0 ? parts : undefined, included }
}

/** Whether two reports are of one day, and of plans that include the same: the keys of an account may have several plans. */
function areAlike(one: Report, other: Report): boolean {
  if (numberOf(one, dayWindow) !== numberOf(other, dayWindow)) return false
  const [included, others] = [one.included ?? noLimits, other.included ?? noLimits]
  return windows.every((window) => limitOf(included, window) === limitOf(others, window))
}

function copiesOf(parts: PartCounters | undefined): PartCounters | undefined {
  return parts && new Map([...parts].map(([name, counters]) => [name, copyOf(counters)]))
}
