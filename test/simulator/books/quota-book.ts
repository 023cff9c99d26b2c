import { dayWindow, longest, numberAt, windows, type Window } from '../../../shared/windows.ts'
import { numberOf, usedIn, type Counters } from '../../../gateway/front/limits/counters.ts'
import type { NewGrant } from '../../../gateway/front/limits/grants.ts'
import type { PartCounters } from '../../../gateway/front/limits/parts.ts'
import type { Owed, QuotaState } from '../../../gateway/front/limits/quota-state.ts'
import { countIn } from '../../../gateway/front/limits/recount.ts'
import { limitOf } from '../../../gateway/front/limits/limits.ts'
import { takenPart, type PurseState } from '../../../gateway/front/limits/purse.ts'
import type { Ask, Decision } from '../../../gateway/front/limits/step.ts'
import type { NewTopUp } from '../../../gateway/front/limits/top-ups.ts'
import type { Message } from '../messages.ts'
import { madeDays } from '../redis/made-adjustments.ts'
import { Bans } from './bans.ts'
import { add, blur, Count, widen } from './count.ts'
import { GrantBook } from './grant-book.ts'
import { LedgerBook } from './ledger-book.ts'
import { presentNumbers } from './present-windows.ts'
import { Once, type Note } from './once.ts'
import { includedBy, PurseBook, roomOf } from './purse-book.ts'

type Adjust = Extract<Message, { kind: 'adjust' }>

/**
 * What a quota's counters have to be, by the requests that were admitted, what they cost in the end, and what operators did.
 * It adds each request, adjustment and report once, by its name, in the windows of its admission.
 */
export class QuotaBook {
  readonly whole = new Count()
  readonly parts = new Map<string, Count>()
  readonly ledger = new LedgerBook()
  readonly purse = new PurseBook()
  readonly bans = new Bans()
  readonly grants = new GrantBook()
  readonly #adjustments = new Once(madeDays)
  readonly #reports = new Once()
  readonly #topUps = new Once()
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

  admit({ seen, parts, cost, included, purse }: Decision, ask: Ask): void {
    const bought = purse && this.#boughtOf(purse, seen, ask)
    for (const window of windows) add(this.whole.at(window, numberOf(seen, window)), cost)
    for (const { part, counters } of parts ?? []) {
      const count = this.part(part.name)
      for (const window of windows) add(count.at(window, numberOf(counters, window)), cost)
    }
    const day = numberOf(seen, dayWindow)
    if (bought === undefined) return this.ledger.add(day, cost, included)
    for (const window of windows)
      add(this.part(takenPart).at(window, numberOf(seen, window)), bought)
    this.purse.pay(bought)
    this.ledger.addBought(day, cost, bought)
  }

  /** One that counts again has to be one that the store may have forgotten. */
  topUp({ id, points }: NewTopUp, nowMs: number): void {
    this.roomAtMs = nowMs
    if (this.#topUps.note(id, 0) !== 'again') this.purse.topUp(points)
  }

  /** `present`: the counters of the store. */
  adjust({ adjustment, admission }: Adjust, present: Counters, nowMs: number): Note {
    const { points, isAnswered } = adjustment
    const { counters, parts, numbered, included, purse } = admission
    const today = numberAt(dayWindow, nowMs)
    const note = this.#adjustments.note(`${numbered?.by} ${numbered?.number}`, today)
    if (points < 0) this.roomAtMs = nowMs
    if (note === 'again') return note
    const bought = purse && this.#boughtAfter(adjustment, admission, purse, present, note)
    const addTo = (count: Count, each: Counters, points: number): void => {
      for (const window of windows) {
        const entry = count.at(window, numberOf(each, window))
        if (this.#isUnsure(window, numberOf(each, window), note, nowMs)) blur(entry)
        else if (points > 0 || isAnswered || window.comesBack) add(entry, points)
      }
    }
    for (const [count, each] of this.#countsOf(counters, parts)) addTo(count, each, points)
    if (bought && counters.generation >= this.#resetGeneration) {
      const taken = this.part(takenPart)
      addTo(taken, counters, bought.points)
      for (const window of bought.isSure ? [] : windows) {
        widen(taken.at(window, numberOf(counters, window)), Math.abs(points))
      }
    }
    this.#addToLedger(counters, points, note === 'forgotten', included, bought?.points)
    if (bought?.isSure === false) this.ledger.blurBeyond(numberOf(counters, dayWindow))
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
    const taken = owed.parts?.get(takenPart)
    if (taken) {
      const { counted, givenBack } = countIn(taken, dayWindow)
      if (note === 'forgotten') {
        this.purse.payUpTo(counted)
        this.purse.payUpTo(-givenBack)
      } else {
        this.purse.pay(counted)
        this.purse.pay(-givenBack)
      }
    }
    const bought = taken && usedIn(taken, dayWindow)
    const points = usedIn(owed, dayWindow)
    this.#addToLedger(owed, points, note === 'forgotten', owed.included, bought)
    return note
  }

  reset({ generation, ...state }: QuotaState, nowMs: number): void {
    this.whole.clear()
    this.parts.clear()
    this.roomAtMs = nowMs
    this.#resetGeneration = generation
    this.ledger.blurMetered(numberOf({ ...state, generation }, dayWindow))
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
    this.ledger.blurMetered(numberOf(state, dayWindow))
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
    this.#topUps.forget()
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
    bought: number | undefined,
  ): void {
    const day = numberOf(counted, dayWindow)
    if (isForgotten) blur(this.ledger.points.at(day))
    else if (bought !== undefined) this.ledger.addBought(day, points, bought)
    else this.ledger.add(day, points, included)
    if (isForgotten) this.ledger.blurBeyond(day)
    // What is metered is told by the windows, in which these points aren't.
    else if (counted.generation < this.#resetGeneration) this.ledger.blurMetered(day)
  }

  /** The points of an admission that were bought ones; where windows aren't known, as the store tells. */
  #boughtOf({ window, took }: PurseState, seen: Counters, { cost, included }: Ask): number {
    const number = numberOf(seen, window)
    const most = includedBy(this, included, window, number)
    const { used, fewer, more } = roomOf(this, window, number, most)
    return fewer + more > 0 ? took : Math.max(0, cost - used)
  }

  /** The bought points that an adjustment takes; below 0 if some come back. */
  #boughtAfter(
    { points, isLate }: Adjust['adjustment'],
    { counters, included }: Adjust['admission'],
    { window, room, took }: PurseState,
    present: Counters,
    note: Note,
  ): Readonly<{ points: number; isSure: boolean }> {
    const number = numberOf(counters, window)
    const isReset = counters.generation < this.#resetGeneration
    const isRunning = !isReset && numberOf(present, window) === number
    const most = included ? limitOf(included, window) : 0
    const presentRoom = roomOf(this, window, number, most)
    const back = isRunning && !isLate ? this.part(takenPart).at(window, number).used : took
    const left = isRunning ? presentRoom.used : room
    const bought = points < 0 ? -Math.min(-points, back) : Math.max(0, points - left)
    const isSure = !isRunning || presentRoom.fewer + presentRoom.more === 0
    // The store may have forgotten that it has paid.
    if (note === 'forgotten' || !isSure) this.purse.payUpTo(points)
    else this.purse.pay(bought)
    return { points: bought, isSure }
  }
}
