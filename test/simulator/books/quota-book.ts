import { dayWindow, longest, numberAt, windows, type Window } from '../../../shared/windows.ts'
import { numberOf, usedIn, type Counters } from '../../../gateway/front/limits/counters.ts'
import type { NewGrant } from '../../../gateway/front/limits/grants.ts'
import type { PartCounters } from '../../../gateway/front/limits/parts.ts'
import type { Owed, QuotaState } from '../../../gateway/front/limits/quota-state.ts'
import { countIn } from '../../../gateway/front/limits/recount.ts'
import type { Decision } from '../../../gateway/front/limits/step.ts'
import type { Message } from '../messages.ts'
import { madeDays } from '../redis/made-adjustments.ts'
import { Bans } from './bans.ts'
import { add, blur, Count } from './count.ts'
import { GrantBook } from './grant-book.ts'
import { LedgerBook } from './ledger-book.ts'
import { presentNumbers } from './present-windows.ts'
import { Once, type Note } from './once.ts'

type Adjust = Extract<Message, { kind: 'adjust' }>

/**
 * What a quota's counters have to be, by the requests that were admitted, what they cost in the end, and what operators did.
 * It adds each request, adjustment and report once, by its name, in the windows of its admission.
 */
export class QuotaBook {
  readonly whole = new Count()
  readonly parts = new Map<string, Count>()
  readonly ledger = new LedgerBook()
  readonly bans = new Bans()
  readonly grants = new GrantBook()
  readonly #adjustments = new Once(madeDays)
  readonly #reports = new Once()
  readonly quota: string
  monthFrom = 1
  /** When room was made last: by points that came back, a reset, a grant or other limits. */
  roomAtMs = 0
  #resetGeneration = 0
  /** The windows of parts that only gateways may still know of. */
  #unsure: readonly (readonly [Window, number])[] = []

  constructor(quota: string) {
    this.quota = quota
  }

  part(name: string): Count {
    const present = this.parts.get(name)
    if (present) return present
    const count = new Count()
    for (const [window, number] of this.#unsure) blur(count.at(window, number))
    this.parts.set(name, count)
    return count
  }

  admit({ seen, parts, cost, included }: Decision): void {
    for (const window of windows) add(this.whole.at(window, numberOf(seen, window)), cost)
    for (const { part, counters } of parts ?? []) {
      const count = this.part(part.name)
      for (const window of windows) add(count.at(window, numberOf(counters, window)), cost)
    }
    this.ledger.add(numberOf(seen, dayWindow), cost, included)
  }

  adjust({ adjustment, admission }: Adjust, nowMs: number): Note {
    const { points, isAnswered } = adjustment
    const { counters, parts, numbered, included } = admission
    const today = numberAt(dayWindow, nowMs)
    const note = this.#adjustments.note(`${numbered?.by} ${numbered?.number}`, today)
    if (points < 0) this.roomAtMs = nowMs
    if (note === 'again') return note
    for (const [count, each] of this.#countsOf(counters, parts)) {
      for (const window of windows) {
        const entry = count.at(window, numberOf(each, window))
        if (this.#isUnsure(window, numberOf(each, window), note, nowMs)) blur(entry)
        else if (points > 0 || isAnswered || window.comesBack) add(entry, points)
      }
    }
    this.#addToLedger(counters, points, note === 'forgotten', included)
    return note
  }

  report(owed: Owed, nowMs: number): Note {
    this.roomAtMs = nowMs
    const note = this.#reports.note(`${owed.by} ${owed.number}`, numberAt(dayWindow, nowMs))
    if (note === 'again') return note
    for (const [count, each] of this.#countsOf(owed, owed.parts)) {
      for (const window of windows) {
        const { number, counted, givenBack } = countIn(each, window)
        const entry = count.at(window, number)
        if (this.#isUnsure(window, number, note, nowMs)) blur(entry)
        else add(entry, counted - givenBack)
      }
    }
    this.#addToLedger(owed, usedIn(owed, dayWindow), note === 'forgotten', owed.included)
    return note
  }

  reset({ generation, ...state }: QuotaState, nowMs: number): void {
    this.whole.clear()
    this.parts.clear()
    this.roomAtMs = nowMs
    this.#resetGeneration = generation
    this.ledger.blurBeyond(numberOf({ ...state, generation }, dayWindow))
  }

  setMonthFrom(monthFrom: number, nowMs: number): void {
    this.roomAtMs = nowMs
    if (monthFrom === this.monthFrom) return
    this.monthFrom = monthFrom
    this.whole.clearWindow(longest)
    // A part that nobody asks for meanwhile goes on with its month, if an operator takes the change back.
    for (const count of this.parts.values()) {
      count.clearWindow(longest)
      blur(count.at(longest, numberAt(longest, nowMs, monthFrom)))
    }
  }

  grant(grant: NewGrant, state: QuotaState, nowMs: number): void {
    this.roomAtMs = nowMs
    this.grants.add(grant, state, nowMs)
    this.ledger.blurBeyond(numberOf(state, dayWindow))
  }

  /** A store has lost writes: takes over what it has of resets, grants and months. */
  takeOver(state: QuotaState, nowMs: number): void {
    this.roomAtMs = nowMs
    if (this.monthFrom !== state.monthFrom) {
      this.setMonthFrom(state.monthFrom, nowMs)
      this.#blurPresent([longest], state, nowMs)
    }
    this.#resetGeneration = state.resetGeneration ?? 0
    this.grants.takeOver(state.grants?.each ?? [])
    this.#adjustments.forget()
    this.#reports.forget()
    this.#unsure = windows.flatMap((window) =>
      presentNumbers(window, state, nowMs).map((number) => [window, number] as const),
    )
    this.ledger.blurBeyond(numberOf(state, dayWindow))
    this.ledger.blurBeyond(numberAt(dayWindow, nowMs))
  }

  /** The store has taken over another state than its own: nobody can tell its present windows. */
  blur(state: QuotaState, nowMs: number): void {
    this.takeOver(state, nowMs)
    this.#blurPresent(windows, state, nowMs)
    const today = numberOf(state, dayWindow)
    for (let day = today - 3; day <= today + 1; day++) blur(this.ledger.points.at(day))
  }

  #blurPresent(some: readonly Window[], state: QuotaState, nowMs: number): void {
    for (const count of [this.whole, ...this.parts.values()]) {
      for (const window of some) {
        for (const number of presentNumbers(window, state, nowMs)) blur(count.at(window, number))
      }
    }
  }

  /** Whether points that come afterwards may be in a window or not: it may not have begun, by a clock that was set back. */
  #isUnsure(window: Window, number: number, note: Note, nowMs: number): boolean {
    if (window.isBrief || note === 'forgotten') return true
    return number > numberAt(window, nowMs, this.monthFrom)
  }

  /** The counts in which points of a request, or a report, belong: those of before a reset belong in none. */
  #countsOf(counters: Counters, parts: PartCounters | undefined): [Count, Counters][] {
    if (counters.generation < this.#resetGeneration) return []
    const ofParts = [...(parts ?? [])].map(([name, each]): [Count, Counters] => [
      this.part(name),
      each,
    ])
    return [[this.whole, counters], ...ofParts]
  }

  #addToLedger(
    counted: Counters,
    points: number,
    isForgotten: boolean,
    included: Owed['included'],
  ): void {
    const day = numberOf(counted, dayWindow)
    if (isForgotten) blur(this.ledger.points.at(day))
    else this.ledger.add(day, points, included)
    // What lies beyond is told by the windows, in which these points aren't.
    if (isForgotten || counted.generation < this.#resetGeneration) this.ledger.blurBeyond(day)
  }
}
