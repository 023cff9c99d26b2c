import type { Clock } from '../../../shared/clock.ts'
import type { NoticeAddress } from './addresses.ts'
import { delayAfter } from './delays.ts'
import type { Deliveries } from './deliveries.ts'
import { noticeOf, type NewNotice } from '../../front/records/notice.ts'
import type { Outbox } from './outbox.ts'
import { isAbout } from '../../front/records/notice-types.ts'

/** An outage that lasts this long is told. A short one, such as a fail-over, isn't. */
const longMs = 5_000

/** How long the gateway that sends has to say what it has sent, before the others tell of the same outage. */
const othersWaitMs = 6_000

export type OutageOptions = Readonly<{
  outbox: Outbox
  deliveries: Deliveries
  clock: Clock
  /** The name of the store, and that of this gateway. */
  names: () => Readonly<{ store: string; gateway: string }>
}>

type Outage = {
  sinceMs: number
  why: string
  backAtMs: number | undefined
  isLong: boolean
  /** The store's epoch before it. */
  epoch: string
}

/** The tries to tell an address directly; `dueMs` is `Infinity` when it needs no more. */
type Direct = { tries: number; dueMs: number }

/**
 * Tells of an outage of the store, which can't hold the notice of it: the gateway that sent notices last sends this one
 * from its memory. When the store is back, each gateway adds the notices that it has seen cause for. All name the outage by
 * the `epoch` that the store had before it, so the fleet makes one notice of it.
 */
export class StoreOutage {
  readonly #options: OutageOptions
  readonly #direct = new Map<string, Direct>()
  #outage: Outage | undefined
  /** The name of the time between two outages. */
  epoch = ''

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** Called when the store begins to fail, and with `undefined` when it is back. */
  trouble(why: string | undefined): void {
    const nowMs = this.#options.clock()
    if (why !== undefined) {
      const { epoch } = this
      this.#outage ??= { sinceMs: nowMs, why, backAtMs: undefined, isLong: false, epoch }
      this.#outage.backAtMs = undefined
    } else if (this.#outage) {
      this.#outage.isLong ||= nowMs - this.#outage.sinceMs >= longMs
      if (this.#outage.isLong) this.#outage.backAtMs = nowMs
      else this.#outage = undefined
    }
  }

  /** While the store is out of reach: sends the notice of it to those who haven't got it. */
  async tellDirectly(isSender: boolean): Promise<void> {
    const outage = this.#outage
    if (!outage || outage.backAtMs !== undefined) return
    const nowMs = this.#options.clock()
    outage.isLong ||= nowMs - outage.sinceMs >= longMs
    if (!isSender || !outage.isLong) return
    const { outbox, deliveries } = this.#options
    const notice = this.#notices(outage).out
    const wanting = outbox.addresses.filter((each) => isAbout(each.settings.about, notice.type))
    await Promise.all(
      wanting.map(async (address: NoticeAddress) => {
        const direct = this.#direct.get(address.queue.id) ?? { tries: 0, dueMs: nowMs }
        this.#direct.set(address.queue.id, direct)
        if (direct.dueMs > nowMs) return
        direct.dueMs = Infinity
        const { isDelivered, retryAfterMs } = await deliveries.try(address, notice)
        if (isDelivered) return
        direct.dueMs = nowMs + (delayAfter(direct.tries++, retryAfterMs) ?? Infinity)
      }),
    )
  }

  /** When the store is back: adds the notices of the outage. Resolves to the epoch that has ended with it, if one has. */
  async settle(): Promise<string | undefined> {
    const outage = this.#outage
    if (outage?.backAtMs === undefined) return undefined
    const waitsMs = this.#direct.size > 0 ? 0 : othersWaitMs
    if (this.#options.clock() - outage.backAtMs < waitsMs) return undefined
    const { outbox } = this.#options
    const addressIds = [...this.#direct].flatMap(([id, { dueMs }]) =>
      dueMs === Infinity ? id : [],
    )
    const { out, back } = this.#notices(outage)
    await outbox.addNow(out, addressIds)
    await outbox.addNow(back)
    this.#direct.clear()
    this.#outage = undefined
    return outage.epoch
  }

  #notices({ sinceMs, why, backAtMs = sinceMs, epoch }: Outage): {
    out: NewNotice
    back: NewNotice
  } {
    const { store, gateway } = this.#options.names()
    const since = new Date(sinceMs).toISOString()
    const data = { store, gateway, since }
    const parts = [store, epoch]
    return {
      out: noticeOf({
        type: 'store.out_of_reach',
        parts,
        atMs: sinceMs,
        data: { ...data, why },
      }),
      back: noticeOf({ type: 'store.back', parts, atMs: backAtMs, data }),
    }
  }
}
