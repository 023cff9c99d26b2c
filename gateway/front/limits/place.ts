import { nameOfPart, type LimitedPart } from './places.ts'

/** The place of one request under way, in each part that limits them. */
export class Place {
  /** The id of the request and its caller's plan, for operators. */
  id = ''
  plan = ''
  /** Whether it is a stream or a WebSocket, which may last. */
  lasts = false
  /** How long it is kept once its caller has left. */
  readonly lingerMs: number
  readonly #leave: (place: Place) => void
  #holds = 1

  constructor(parts: readonly LimitedPart[], leave: (place: Place) => void) {
    this.lingerMs = Math.max(...parts.map(({ lingerMs = 0 }) => lingerMs))
    this.#leave = leave
  }

  /** Keeps the place for another one, which leaves as well: a WebSocket outlives its request. */
  stay(): void {
    this.#holds++
    this.lasts = true
  }

  leave(): void {
    if (--this.#holds === 0) this.#leave(this)
  }
}

/** The places of this gateway in one quota. */
export class OfQuota {
  readonly quota: string
  /** The numbers of questions whose answers haven't come, the oldest first. */
  readonly open = new Set<number>()
  readonly held = new Map<string, number>()
  /** Places of questions behind an open one: the store knows them by their numbers. */
  readonly behind = new Map<number, { names: readonly string[]; hasLeft: boolean }>()
  /** The parts of which the store has to be told. */
  readonly untold = new Set<string>()
  /** The oldest first. */
  readonly places = new Set<Place>()
  isBeingTold = false

  constructor(quota: string) {
    this.quota = quota
  }

  get isOver(): boolean {
    const { open, places, untold, behind, isBeingTold } = this
    return !isBeingTold && open.size + places.size + untold.size + behind.size === 0
  }
}

export function namesOf(parts: readonly LimitedPart[]): readonly string[] {
  return parts.map(({ part }) => nameOfPart(part))
}

export function hold(own: OfQuota, names: readonly string[]): void {
  for (const name of names) own.held.set(name, (own.held.get(name) ?? 0) + 1)
}

/** The number up to which all questions of a quota are settled. */
export function settledIn(own: OfQuota, next: number): number {
  for (const oldest of own.open) return oldest - 1
  return next - 1
}
