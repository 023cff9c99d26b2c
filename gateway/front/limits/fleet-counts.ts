import { later, type Clock, type Later } from '../../../shared/clock.ts'
import { numberOf } from './counters.ts'
import { isLimited, limitOf, type Limits } from './limits.ts'
import { raiseTo } from './recount.ts'
import type { QuotaState } from './quota-state.ts'
import type { StrangerPoints, StrangerStore } from './stranger-store.ts'
import { dayWindow, endsAtMs, numberAt, windows, type Window } from '../../../shared/windows.ts'

/** The most addresses in one round. A pause after a full round bounds them to 1,000 a second. */
const mostAtOnce = 100
const pauseMs = 100

/** The most addresses that wait for a round. Others are told of with one of their next requests. */
const mostWaiting = 10_000

/** The most addresses that one gateway has the store count for long in one day. Others are counted by this gateway alone. */
const mostForLong = 20_000

/** The part of a long window's limit that is gathered before it is told, so that a few requests leave no count for long. */
const reportedPart = 0.01

/** Points of one window that the fleet hasn't heard of, and whether it has heard of others. */
type Unsent = { number: number; points: number; isKnown: boolean }

/** An address that sent requests without a valid key: its counters, and those of its points that weren't sent. */
export type StrangerAddress = {
  readonly name: string
  readonly quota: QuotaState
  /** In the order of the windows; of those that are limited. A map would take three times the memory. */
  unsent?: (Unsent | undefined)[]
  isWaiting?: boolean
}

/** Points on their way to the store. */
type PointsReport = Readonly<{
  address: StrangerAddress
  window: Window
  from: Unsent
  report: StrangerPoints
}>

/**
 * Tells the other gateways how much strangers send to this one, and learns how much they send to the others. Nothing
 * waits for it: each request is decided by the counts that this gateway has.
 *
 * One round at a time is under way, and begins when a turn of the loop ends. Requests of an address are gathered until
 * the next round, and refused ones aren't told, so that an address never costs more calls than its limit.
 */
export class FleetCounts {
  readonly #store: StrangerStore
  readonly #limits: () => Limits
  readonly #clock: Clock
  readonly #later: Later
  #waiting: StrangerAddress[] = []
  #isUnderWay = false
  #endWait: (() => void) | undefined
  #day = 0
  #addressesOfDay = 0

  /** `limits` returns those of an address in the configuration in force. */
  constructor(store: StrangerStore, limits: () => Limits, clock: Clock, wait = later) {
    this.#store = store
    this.#limits = limits
    this.#clock = clock
    this.#later = wait
  }

  /** Notes a request that was counted in the quota of an address. */
  note(address: StrangerAddress): void {
    const limits = this.#limits()
    const unsent = (address.unsent ??= windows.map(() => undefined))
    for (const [i, window] of windows.entries()) {
      if (!isLimited(limits, window)) continue
      const ofWindow = (unsent[i] ??= { number: 0, points: 0, isKnown: false })
      addPoint(ofWindow, numberOf(address.quota, window))
    }
    this.#wait(address)
  }

  close(): void {
    this.#endWait?.()
    this.#waiting = []
  }

  #wait(address: StrangerAddress): void {
    const { unsent, isWaiting } = address
    if (!unsent || isWaiting || this.#waiting.length >= mostWaiting) return
    if (!windows.some((window, i) => this.#isDue(unsent[i], window))) return
    address.isWaiting = true
    this.#waiting.push(address)
    if (!this.#isUnderWay) this.#begin()
  }

  #isDue(unsent: Unsent | undefined, window: Window): boolean {
    const limit = limitOf(this.#limits(), window)
    if (!unsent || limit === Infinity) return false
    return unsent.points >= Math.max(1, window.comesBack ? Math.floor(limit * reportedPart) : 1)
  }

  #begin(): void {
    this.#isUnderWay = true
    this.#endWait = this.#later(() => void this.#round(), 0)
  }

  async #round(): Promise<void> {
    const addresses = this.#waiting.splice(0, mostAtOnce)
    const tellings = addresses.flatMap((address) => this.#take(address))
    const isWhole = await this.#tell(tellings)
    if (!isWhole) addresses.forEach((address) => this.#wait(address))
    if (isWhole && addresses.length < mostAtOnce) return this.#end()
    this.#endWait = this.#later(() => this.#end(), pauseMs)
  }

  #end(): void {
    this.#isUnderWay = false
    if (this.#waiting.length > 0) this.#begin()
  }

  /** Takes the points of an address that are due. */
  #take(address: StrangerAddress): PointsReport[] {
    const { name, unsent } = address
    address.isWaiting = false
    const nowMs = this.#clock()
    return windows.flatMap((window, i) => {
      const from = unsent?.[i]
      if (!from) return []
      const { number, points } = from
      const leftMs = endsAtMs(window, number) - nowMs
      if (leftMs <= 0) from.points = 0
      if (!this.#isDue(from, window) || !this.#mayCount(from, window, nowMs)) return []
      Object.assign(from, { points: 0, isKnown: true })
      const report = { address: name, window: window.name, number, leftMs, points }
      return [{ address, window, from, report }]
    })
  }

  /** Whether the store may count these points: of long windows, those of a limited number of addresses. */
  #mayCount({ isKnown }: Unsent, { comesBack }: Window, nowMs: number): boolean {
    if (isKnown || !comesBack) return true
    const day = numberAt(dayWindow, nowMs)
    if (this.#day !== day) {
      this.#day = day
      this.#addressesOfDay = 0
    }
    return ++this.#addressesOfDay <= mostForLong
  }

  /** Tells points, and learns all points of their addresses; `false` if some couldn't be told, and are untold again. */
  async #tell(tellings: readonly PointsReport[]): Promise<boolean> {
    if (tellings.length === 0) return true
    const failed = (): undefined => undefined
    const sums = await this.#store.add(tellings.map(({ report }) => report)).catch(failed)
    tellings.forEach((telling, i) => learn(telling, sums?.[i]))
    return sums?.every((sum) => sum !== undefined) ?? false
  }
}

function addPoint(unsent: Unsent, number: number): void {
  if (unsent.number !== number) Object.assign(unsent, { number, points: 0, isKnown: false })
  unsent.points++
}

/** Takes over the sum of a window's points, unless another one has begun. Without a sum the points stay unsent. */
function learn(
  { address: { quota }, window, from, report }: PointsReport,
  sum: number | undefined,
): void {
  const { number, points } = report
  if (from.number !== number) return
  if (sum === undefined) from.points += points
  else if (numberOf(quota, window) === number) raiseTo(quota, window, sum + from.points)
}
