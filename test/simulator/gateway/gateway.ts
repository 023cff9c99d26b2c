import {
  OfflineLimiter,
  type WhenUnreachable,
} from '../../../gateway/front/limits/offline-limiter.ts'
import { Quotas } from '../../../gateway/front/limits/quotas.ts'
import type { Ask, Decision } from '../../../gateway/front/limits/step.ts'
import { Strangers } from '../../../gateway/front/limits/strangers.ts'
import type { Limits } from '../../../gateway/front/limits/limits.ts'
import { AloneBook } from '../books/alone-book.ts'
import { PlaceBook } from '../books/place-book.ts'
import { GatewayBook } from '../books/gateway-book.ts'
import { StrangerBook } from '../books/stranger-book.ts'
import { UntoldPoints } from '../books/untold-points.ts'
import type { Draws } from '../draws.ts'
import type { Answer, Message } from '../messages.ts'
import { goodWay, type Network } from '../network.ts'
import type { Timeline } from '../timeline.ts'
import { remoteStores } from './remote-store.ts'

export type GatewayOptions = Readonly<{
  name: string
  network: Network
  timeline: Timeline
  draws: Draws
  whenUnreachable: WhenUnreachable
  strangers: Limits
  gateways: () => number
  goneOf: (names: readonly string[]) => readonly string[]
  asks: (gateway: SimulatedGateway, message: Message) => void
  takes: (gateway: SimulatedGateway, message: Message, answer: Answer) => void
}>

/** The counting of one gateway: its own code, at the end of a simulated network. */
export class SimulatedGateway {
  readonly name: string
  readonly way = goodWay()
  readonly book = new GatewayBook()
  readonly alone = new AloneBook()
  readonly untold = new UntoldPoints()
  readonly strangerBook = new StrangerBook()
  readonly places = new PlaceBook()
  readonly offline: OfflineLimiter
  readonly quotas: Quotas
  readonly strangers: Strangers
  readonly stores: ReturnType<typeof remoteStores>
  isAlive = true
  /** The time that its last answer took: by that much its estimate of the store's time may be late. */
  lagMs = 0
  /** When it was told last that operators have forgiven something. */
  forgivenAtMs: number

  /** What the store has let in too late comes back. */
  readonly #late = (quota: string, decision: Decision, tell: NonNullable<Ask['late']>): void => {
    if (!this.isAlive) return
    const points = -decision.cost
    if (decision.verdict !== 'admitted' || points === 0) return
    this.untold.owe(quota, decision, points)
    void tell(quota, decision)
  }

  constructor(options: GatewayOptions) {
    const { name, network, timeline, draws, whenUnreachable, gateways, asks, takes } = options
    this.name = name
    this.forgivenAtMs = timeline.nowMs
    const hears = {
      asks: (message: Message) => asks(this, message),
      takes: (message: Message, answer: Answer) => takes(this, message, answer),
      late: this.#late,
    }
    this.stores = remoteStores({ name, way: this.way, network, timeline, draws, hears })
    this.stores.listeners.add({
      banned: () => undefined,
      forgiven: () => (this.forgivenAtMs = timeline.nowMs),
    })
    this.offline = new OfflineLimiter({ whenUnreachable, capacity: 1_000 })
    // Its own clocks are wrong: only the store's counts.
    const offsetMs = draws.between(0, 7_200_000) - 3_600_000
    this.quotas = new Quotas({
      store: this.stores.quota,
      ...{ whenUnreachable, gateways, offline: this.offline, gateway: name },
      goneOf: (names) => Promise.resolve(options.goneOf(names)),
      later: timeline.later,
      clock: timeline.clock,
      ticks: () => timeline.nowMs + offsetMs,
    })
    this.strangers = new Strangers({
      ...{ limits: options.strangers, clock: timeline.clock, store: this.stores.strangers },
      later: timeline.later,
    })
  }

  /** It is killed: what it knew is gone, and answers find nobody. */
  kill(): void {
    this.isAlive = false
    this.quotas.close()
    this.strangers.close()
    this.stores.breaker.close()
  }
}
