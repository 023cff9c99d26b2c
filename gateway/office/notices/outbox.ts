import { BoundedMap } from '../../../shared/bounded-map.ts'
import { breathe } from '../../../shared/breathe.ts'
import { queuesFor, type NoticeAddress } from './addresses.ts'
import type { DeliveryOptions } from './deliveries.ts'
import type { NewNotice } from '../../front/records/notice.ts'
import type { Turn } from '../../front/records/notice-store.ts'
import type { NoticeType } from '../../front/records/notice-types.ts'

/** The most notices that wait for a store that is out of reach. */
const mostWaiting = 1_000

/** The number of notices that this process remembers to have written, which spares the store the same question. */
const remembered = 10_000

export type OutboxOptions = Pick<DeliveryOptions, 'store' | 'counts'>

type Write = Readonly<{ type: NoticeType | undefined; run: () => Promise<void> }>

/**
 * Writes notices to their queues, off the requests' way. While the store is out of reach they wait in memory. Notices that
 * no address wants to hear of are left out.
 */
export class Outbox {
  addresses: readonly NoticeAddress[] = []
  readonly #options: OutboxOptions
  readonly #written = new BoundedMap<true>(remembered)
  #waiting: Write[] = []
  #draining: Promise<void> | undefined

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  wants(type: NoticeType): boolean {
    return queuesFor(this.addresses, type).length > 0
  }

  /** Adds a notice soon. */
  add(notice: NewNotice): void {
    const { id, mark = id, type, yields = false } = notice
    const isWritten = this.#written.get(id) ?? (yields && this.#written.get(mark))
    if (isWritten || !this.wants(type)) return
    this.#written.set(id, true)
    this.#written.set(mark, true)
    this.#push({ type, run: () => this.addNow(notice) })
  }

  /** Notes the state of a subject soon, and adds the notice if the state is another one than was noted last. */
  turn(turn: Turn, notice: NewNotice | undefined): void {
    if (this.addresses.length === 0) return
    this.#push({ type: notice?.type, run: () => this.turnNow(turn, notice) })
  }

  addNow(notice: NewNotice): Promise<void> {
    return this.#options.store().add(notice, queuesFor(this.addresses, notice.type))
  }

  turnNow(turn: Turn, notice: NewNotice | undefined): Promise<void> {
    const queues = notice ? queuesFor(this.addresses, notice.type) : []
    const wanted = queues.length > 0 ? notice : undefined
    return this.#options.store().turn(turn, wanted, queues)
  }

  /** Writes everything that waits; resolves also if that fails, and it waits on. */
  async flush(): Promise<void> {
    await this.#draining
    if (this.#waiting.length > 0) await this.#begin()
  }

  #push(write: Write): void {
    if (this.#waiting.length >= mostWaiting) {
      const oldest = this.#waiting.shift()
      if (oldest?.type) this.#options.counts.add(oldest.type, 'dropped')
    }
    this.#waiting.push(write)
    void this.#begin()
  }

  #begin(): Promise<void> {
    return (this.#draining ??= this.#drain().finally(() => (this.#draining = undefined)))
  }

  async #drain(): Promise<void> {
    // A file is written synchronously, so the request's answer is sent first.
    await breathe()
    for (let write = this.#waiting[0]; write; write = this.#waiting[0]) {
      try {
        await write.run()
      } catch {
        // The outage is reported elsewhere; the next tick tries again.
        return
      }
      if (this.#waiting[0] === write) this.#waiting.shift()
    }
  }
}
