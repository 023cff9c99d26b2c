import { randomUUID } from 'node:crypto'
import { later, type Clock, type Later } from '../../../shared/clock.ts'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import { GoneGateways, type GoneOf } from './gone-gateways.ts'
import { hold, namesOf, OfQuota, Place, settledIn } from './place.ts'
import { PlaceReports } from './place-reports.ts'
import { nameOfPart, type LimitedPart, type PlaceAsk, type PlaceState } from './places.ts'
import type { Decision } from './step.ts'
import type { PlaceReport } from './store.ts'

/** The time between two looks at what has to be told again, and a silence of this process that others may take for its end. */
const lookMs = 1_000
const silenceMs = 3_000

/** The time after which all places are told anew: a store keeps them for longer. */
const anewMs = 3_600_000

/** The least number of quotas of which a gateway remembers that it had requests under way. */
const mostLately = 10_000

/** The most requests that a refusal names. */
const mostNamed = 10

export type OwnPlacesOptions = Readonly<{
  /** Tells the store of places that were given back. */
  tell: (reports: readonly PlaceReport[]) => Promise<void>
  goneOf: GoneOf | undefined
  ticks: Clock
  by?: string | undefined
  wait?: Later | undefined
}>

/** A question whose answer hasn't come. */
export type OpenQuestion = Readonly<{
  quota: string
  parts: readonly LimitedPart[]
  ask: PlaceAsk
}>

/**
 * The requests that this gateway has under way, where they are limited. The store knows what it was told: by each question, and
 * by a report in the turn of the loop in which an answer has ended.
 */
export class OwnPlaces {
  readonly #ticks: Clock
  readonly #by: string
  readonly #wait: Later
  readonly #quotas = new Map<string, OfQuota>()
  /** The parts in which requests were under way lately: a store that has lost writes may have them still. */
  readonly #lately = new BoundedMap<Set<string>>(mostLately)
  readonly #reports: PlaceReports
  readonly #gone: GoneGateways
  #number = 0
  #lookedAtTicks = 0
  #toldAnewAtTicks: number
  #endLook: (() => void) | undefined

  constructor({ tell, goneOf, ticks, by = randomUUID(), wait = later }: OwnPlacesOptions) {
    this.#ticks = ticks
    this.#by = by
    this.#wait = wait
    this.#gone = new GoneGateways(goneOf, ticks)
    this.#reports = new PlaceReports({
      ...{ tell, by, wait, next: () => ++this.#number, told: (own) => this.#forgetIfOver(own) },
    })
    this.#toldAnewAtTicks = ticks()
  }

  /** Begins a question for a place in each of some parts. */
  begin(quota: string, parts: readonly LimitedPart[]): OpenQuestion {
    const own = this.#of(quota)
    const number = ++this.#number
    const settled = settledIn(own, number)
    own.open.add(number)
    const held = new Map<string, number>()
    for (const { part } of parts) {
      const name = nameOfPart(part)
      held.set(name, own.held.get(name) ?? 0)
    }
    if (!this.#endLook) this.#lookSoon()
    const { named: gone } = this.#gone
    return { quota, parts, ask: { by: this.#by, number, settled, held, gone } }
  }

  /** Ends a question. Gives the place of one that was let in. */
  end({ quota, parts, ask: { number } }: OpenQuestion, isLetIn: boolean): Place | undefined {
    const own = this.#of(quota)
    own.open.delete(number)
    if (isLetIn) own.behind.set(number, { names: namesOf(parts), hasLeft: false })
    this.#settle(own)
    if (isLetIn) return this.#placeIn(own, parts, number)
    this.#forgetIfOver(own)
    return undefined
  }

  /** Ends a question of which it isn't known whether the store has answered it: its place is given back. */
  giveUp(question: OpenQuestion): void {
    this.#reports.note(this.#of(question.quota), namesOf(question.parts))
    this.end(question, false)
  }

  /** Takes a place without the store; it is told when it answers again. */
  takeAlone(quota: string, parts: readonly LimitedPart[]): Place {
    const own = this.#of(quota)
    const names = namesOf(parts)
    hold(own, names)
    this.#reports.note(own, names)
    if (!this.#endLook) this.#lookSoon()
    return this.#placeIn(own, parts)
  }

  /** The parts with the places that this gateway's own requests take. */
  ownIn(quota: string, parts: readonly LimitedPart[]): readonly PlaceState[] {
    const own = this.#quotas.get(quota)
    return parts.map((limited) => {
      const name = nameOfPart(limited.part)
      let used = own?.held.get(name) ?? 0
      for (const { names, hasLeft } of own?.behind.values() ?? []) {
        if (!hasLeft && names.includes(name)) used++
      }
      return { ...limited, used }
    })
  }

  /** The oldest requests of this gateway, and whether all of them, and at least one, are streams or WebSockets. */
  underWayIn(quota: string): Decision['underWay'] {
    const all = [...(this.#quotas.get(quota)?.places ?? [])]
    const ids = all.slice(0, mostNamed).map(({ id }) => id)
    return { ids, allLast: all.length > 0 && all.every(({ lasts }) => lasts) }
  }

  byPlan(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { places } of this.#quotas.values()) {
      for (const { plan } of places) counts.set(plan, (counts.get(plan) ?? 0) + 1)
    }
    return counts
  }

  /** Hears whose requests leave no room. */
  hear(holders: readonly string[] | undefined): void {
    this.#gone.hear(holders?.filter((holder) => holder !== this.#by) ?? [])
  }

  /** Tells all places anew with the next look. */
  tellAnewSoon(): void {
    this.#toldAnewAtTicks = -Infinity
    if (!this.#endLook) this.#lookSoon()
  }

  /** The store was connected to anew: it may have lost places, and who is in the fleet. */
  reconnected(): void {
    this.#gone.reconnected()
    this.tellAnewSoon()
  }

  /** Tells the store all places anew: it may have lost them, or an operator has freed them. */
  tellAnew(): void {
    this.#toldAnewAtTicks = this.#ticks()
    for (const [quota, names] of this.#lately.entries())
      this.#reports.note(this.#of(quota), [...names])
  }

  close(): void {
    this.#endLook?.()
    this.#reports.close()
  }

  #of(quota: string): OfQuota {
    const own = this.#quotas.get(quota) ?? new OfQuota(quota)
    this.#quotas.set(quota, own)
    return own
  }

  #placeIn(own: OfQuota, parts: readonly LimitedPart[], number = 0): Place {
    const place = new Place(parts, () => {
      own.places.delete(place)
      const behind = own.behind.get(number)
      if (behind) behind.hasLeft = true
      else this.#giveBack(own, namesOf(parts))
    })
    own.places.add(place)
    const lately = this.#lately.get(own.quota) ?? new Set()
    for (const name of namesOf(parts)) lately.add(name)
    this.#lately.set(own.quota, lately)
    return place
  }

  #giveBack(own: OfQuota, names: readonly string[]): void {
    for (const name of names) {
      const left = (own.held.get(name) ?? 0) - 1
      if (left > 0) own.held.set(name, left)
      else own.held.delete(name)
    }
    this.#reports.note(own, names)
  }

  /** Counts the places of questions that have no open one before them any more. */
  #settle(own: OfQuota): void {
    const settled = settledIn(own, this.#number + 1)
    for (const [number, { names, hasLeft }] of own.behind) {
      if (number > settled) continue
      own.behind.delete(number)
      hold(own, names)
      if (hasLeft) this.#giveBack(own, names)
    }
  }

  #forgetIfOver(own: OfQuota): void {
    if (own.isOver) this.#quotas.delete(own.quota)
  }

  /** Looks again and again, while there are places, whether something has to be told again. */
  #lookSoon(): void {
    this.#lookedAtTicks = this.#ticks()
    this.#endLook = this.#wait(() => {
      this.#endLook = undefined
      const ticks = this.#ticks()
      if (ticks - this.#lookedAtTicks > silenceMs || ticks - this.#toldAnewAtTicks > anewMs) {
        this.tellAnew()
      } else this.#reports.tellSoon()
      if (this.#quotas.size > 0) this.#lookSoon()
    }, lookMs)
  }
}
