import { byLimit, dayWindow, numberAt } from '../../shared/windows.ts'
import type { Counters } from '../../gateway/front/limits/counters.ts'
import { usedOn, type QuotaPoints } from '../../gateway/front/limits/past-points.ts'
import type { WhenUnreachable } from '../../gateway/front/limits/offline-limiter.ts'
import type { Decision } from '../../gateway/front/limits/step.ts'
import { noteLoss } from './books/lost-writes.ts'
import { QuotaBook } from './books/quota-book.ts'
import { drawCustomers, type Customer } from './customers.ts'
import { Draws } from './draws.ts'
import { SimulatedGateway } from './gateway/gateway.ts'
import { allInvariants } from './invariants/all.ts'
import type { Answer, Edit, Message } from './messages.ts'
import type { Invariant, Moment } from './moment.ts'
import { Network } from './network.ts'
import { SimulatedRedis, type Loss } from './redis/redis.ts'
import { StoreDoor } from './store-door.ts'
import { Timeline } from './timeline.ts'
import { Trace } from './trace.ts'

/** What happened at the store, for who repeats it elsewhere. */
export type Happening =
  | Readonly<{ what: 'message'; message: Message; answer: Answer; nowMs: number }>
  | Readonly<{ what: 'edit'; edit: Edit; isMade: boolean; nowMs: number }>
  | Readonly<{ what: 'ledger'; day: number; points: readonly QuotaPoints[] }>
  | Readonly<{ what: 'behind' | 'caughtUp' | 'failOver' | 'emptied' }>

export type WorldOptions = Readonly<{
  /** Hears what happens at the store. */
  happened?: ((happening: Happening) => void) | undefined
  /** All of them by default. */
  invariants?: readonly Invariant[]
}>

/** A law that doesn't hold. */
export type Violation = Readonly<{ name: string; mistake: string }>

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
  readonly happened: ((happening: Happening) => void) | undefined
  readonly #askedAtMs = new WeakMap<Message, number>()
  readonly #invariants: readonly Invariant[]
  readonly #books = new Map<string, QuotaBook>()
  #born = 0
  #lostAtMs = 0

  constructor(seed: number, { happened, invariants = allInvariants }: WorldOptions = {}) {
    this.#invariants = invariants
    this.draws = new Draws(seed)
    // A day in the middle of a month: minutes, days and months end early in some worlds.
    this.timeline = new Timeline(Date.UTC(2026, 5, 14, 23, 58, 0) + this.draws.below(240_000))
    this.redis = new SimulatedRedis(this.timeline.clock)
    this.door = new StoreDoor((message, from) => this.#answer(message, from))
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
      asks: (gateway, message) => {
        this.#askedAtMs.set(message, this.timeline.nowMs)
        if (message.kind !== 'decide') return
        this.look({ what: 'asked', gateway, quota: message.quota, ask: message.ask })
      },
      takes: (gateway, message, answer) => this.#take(gateway, message, answer),
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

  edit(edit: Edit): void {
    const { redis } = this
    const { nowMs } = redis
    const isMade = redis.edit(edit)
    this.happened?.({ what: 'edit', edit, isMade, nowMs })
    const book = this.bookOf(edit.quota)
    const stored = redis.quotas.get(edit.quota)
    if (!stored || !isMade) return
    if (edit.kind === 'reset') book.reset(stored.state, nowMs)
    else if (edit.kind === 'month') book.setMonthFrom(edit.monthFrom, nowMs)
    else if (edit.kind === 'grant') book.grant(edit.grant, stored.state, nowMs)
    else if (edit.kind === 'ban') book.bans.set(edit.key, edit.untilMs)
    else book.bans.lift(edit.key, nowMs)
    this.look({ what: 'stored', book, stored, nowMs })
    this.#tellLift()
    if (edit.kind === 'ban') this.#tellBan(edit)
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
    this.#lostAtMs = this.timeline.nowMs
    for (const loss of losses) noteLoss(this.bookOf(loss.quota), loss, this.redis.nowMs)
    for (const { quota } of this.customers) this.bookOf(quota).roomAtMs = this.redis.nowMs
  }

  #answer(message: Message, from: string): Answer {
    const { redis } = this
    const { nowMs } = redis
    this.questions++
    const gateway = this.gateways.find(({ name }) => name === from)
    if (message.kind === 'strangers') gateway?.strangerBook.hear(message.points)
    if (message.kind !== 'decide' && message.kind !== 'adjust') return redis.answer(message)
    const book = this.bookOf(message.quota)
    const generation = redis.quotas.get(message.quota)?.state.generation ?? 0
    const answer = redis.answer(message)
    this.happened?.({ what: 'message', message, answer, nowMs })
    const stored = redis.quotas.get(message.quota)
    if (!stored) return answer
    // A gateway has brought a reset back that the store had lost.
    const isTaken = stored.state.generation !== generation
    if (isTaken) book.blur(stored.state, nowMs)
    if (message.kind === 'adjust') {
      if (book.adjust(message, nowMs) === 'first') gateway?.untold.heardAdjustment(message)
      this.trace.note(`${nowMs} ${from} adjusts ${message.quota} by ${message.adjustment.points}`)
    } else {
      const { ask } = message
      if (ask.owed && book.report(ask.owed, nowMs) === 'first') {
        gateway?.untold.heardReport(message.quota, ask.owed)
      }
      const decision = answer as Decision
      this.look({ what: 'decided', book, ask, decision, nowMs })
      if (decision.verdict === 'admitted' && decision.cost > 0) book.admit(decision)
      if (decision.bans) book.bans.earn(ask.key, decision.bannedUntilMs)
      const { verdict, used } = decision
      this.trace.note(
        `${nowMs} ${from} asks ${message.quota} ${ask.cost}: ${verdict} ${used.join()}`,
      )
    }
    if (isTaken) book.blur(stored.state, nowMs)
    this.look({ what: 'stored', book, stored, nowMs })
    return answer
  }

  #take(gateway: SimulatedGateway, message: Message, answer: Answer): void {
    if (!gateway.isAlive) return
    if (message.kind === 'strangers') {
      gateway.strangerBook.answered()
      const sums = answer as readonly number[]
      const moment = { what: 'learnt', gateway, points: message.points, sums } as const
      this.timeline.later(() => this.look(moment), 0)
    }
    if (message.kind !== 'decide' && message.kind !== 'adjust') return
    const { quota } = message
    const askedAtMs = this.#askedAtMs.get(message) ?? 0
    const isUnsure = askedAtMs <= this.#lostAtMs
    if (message.kind === 'adjust') {
      return gateway.book.learnFromAdjustment(quota, answer as Counters, isUnsure)
    }
    const { seen, bans, bannedUntilMs } = answer as Decision
    gateway.book.learn(quota, seen, isUnsure)
    const { key } = message.ask
    // Reports tell a gateway no time.
    if (key !== '') gateway.lagMs = this.timeline.nowMs - askedAtMs
    if (bans) this.#tellBan({ quota, key, untilMs: bannedUntilMs })
  }

  #tellLift(): void {
    this.#publish((gateway) => {
      gateway.forgivenAtMs = this.timeline.nowMs
      gateway.stores.listeners.forEach(({ forgiven }) => forgiven())
    })
  }

  #tellBan(ban: Readonly<{ quota: string; key: string; untilMs: number }>): void {
    this.#publish((gateway) => gateway.stores.listeners.forEach(({ banned }) => banned(ban)))
  }

  /** Messages to all gateways, some of which get none. */
  #publish(tell: (gateway: SimulatedGateway) => void): void {
    for (const gateway of this.gateways) {
      const { isCut, losesAnswers, longestMs } = gateway.way
      if (isCut || (losesAnswers > 0 && this.draws.onceIn(losesAnswers))) continue
      this.timeline.later(() => gateway.isAlive && tell(gateway), this.draws.below(longestMs + 1))
    }
  }
}
