import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import type { Counts } from '../../front/counts/meters.ts'
import type { NoticeAddress } from './addresses.ts'
import type { Notice } from '../../front/records/notice.ts'
import { send, type DeliveryResult } from './send.ts'
import type { NoticeStore, Outcome, Queued } from '../../front/records/notice-store.ts'

/** Notices that are on their way to one address at a time. */
const batchSize = 4

export type DeliveryOptions = Readonly<{
  store: () => NoticeStore
  /** Notices by type and result. */
  counts: Counts
  clock: Clock
  log: Log
}>

/** Sends the notices of queues that are due: each queue by itself, so that an address that hangs holds up no other. */
export class Deliveries {
  readonly #options: DeliveryOptions
  readonly #running = new Map<string, Promise<void>>()
  /** Addresses whose last notice didn't arrive, so that the log has one line about it. */
  readonly #troubled = new Set<string>()
  readonly #stop = new AbortController()

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /** Sends all that is due for an address; resolves when nothing is. Rejects if the store is out of reach. */
  pump(address: NoticeAddress): Promise<void> {
    const { id } = address.queue
    const running = this.#running.get(id)
    if (running) return running
    const done = this.#deliverAll(address).finally(() => this.#running.delete(id))
    this.#running.set(id, done)
    return done
  }

  /** Sends a notice once, and counts it. */
  async try({ settings }: NoticeAddress, notice: Notice): Promise<DeliveryResult> {
    const nowMs = this.#options.clock()
    const answer = await send({ settings, notice, nowMs, signal: this.#stop.signal })
    this.#options.counts.add(notice.type, answer.isDelivered ? 'delivered' : 'failed')
    return answer
  }

  /** Stops tries under way; others send their notices again. */
  close(): void {
    this.#stop.abort()
  }

  async #deliverAll(address: NoticeAddress): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const due = await this.#options.store().due(address.queue, batchSize)
      if (due.length === 0) return
      await Promise.all(due.map((notice) => this.#deliver(address, notice)))
    }
  }

  async #deliver(address: NoticeAddress, notice: Queued): Promise<void> {
    const answer = await this.try(address, notice)
    if (this.#stop.signal.aborted && !answer.isDelivered) return
    const outcome = this.#outcomeOf(notice, answer)
    this.#tell(address, answer)
    if (typeof outcome === 'object' && outcome.isGivenUp)
      this.#options.counts.add(notice.type, 'given_up')
    await this.#options.store().settle(address.queue, notice.id, outcome)
  }

  #outcomeOf(notice: Queued, answer: DeliveryResult): Outcome {
    const { isDelivered, isGone, why = '', retryAfterMs } = answer
    if (isDelivered) return 'delivered'
    if (isGone) return 'ended'
    const nowMs = this.#options.clock()
    const after: Queued = { ...notice, tries: notice.tries + 1, lastTriedAtMs: nowMs, why }
    const delayMs = delayAfter(notice.tries, retryAfterMs)
    if (delayMs === undefined) return { ...after, isGivenUp: true }
    return { ...after, nextTryMs: nowMs + delayMs }
  }

  /** Logs that notices don't arrive any more, and that they do again. */
  #tell({ shown, queue }: NoticeAddress, { isDelivered, isGone, why }: DeliveryResult): void {
    const { log } = this.#options
    const wasTroubled = this.#troubled.has(queue.id)
    if (isDelivered) this.#troubled.delete(queue.id)
    else this.#troubled.add(queue.id)
    if (isGone) {
      const until = 'until its entry changes, or a test arrives there'
      log.warn({ to: shown }, `the address of notices has answered 410: it gets no more ${until}`)
    } else if (!isDelivered && !wasTroubled) {
      log.warn({ to: shown, why }, 'a notice didn’t arrive; it is tried again')
    } else if (isDelivered && wasTroubled) {
      log.info({ to: shown }, 'notices arrive again')
    }
  }
}

const [second, minute, hour] = [1_000, 60_000, 3_600_000]

/** The least times between the tries of a notice. After the last one it is given up. */
export const delaysMs: readonly number[] = [
  10 * second,
  minute,
  5 * minute,
  30 * minute,
  2 * hour,
  8 * hour,
  24 * hour,
]

/** The part of a time by which a try may come later, so that notices that failed together don't come back together. */
const mostLater = 0.2

/** The longest that a receiver may ask to be left alone. */
const longestWishMs = 24 * hour

/**
 * The time from a try that failed, after so many others, to the next one: that of the schedule, or of the receiver's
 * `Retry-After` if that is later; `undefined` after the last try. `random` is from 0 to 1.
 */
export function delayAfter(
  tries: number,
  retryAfterMs = 0,
  random: number = Math.random(),
): number | undefined {
  const leastMs = delaysMs[tries]
  if (leastMs === undefined) return undefined
  const wishedMs = Math.min(retryAfterMs, longestWishMs)
  return Math.max(Math.round(leastMs * (1 + mostLater * random)), Math.ceil(wishedMs))
}
