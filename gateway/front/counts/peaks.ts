import { randomUUID } from 'node:crypto'
import { breathe } from '../../../shared/breathe.ts'
import { stateOf, type Caller } from '../keys/caller.ts'
import { countedIn, numberOf, usedIn } from '../limits/counters.ts'
import type { Decision } from '../limits/step.ts'
import { dayWindow, shortest, type WindowName } from '../../../shared/windows.ts'
import type { PeakBatch, PeakStore, QuotaDay } from './peak-store.ts'
import type { PeakSlot } from '../keys/slots.ts'

/** Peaks per batch. Redis takes a batch in one call a group of quotas, so that large ones spare calls. */
const batchSize = 5_000

/** The most callers, and the most ended days of callers, whose peaks wait for the store during an outage. */
const mostWaiting = 100_000

/** No day: nothing of the caller waits. */
const none = 0

/** A new slot's members: small integers, so that a request writes them in place. */
export const noPeak: Readonly<PeakSlot> = {
  peakDay: none,
  peakMinute: 0,
  peakUsed: 0,
  refusedByMinute: 0,
  refusedByDay: 0,
}

/**
 * Notes the highest use of quotas: in the state of their callers, and from time to time in the store. A request costs
 * two comparisons and, if it is the caller's first since the last time, an entry in a list: 10 ns.
 */
export class Peaks {
  readonly #store: PeakStore
  readonly #id = randomUUID()
  #waiting: Caller[] = []
  /** Peaks of days that ended before they were written. */
  #ended: QuotaDay[] = []
  #batches = 0
  /** The batch that the store hasn't confirmed. */
  #unconfirmed: PeakBatch | undefined

  constructor(store: PeakStore) {
    this.#store = store
  }

  /** Notes a decision; `refusedBy` is the window that refused the request. */
  note(caller: Caller, { seen }: Decision, refusedBy: WindowName | undefined): void {
    const [ofMinute, day] = [countedIn(seen, shortest), numberOf(seen, dayWindow)]
    // A ban that was answered from memory tells no counters.
    if (day === none) return
    const slot: PeakSlot = stateOf(caller)
    if (slot.peakDay !== day && !this.#begin(caller, slot, day)) return
    const ofDay = usedIn(seen, dayWindow)
    if (ofMinute > slot.peakMinute) slot.peakMinute = ofMinute
    if (ofDay > slot.peakUsed) slot.peakUsed = ofDay
    if (refusedBy === 'minute') slot.refusedByMinute++
    else if (refusedBy === 'day') slot.refusedByDay++
  }

  /** Writes the peaks since the last time to the store. If that fails, they are kept for the next time, and it rejects. */
  async write(): Promise<void> {
    const callers = this.#waiting
    this.#waiting = []
    let done = 0
    try {
      while (this.#unconfirmed || this.#ended.length > 0 || done < callers.length) {
        if (!this.#unconfirmed) {
          const ended = this.#ended.splice(0, batchSize)
          const some = callers.slice(done, done + batchSize - ended.length)
          done += some.length
          const peaks = [...ended, ...some.flatMap(taken)]
          this.#unconfirmed = { by: this.#id, number: ++this.#batches, peaks }
        }
        await this.#store.add(this.#unconfirmed)
        this.#unconfirmed = undefined
        await breathe()
      }
    } finally {
      if (done < callers.length) this.#waiting = [...callers.slice(done), ...this.#waiting]
    }
  }

  /** Begins a day of a caller; `false` if too many wait. A former day that waits is kept. */
  #begin(caller: Caller, slot: PeakSlot, day: number): boolean {
    if (slot.peakDay === none) {
      if (this.#waiting.length >= mostWaiting) return false
      this.#waiting.push(caller)
    } else if (this.#ended.length < mostWaiting) this.#ended.push(peakOf(caller, slot))
    Object.assign(slot, noPeak)
    slot.peakDay = day
    return true
  }
}

/** Takes the peaks of a caller out of its state. */
function taken(caller: Caller): QuotaDay[] {
  const slot: PeakSlot = stateOf(caller)
  if (slot.peakDay === none) return []
  const peak = peakOf(caller, slot)
  Object.assign(slot, noPeak)
  return [peak]
}

function peakOf({ quota }: Caller, slot: PeakSlot): QuotaDay {
  const { peakDay: day, peakMinute: minute, peakUsed: used, refusedByMinute, refusedByDay } = slot
  return { quota, day, minute, used, refusedByMinute, refusedByDay }
}
