import { byLimit, dayWindow, numberAt } from '../../shared/windows.ts'
import { usedOn } from '../../gateway/front/limits/past-points.ts'
import type { WhenUnreachable } from '../../gateway/front/limits/offline-limiter.ts'
import { noteLoss } from './books/lost-writes.ts'
import { QuotaBook } from './books/quota-book.ts'
import { answerOf } from './answer.ts'
import { drawCustomers, type Customer } from './customers.ts'
import { Draws } from './draws.ts'
import { SimulatedGateway } from './gateway/gateway.ts'
import type { Happening, Violation, WorldOptions } from './happening.ts'
import { allInvariants } from './invariants/all.ts'
import type { Message } from './messages.ts'
import type { Invariant, Moment } from './moment.ts'
import { Network } from './network.ts'
import { SimulatedRedis, type Loss } from './redis/redis.ts'
import { StoreDoor } from './store-door.ts'
import { takeAnswer } from './take-answer.ts'
import { Timeline } from './timeline.ts'
import { Trace } from './trace.ts'

/** A fleet, its store, its customers, and the books of what they do. Everything in it follows from the seed. */
export class World {
  readonly draws: Draws
  readonly timeline: Timeline
  readonly trace = new Trace()
  readonly redis: SimulatedRedis
  readonly door: StoreDoor
  readonly network: Network
  readonly customers: readonly Customer[]
  readonly whenUnreachable: WhenUnreachable
  readonly strangerLimits = byLimit((window) => (window.name === 'minute' ? 12 : Infinity))
  gateways: SimulatedGateway[] = []
  /** The gateways that share the quotas, as the fleet knew before an outage. */
  fleetSize = 0
  questions = 0
  violation: Violation | undefined
  readonly askedAtMs = new WeakMap<Message, number>()
  /** When the store lost writes last. */
  lostAtMs = 0
  readonly happened: ((happening: Happening) => void) | undefined
  readonly #invariants: readonly Invariant[]
  readonly #books = new Map<string, QuotaBook>()
  #born = 0

  constructor(seed: number, { happened, invariants = allInvariants }: WorldOptions = {}) {
    this.#invariants = invariants
    this.draws = new Draws(seed)
    // A day in the middle of a month: minutes, days and months end early in some worlds.
    this.timeline = new Timeline(Date.UTC(2026, 5, 14, 23, 58, 0) + this.draws.below(240_000))
    this.redis = new SimulatedRedis(this.timeline.clock)
    this.door = new StoreDoor((message, from) => answerOf(this, message, from))
    this.network = new Network(this.timeline, this.draws, this.door)
    this.customers = drawCustomers(this.draws)
    this.whenUnreachable = this.draws.weighted([
      [6, 'local'],
      [1, 'allow'],
      [1, 'deny'],
    ])
    this.happened = happened
    const gateways = this.draws.between(1, 4)
    while (this.gateways.length < gateways) this.addGateway()
  }

  addGateway(): void {
    const gateway = new SimulatedGateway({
      ...{ name: `g${++this.#born}`, network: this.network, timeline: this.timeline },
      ...{ draws: this.draws, whenUnreachable: this.whenUnreachable },
      strangers: this.strangerLimits,
      gateways: () => this.fleetSize,
      goneOf: (names) =>
        names.filter((each) => !this.gateways.some((gateway) => gateway.name === each)),
      asks: (gateway, message) => {
        this.askedAtMs.set(message, this.timeline.nowMs)
        if (message.kind !== 'decide') return
        this.look({ what: 'asked', gateway, quota: message.quota, ask: message.ask })
      },
      takes: (gateway, message, answer) => takeAnswer(this, gateway, message, answer),
    })
    this.gateways.push(gateway)
    this.countFleet()
  }

  /** The fleet learns its size from the store: in an outage it stays the last known one. */
  countFleet(): void {
    if (this.door.state === 'open') this.fleetSize = this.gateways.length
  }

  bookOf(quota: string): QuotaBook {
    const present = this.#books.get(quota) ?? new QuotaBook(quota)
    this.#books.set(quota, present)
    return present
  }

  /** Looks at the invariants. The first violation ends the simulation. */
  look(moment: Moment): void {
    for (const { name, mistakeAt } of this.#invariants) {
      const mistake = this.violation ? undefined : mistakeAt(moment)
      if (mistake === undefined) continue
      const about = 'book' in moment ? `${moment.book.quota}: ` : ''
      this.violation = { name, mistake: about + mistake }
    }
  }

  /** Everything works, and was given time: the books are closed. */
  closeBooks(): void {
    this.look({ what: 'quiet', world: this })
    this.trace.note(`${this.timeline.nowMs} quiet`)
    const today = numberAt(dayWindow, this.redis.nowMs)
    for (let day = today - 2; day <= today; day++) {
      const points = [...this.redis.quotas].flatMap(([quota, { state }]) =>
        usedOn(quota, state, day),
      )
      this.happened?.({ what: 'ledger', day, points })
    }
  }

  /** The store has lost writes. */
  noteLosses(losses: readonly Loss[]): void {
    this.lostAtMs = this.timeline.nowMs
    for (const loss of losses) noteLoss(this.bookOf(loss.quota), loss, this.redis.nowMs)
    for (const { quota } of this.customers) this.bookOf(quota).roomAtMs = this.redis.nowMs
    for (const { places, stores } of this.gateways) {
      places.lose()
      stores.listeners.forEach((each) => each.reconnected?.())
    }
  }
}
