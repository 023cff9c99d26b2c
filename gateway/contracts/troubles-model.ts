import type { Adjustment, Counters } from '../front/limits/counters.ts'
import type { Granted } from '../front/limits/grants.ts'
import { limitOf, type Limits } from '../front/limits/limits.ts'
import { countIn } from '../front/limits/recount.ts'
import type { Admission, Owed, Seen } from '../front/limits/quota-state.ts'
import {
  byLimit,
  byWindow,
  dayMs,
  dayWindow,
  windowOf,
  windows,
  type Window,
  type WindowName,
} from '../../shared/windows.ts'
import { idAt, lengths } from './quota-model.ts'

/** What a window has counted, and what came back to it. */
type Count = { number: number; counted: number; back: number }

type ModelGrant = Readonly<{ atMs: number; points: Granted }>

const steady = ['minute', 'hour', 'day', 'week', 'month'] as const

/** The rules of counters in trouble: a clock set back, lost writes, and points that were admitted without the store. */
export class TroublesModel {
  monthFrom = 1
  generation = 0
  readonly windows: Record<WindowName, Count> = byWindow(() => ({ number: 0, counted: 0, back: 0 }))
  /** The points of days that aren't in the counters. */
  readonly past = new Map<number, number>()
  /** The points of days that weren't included. */
  readonly beyond = new Map<number, number>()
  #resetGeneration = 0
  #grants: ModelGrant[] = []
  #granted: { name: WindowName; number: number; points: number }[] = []
  readonly #settled = new Map<string, number>()

  used(name: WindowName): number {
    return this.windows[name].counted - this.windows[name].back
  }

  pointsOn(day: number): number {
    return (this.past.get(day) ?? 0) + (this.windows.day.number === day ? this.used('day') : 0)
  }

  granted(name: WindowName): number {
    const { number } = this.windows[name]
    return this.#granted.find((sum) => sum.name === name && sum.number === number)?.points ?? 0
  }

  ask(
    now: number,
    cost: number,
    limits: Limits,
    more: { seen?: Seen; owed?: Owed; least?: number; included?: Limits },
  ): string {
    this.#roll(now, limits.perSecond !== undefined)
    const lost = more.seen ? this.#heal(more.seen, now) : 0
    const included = more.included && this.included(more.included)
    const day = this.windows.day.number
    if (lost > 0) this.#meter(day, lost, included, numberIn(this.windows))
    if (more.owed) this.#settle(more.owed)
    const fits = windows.every((window) => {
      const most = limitOf(limits, window) + this.granted(window.name)
      return this.used(window.name) + Math.max(cost, more.least ?? 0) <= most
    })
    if (Math.max(cost, more.least ?? 0) > 0 && !fits) return 'refused'
    for (const { name } of windows) this.windows[name].counted += cost
    if (cost > 0) this.#meter(day, cost, included, numberIn(this.windows))
    return 'admitted'
  }

  /** Limits beyond which points are metered, with what was granted. */
  included(limits: Limits): Limits {
    return byLimit((window) => limitOf(limits, window) + this.granted(window.name))
  }

  beyondOn(day: number): number {
    return Math.min(this.pointsOn(day), this.beyond.get(day) ?? 0)
  }

  /** Points of a day are beyond as far as they are in one window; they come back in the other order. */
  #meter(
    day: number,
    points: number,
    included: Limits | undefined,
    number: (window: Window) => number,
  ): void {
    const before = this.beyond.get(day) ?? 0
    let more = Math.min(0, points)
    for (const window of points > 0 && included ? windows : []) {
      const limit = included ? limitOf(included, window) : Infinity
      const isRunning = number(window) === this.windows[window.name].number
      const used = isRunning
        ? this.used(window.name)
        : window === dayWindow
          ? (this.past.get(day) ?? 0)
          : before > 0
            ? Infinity
            : 0
      if (limit !== Infinity) more = Math.max(more, Math.min(points, used - limit))
    }
    this.beyond.set(day, Math.max(0, before + more))
  }

  adjust(
    { points, isAnswered }: Adjustment,
    { counters: admission, seen, included }: Admission,
    now: number,
  ): void {
    this.#roll(now)
    const lost = seen ? this.#heal(seen, now) : 0
    if (lost > 0) this.#meter(this.windows.day.number, lost, included, numberIn(this.windows))
    const before = this.used('day')
    const isReset = admission.generation < this.#resetGeneration
    for (const window of windows) {
      const count = this.windows[window.name]
      if (isReset || count.number !== countIn(admission, window).number) continue
      if (points > 0) count.counted += points
      else if (isAnswered || window.comesBack)
        count.back += Math.min(-points, this.used(window.name))
    }
    this.#leave(dayOf(admission), points - (this.used('day') - before))
    this.#meter(dayOf(admission), points, included, (window) => countIn(admission, window).number)
  }

  reset(now: number): void {
    this.#leave(this.windows.day.number, this.used('day'))
    this.#empty()
    this.generation = Math.max(this.generation + 1, now)
    this.#resetGeneration = this.generation
  }

  setMonthFrom(from: number, now: number): void {
    this.#roll(now)
    this.#beginMonthOn(from, now)
    this.generation = Math.max(this.generation + 1, now)
    this.#sumGrants()
  }

  grant(points: Granted, now: number): void {
    this.#roll(now)
    const begins = steady.map(
      (name) => this.windows[name].number * (name in lengths ? lengths[name as 'day'] : dayMs),
    )
    this.#grants.push({ atMs: Math.max(now, ...begins), points })
    this.#sumGrants()
  }

  /** The windows that run go on, also where the clock was set back by less than a window. */
  #roll(now: number, isSecondCounted = false): void {
    const { number: day } = this.windows.day
    const left = this.used('day')
    if (!this.#runs('minute', now)) for (const name of steady) this.#begin(name, now)
    if (isSecondCounted) this.#begin('second', now)
    if (this.windows.day.number !== day) this.#leave(day, left)
  }

  #runs(name: WindowName, now: number): boolean {
    const { number } = this.windows[name]
    const present = idAt(this, name, now)
    const days = { week: 7, month: 31 }[name as string]
    const following = days ? idAt(this, name, (present + days) * dayMs) : present + 1
    return number === present || number === following
  }

  #begin(name: WindowName, now: number): void {
    if (this.#runs(name, now)) return
    this.windows[name] = { number: idAt(this, name, now), counted: 0, back: 0 }
  }

  #beginMonthOn(from: number, now: number): void {
    if (from === this.monthFrom) return
    this.monthFrom = from
    this.windows.month = { number: idAt(this, 'month', now), counted: 0, back: 0 }
  }

  #empty(): void {
    for (const { name } of windows) Object.assign(this.windows[name], { counted: 0, back: 0 })
  }

  #heal(seen: Seen, now: number): number {
    if (seen.generation < this.generation) return 0
    const before = this.used('day')
    if (seen.generation > this.generation) {
      this.generation = seen.generation
      this.#empty()
      this.#beginMonthOn(seen.monthFrom, now)
    }
    for (const window of windows) {
      const [count, other] = [this.windows[window.name], countIn(seen, window)]
      if (count.number !== other.number) continue
      count.counted = Math.max(count.counted, other.counted)
      count.back = Math.max(count.back, other.givenBack)
    }
    return this.used('day') - before
  }

  #settle(owed: Owed): void {
    if (owed.number <= (this.#settled.get(owed.by) ?? 0)) return
    this.#settled.set(owed.by, owed.number)
    const before = this.used('day')
    for (const window of windows) {
      const [count, more] = [this.windows[window.name], countIn(owed, window)]
      if (owed.generation < this.#resetGeneration || count.number !== more.number) continue
      count.counted += more.counted
      count.back = Math.min(count.counted, count.back + more.givenBack)
    }
    const { counted, givenBack } = countIn(owed, dayWindow)
    this.#leave(dayOf(owed), counted - givenBack - (this.used('day') - before))
    const number = (window: Window) => countIn(owed, window).number
    this.#meter(dayOf(owed), counted - givenBack, owed.included, number)
  }

  #leave(day: number, points: number): void {
    this.past.set(day, Math.max(0, (this.past.get(day) ?? 0) + points))
  }

  /** A grant is gone with its windows. */
  #sumGrants(): void {
    const number = (name: WindowName, { atMs }: ModelGrant) => idAt(this, name, atMs)
    this.#grants = this.#grants.filter((grant) =>
      windows.some(
        ({ name, limit }) =>
          (grant.points[limit] ?? 0) > 0 && number(name, grant) >= this.windows[name].number,
      ),
    )
    this.#granted = steady.map((name) => {
      const { limit } = windowOf(name)
      const present = this.windows[name].number
      const running = this.#grants.filter((grant) => number(name, grant) === present)
      const points = running.reduce((sum, grant) => sum + (grant.points[limit] ?? 0), 0)
      return { name, number: present, points }
    })
  }
}

function numberIn(counts: Readonly<Record<WindowName, Count>>): (window: Window) => number {
  return ({ name }) => counts[name].number
}

function dayOf(counters: Counters): number {
  return countIn(counters, dayWindow).number
}
