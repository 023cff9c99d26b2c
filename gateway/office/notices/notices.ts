import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import type { Config } from '../../front/config/config.ts'
import { Lease } from '../../front/fleet/lease.ts'
import type { Stores } from '../../front/stores/stores.ts'
import type { TargetFigures } from '../live/figures.ts'
import type { Counts } from '../../front/counts/meters.ts'
import { addressesOf } from './addresses.ts'
import { Deliveries } from './deliveries.ts'
import { followAudit } from './follow-audit.ts'
import type { NearLimit, NearLimits } from '../../front/counts/near-limits.ts'
import { noticeOf } from '../../front/records/notice.ts'
import { nearLimitNotice, watchedPercents } from './near-limits.ts'
import { Outbox } from './outbox.ts'
import type { DeliveryResult } from './send.ts'
import type { NotedTurn, NoticeStore } from '../../front/records/notice-store.ts'
import { TargetNews } from './targets.ts'
import { endingCertificate, HourlyScan } from './ends-soon.ts'
import type { CertificateEnd } from '../../front/certificates.ts'

/** The time between two looks for what is due. */
const tickMs = 1_000

export type NoticesOptions = Readonly<{
  stores: Pick<Stores, 'notices' | 'fleet' | 'audit' | 'keys' | 'tallies'>
  config: Config
  /** This process. */
  self: () => Readonly<{ id: string; name: string; store: string }>
  /** The targets of the configuration as this gateway sees them. */
  targets: () => readonly TargetFigures[]
  nearLimits: NearLimits
  /** Notices by type and result. */
  counts: Counts
  clock: Clock
  log: Log
}>

/** The outcome of a test at an address. */
export type Tested = Readonly<{ to: string }> & DeliveryResult

/**
 * The notices of one gateway: it writes those of the events that it sees, and if it has the lease, it sends those of the
 * whole fleet. Without addresses in the configuration it does nothing.
 */
export class Notices {
  readonly outbox: Outbox
  readonly targets: TargetNews
  readonly walks: HourlyScan
  readonly #options: NoticesOptions
  readonly #deliveries: Deliveries
  #config: Config
  #timer: NodeJS.Timeout | undefined
  #ticking: Promise<void> | undefined
  /** That of the one gateway that sends. */
  readonly #lease: Lease

  constructor(options: NoticesOptions) {
    const { stores, counts, clock, log, self, config } = options
    const store = (): NoticeStore => stores.notices
    this.#options = options
    this.#config = config
    this.outbox = new Outbox({ store, counts })
    this.#deliveries = new Deliveries({ store, counts, clock, log })
    const { outbox } = this
    this.walks = new HourlyScan({ stores, config: () => this.#config, outbox, clock })
    const { id, name } = self()
    this.#lease = new Lease({ fleet: stores.fleet, name: 'notices', holder: id, about: name })
    this.targets = new TargetNews({ outbox, clock, id })
    this.change(config)
  }

  /** Goes by another configuration from now on. */
  change(config: Config): void {
    this.#config = config
    this.outbox.addresses = addressesOf(config.notices)
    const { nearLimits } = this.#options
    nearLimits.watch(
      watchedPercents(this.outbox, config.nearPercents),
      this.outbox.wants('quota.beyond'),
      this.outbox.wants('quota.prepaid_low') || this.outbox.wants('quota.prepaid_empty'),
    )
    const isOn = config.notices.length > 0
    if (isOn && !this.#timer) {
      this.#timer = setInterval(() => void this.tick(), tickMs).unref()
      // At once, because what was changed before the first look is no news.
      void this.tick()
    } else if (!isOn && this.#timer) {
      this.#end()
      this.#options.stores.notices.leave()
      void this.#lease.leave()
    }
  }

  /** Tells that a quota has come near its limit. */
  nearLimit(near: NearLimit): void {
    this.outbox.add(nearLimitNotice(near))
  }

  /** Tells that a certificate ends soon. */
  certificateEnds(end: CertificateEnd): void {
    const { clock, self } = this.#options
    const notice = endingCertificate(end, { atMs: clock(), gateway: self().name })
    if (notice) this.outbox.add(notice)
  }

  /** Tells that the store was emptied; all gateways that see it tell of the same `epoch`. */
  storeEmptied(epoch: string): void {
    const { clock, self } = this.#options
    const { store, name } = self()
    const data = { store, gateway: name }
    const event = { type: 'store.emptied', parts: [store, epoch], atMs: clock(), data } as const
    this.outbox.add(noticeOf(event))
  }

  /** Writes what waits, and sends what is due if this gateway is the one that sends. */
  tick(): Promise<void> {
    return (this.#ticking ??= this.#tick().finally(() => (this.#ticking = undefined)))
  }

  /** Sends a test to each address now. One that takes it gets notices again, if it had ended. */
  async test(): Promise<readonly Tested[]> {
    const { clock, self, stores } = this.#options
    const atMs = clock()
    const { id, name } = self()
    const data = { gateway: name, message: 'A test of notices, sent by an operator.' }
    const notice = noticeOf({ type: 'notices.test', parts: [id, atMs], atMs, data })
    return Promise.all(
      this.outbox.addresses.map(async (address) => {
        const answer = await this.#deliveries.try(address, notice)
        // An outage of the store is reported elsewhere; the test has arrived all the same.
        if (answer.isDelivered) await stores.notices.revive(address.queue).catch(() => undefined)
        return { to: address.shown, ...answer }
      }),
    )
  }

  async close(): Promise<void> {
    this.#end()
    this.#deliveries.close()
    await this.#ticking
    await this.walks.ended()
    await this.outbox.flush()
    await this.#lease.leave()
  }

  async #tick(): Promise<void> {
    const { notices } = this.#options.stores
    await this.outbox.flush()
    try {
      await this.#lease.take()
      await this.#work(await notices.turns())
    } catch {
      // An outage is reported elsewhere; the next tick goes on.
    }
  }

  async #work(turns: readonly NotedTurn[]): Promise<void> {
    const { stores, clock, self, targets, counts } = this.#options
    const { audit, fleet, keys, notices } = stores
    if (!this.#lease.isHeld) return notices.leave()
    const { outbox } = this
    const facts = {
      keyOf: async (id: string) => (await keys.get(id))?.key,
      stepsOf: (upstream: string) => this.#config.upstreams.get(upstream)?.swap?.steps.length,
    }
    await followAudit({ audit, outbox, facts, clock, id: self().id }, turns)
    const members = async () => (await fleet.list()).members.map(({ id }) => id)
    await this.targets.mend(turns, members, targets())
    this.walks.beginIfDue()
    for (const type of await notices.collect(turns)) counts.add(type, 'dropped')
    // A tick waits for none of them: an address that hangs holds up nothing.
    for (const address of outbox.addresses) {
      void this.#deliveries.pump(address).catch(() => undefined)
    }
  }

  #end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
