import { randomUUID } from 'node:crypto'
import { later, type Clock, type Later } from '../../../shared/clock.ts'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import { hold, namesOf, OfQuota, Place, settledIn } from './place.ts'
import { nameOfPart, type LimitedPart, type PlaceAsk, type PlaceState } from './places.ts'
import type { Decision } from './step.ts'
import type { PlaceReport } from './store.ts'

/** The time between two looks at what has to be told again, and a silence of this process that others may take for its end. */
const lookMs = 1_000
const silenceMs = 3_000

/** How long a store must have been there before those who aren't in its fleet are gone: all of it has told of itself by then. */
const calmMs = 5_000

/** The time after which all places are told anew: a store keeps them for longer. */
const anewMs = 3_600_000

/** The least number of quotas of which a gateway remembers that it had requests under way. */
const mostLately = 10_000

/** The most gateways that a question names as gone. */
const mostGone = 16

/** The most requests that a refusal names. */
const mostNamed = 10

export type OwnPlacesOptions = Readonly<{
  /** Tells the store of places that were given back. */
  tell: (reports: readonly PlaceReport[]) => Promise<void>
  /** Which of some gateways the fleet holds for gone; it may look, and is asked at most once a second. */
  goneOf: ((gateways: readonly string[]) => Promise<readonly string[]>) | undefined
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
  readonly #options: OwnPlacesOptions
  readonly #by: string
  readonly #wait: Later
  readonly #quotas = new Map<string, OfQuota>()
  /** The parts in which requests were under way lately: a store that has lost writes may have them still. */
  readonly #lately = new BoundedMap<Set<string>>(mostLately)
  /** Those with parts of which the store has to be told. */
  readonly #untold = new Set<OfQuota>()
  #gone: readonly string[] = []
  #goneUntilTicks = -Infinity
  #number = 0
  #isTelling = false
  #isWaiting = false
  #lookedAtTicks = 0
  #toldAnewAtTicks: number
  #askedForGoneAtTicks = -Infinity
  #calmSinceTicks: number
  #endLook: (() => void) | undefined
  #endWait: (() => void) | undefined

  constructor(options: OwnPlacesOptions) {
    this.#options = options
    this.#by = options.by ?? randomUUID()
    this.#wait = options.wait ?? later
    this.#calmSinceTicks = options.ticks()
    this.#toldAnewAtTicks = options.ticks()
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
    const gone = this.#options.ticks() < this.#goneUntilTicks ? this.#gone : []
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
    this.#note(this.#of(question.quota), namesOf(question.parts))
    this.end(question, false)
  }

  /** Takes a place without the store; it is told when it answers again. */
  takeAlone(quota: string, parts: readonly LimitedPart[]): Place {
    const own = this.#of(quota)
    const names = namesOf(parts)
    hold(own, names)
    this.#note(own, names)
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

  /** Hears whose requests leave no room, and looks whether those gateways are gone. */
  hear(holders: readonly string[] | undefined): void {
    const { goneOf, ticks } = this.#options
    const others = holders?.filter((holder) => holder !== this.#by)
    if (!goneOf || !others || others.length === 0) return
    if (ticks() - this.#askedForGoneAtTicks < lookMs) return
    if (ticks() - this.#calmSinceTicks < calmMs) return
    this.#askedForGoneAtTicks = ticks()
    const note = (gone: readonly string[]): void => {
      this.#gone = gone.slice(0, mostGone)
      // One that wakes tells its places anew, and must not be named any more.
      this.#goneUntilTicks = ticks() + lookMs
    }
    goneOf(others).then(note, () => undefined)
  }

  /** Tells all places anew with the next look. */
  tellAnewSoon(): void {
    this.#toldAnewAtTicks = -Infinity
    if (!this.#endLook) this.#lookSoon()
  }

  /** The store was connected to anew: it may have lost places, and who is in the fleet. */
  reconnected(): void {
    this.#calmSinceTicks = this.#options.ticks()
    this.tellAnewSoon()
  }

  /** Tells the store all places anew: it may have lost them, or an operator has freed them. */
  tellAnew(): void {
    this.#toldAnewAtTicks = this.#options.ticks()
    for (const [quota, names] of this.#lately.entries()) this.#note(this.#of(quota), [...names])
  }

  close(): void {
    this.#endLook?.()
    this.#endWait?.()
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
    this.#note(own, names)
  }

  /** Notes parts of which the store is told at the end of this turn of the loop. */
  #note(own: OfQuota, names: readonly string[]): void {
    for (const name of names) own.untold.add(name)
    if (own.untold.size === 0) return
    this.#untold.add(own)
    this.#tellSoon()
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

  /** Tells the store at the end of this turn of the loop, all in one call. */
  #tellSoon(): void {
    if (this.#isWaiting || this.#isTelling) return
    this.#isWaiting = true
    this.#endWait = this.#wait(() => {
      this.#isWaiting = false
      void this.#tell()
    }, 0)
  }

  async #tell(): Promise<void> {
    const untold = [...this.#untold].map((own) => [own, [...own.untold]] as const)
    if (untold.length === 0) return
    this.#untold.clear()
    const reports = untold.map(([own, names]): PlaceReport => {
      const number = ++this.#number
      const held = new Map(names.map((name) => [name, own.held.get(name) ?? 0]))
      own.untold.clear()
      own.isBeingTold = true
      const settled = settledIn(own, number)
      return { quota: own.quota, told: { by: this.#by, number, settled, held } }
    })
    this.#isTelling = true
    const isTold = await this.#options.tell(reports).then(
      () => true,
      () => false,
    )
    this.#isTelling = false
    for (const [own, names] of untold) {
      own.isBeingTold = false
      if (isTold) this.#forgetIfOver(own)
      else for (const name of names) own.untold.add(name)
      if (own.untold.size > 0) this.#untold.add(own)
    }
    // Otherwise the next look tells them again.
    if (isTold && this.#untold.size > 0) this.#tellSoon()
  }

  /** Looks again and again, while there are places, whether something has to be told again. */
  #lookSoon(): void {
    this.#lookedAtTicks = this.#options.ticks()
    this.#endLook = this.#wait(() => {
      this.#endLook = undefined
      const ticks = this.#options.ticks()
      if (ticks - this.#lookedAtTicks > silenceMs || ticks - this.#toldAnewAtTicks > anewMs) {
        this.tellAnew()
      } else this.#tellSoon()
      if (this.#quotas.size > 0) this.#lookSoon()
    }, lookMs)
  }
}
