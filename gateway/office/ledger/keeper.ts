import type { Clock } from '../../../shared/clock.ts'
import { tellingTrouble } from '../../../shared/trouble.ts'
import { Lease } from '../../front/fleet/lease.ts'
import type { FleetStore } from '../../front/fleet/store.ts'
import type { LedgerStore } from '../../front/records/ledger-store.ts'
import { dueDays, lastDueDay } from './ledger.ts'

/** The time between two looks at the clock. */
const everyMs = 5_000

export type KeeperOptions = Readonly<{
  fleet: Pick<FleetStore, 'take' | 'leave' | 'list'>
  ledger: LedgerStore
  /** Closes the days that are due at a time of the store's clock. */
  closeDays: (nowMs: number) => Promise<void>
  self: Readonly<{ id: string; name: string }>
  /** The estimate of the store's time, by which it looks. Days are closed by the store's own. */
  clock: Clock
  /** Called when closing begins to fail, and with `undefined` when it works again. */
  trouble: (error: Error | undefined) => void
}>

/** Closes each day of the ledger when its grace is over: one gateway of the fleet does, another one if that dies. */
export class LedgerKeeper {
  readonly #options: KeeperOptions
  readonly #lease: Lease
  readonly #tell: (error: unknown) => void
  readonly #timer: NodeJS.Timeout
  /** The latest day up to which this gateway knows that all are closed. */
  #closedDay = 0
  #isClosing = false
  #isOver = false

  constructor(options: KeeperOptions) {
    this.#options = options
    const { fleet, self, trouble } = options
    this.#tell = tellingTrouble((error) => !this.#isOver && trouble(error))
    this.#lease = new Lease({ fleet, name: 'ledger', holder: self.id, about: self.name })
    this.#timer = setInterval(() => void this.look(), everyMs).unref()
  }

  /** Closes what is due. Between two days it asks nobody. */
  async look(): Promise<void> {
    const { fleet, ledger, closeDays, clock } = this.#options
    if (lastDueDay(clock()) <= this.#closedDay || this.#isClosing) return
    this.#isClosing = true
    try {
      if ((await this.#lease.take()) !== undefined) return
      const { nowMs } = await fleet.list()
      if ((await dueDays(ledger, nowMs)).length > 0) await closeDays(nowMs)
      this.#closedDay = lastDueDay(nowMs)
      await this.#lease.leave()
      this.#tell(undefined)
    } catch (error) {
      this.#tell(error)
    } finally {
      this.#isClosing = false
    }
  }

  stop(): void {
    this.#isOver = true
    clearInterval(this.#timer)
  }
}
