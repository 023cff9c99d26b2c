import type { Clock } from '../../../shared/clock.ts'
import type { Limits } from './limits.ts'
import { dayMs, minuteMs, type QuotaState } from './step.ts'
import type { StrangerPoints, StrangerStore } from './stranger-store.ts'

/** The most addresses in one round. A pause after a full round bounds them to 1,000 a second. */
const mostAtOnce = 100
const pauseMs = 100

/** The most addresses that wait for a round. Others are told of with one of their next requests. */
const mostWaiting = 10_000

/** The most addresses that one gateway has the store count for a day. Others are counted by this gateway alone. */
const mostOfDay = 20_000

/** The part of a day's limit that is gathered before it is told, so that a few requests leave no count for a day. */
const reportedPartOfDay = 0.01

/** Points of one window that the fleet hasn't heard of, and whether it has heard of others. */
type Unsent = { number: number; points: number; isKnown: boolean }

/** An address that sent requests without a valid key: its counters, and those of its points that weren't told. */
export type StrangerAddress = {
  readonly name: string
  readonly quota: QuotaState
  untold?: { readonly minute: Unsent; readonly day: Unsent; isWaiting: boolean }
}

const windows = {
  minute: { lengthMs: minuteMs, limit: 'perMinute', used: 'minuteUsed' },
  day: { lengthMs: dayMs, limit: 'perDay', used: 'dayUsed' },
} as const

/** Points on their way to the store. */
type PointsReport = Readonly<{ address: StrangerAddress; from: Unsent; told: StrangerPoints }>

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
  #waiting: StrangerAddress[] = []
  #isUnderWay = false
  #timer: NodeJS.Timeout | undefined
  #day = 0
  #addressesOfDay = 0

  /** `limits` returns those of an address in the configuration in force. */
  constructor(store: StrangerStore, limits: () => Limits, clock: Clock) {
    this.#store = store
    this.#limits = limits
    this.#clock = clock
  }

  /** Notes a request that was counted in the quota of an address. */
  note(address: StrangerAddress): void {
    const untold = (address.untold ??= { minute: nothing(), day: nothing(), isWaiting: false })
    addPoint(untold.minute, address.quota.minute)
    addPoint(untold.day, address.quota.day)
    this.#wait(address)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#waiting = []
  }

  #wait(address: StrangerAddress): void {
    const { untold } = address
    if (!untold || untold.isWaiting || this.#waiting.length >= mostWaiting) return
    if (!this.#isDue(untold.minute, 'minute') && !this.#isDue(untold.day, 'day')) return
    untold.isWaiting = true
    this.#waiting.push(address)
    if (!this.#isUnderWay) this.#begin()
  }

  #isDue({ points }: Unsent, window: 'minute' | 'day'): boolean {
    const limit = this.#limits()[windows[window].limit]
    if (limit === Infinity) return false
    return points >= Math.max(1, window === 'day' ? Math.floor(limit * reportedPartOfDay) : 1)
  }

  #begin(): void {
    this.#isUnderWay = true
    setImmediate(() => void this.#round())
  }

  async #round(): Promise<void> {
    const addresses = this.#waiting.splice(0, mostAtOnce)
    const tellings = addresses.flatMap((address) => this.#take(address))
    const isWhole = await this.#tell(tellings)
    if (!isWhole) addresses.forEach((address) => this.#wait(address))
    if (isWhole && addresses.length < mostAtOnce) return this.#end()
    this.#timer = setTimeout(() => this.#end(), pauseMs).unref()
  }

  #end(): void {
    this.#isUnderWay = false
    if (this.#waiting.length > 0) this.#begin()
  }

  /** Takes the points of an address that are due. */
  #take(address: StrangerAddress): PointsReport[] {
    const { name, untold } = address
    if (!untold) return []
    untold.isWaiting = false
    const nowMs = this.#clock()
    return (['minute', 'day'] as const).flatMap((window) => {
      const from = untold[window]
      const { number, points } = from
      const leftMs = (number + 1) * windows[window].lengthMs - nowMs
      if (leftMs <= 0) from.points = 0
      if (!this.#isDue(from, window) || !this.#mayCount(from, window)) return []
      Object.assign(from, { points: 0, isKnown: true })
      return [{ address, from, told: { address: name, window, number, leftMs, points } }]
    })
  }

  /** Whether the store may count these points: a minute's always, a day's of a limited number of addresses. */
  #mayCount({ number, isKnown }: Unsent, window: 'minute' | 'day'): boolean {
    if (isKnown || window === 'minute') return true
    if (this.#day !== number) {
      this.#day = number
      this.#addressesOfDay = 0
    }
    return ++this.#addressesOfDay <= mostOfDay
  }

  /** Tells points, and learns all points of their addresses; `false` if some couldn't be told, and are untold again. */
  async #tell(tellings: readonly PointsReport[]): Promise<boolean> {
    if (tellings.length === 0) return true
    const failed = (): undefined => undefined
    const sums = await this.#store.add(tellings.map(({ told }) => told)).catch(failed)
    tellings.forEach((telling, i) => learn(telling, sums?.[i]))
    return sums?.every((sum) => sum !== undefined) ?? false
  }
}

function nothing(): Unsent {
  return { number: 0, points: 0, isKnown: false }
}

function addPoint(untold: Unsent, number: number): void {
  if (untold.number !== number) Object.assign(untold, { number, points: 0, isKnown: false })
  untold.points++
}

/** Takes over the sum of a window's points, unless another one has begun. Without a sum the points stay untold. */
function learn({ address: { quota }, from, told }: PointsReport, sum: number | undefined): void {
  const { window, number, points } = told
  const { used } = windows[window]
  if (from.number !== number) return
  if (sum === undefined) from.points += points
  else if (quota[window] === number) quota[used] = Math.max(quota[used], sum + from.points)
}
