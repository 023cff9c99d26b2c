import {
  minuteMs,
  newQuota,
  type CacheSlot,
  type Conduct,
  type QuotaState,
} from '../../limits/step.ts'

/** How many quotas are held though nobody asks for them; beyond, they are read again when they are asked for. */
const mostIdle = 100_000

/** A quota in memory, and how far what was counted of it has come: one record, because there are many. */
export class Held implements QuotaState {
  readonly quota: string
  minute: number
  minuteUsed: number
  day: number
  dayUsed: number
  dayGivenBack: number
  generation: number
  conducts: Map<string, Conduct> | undefined
  /** Whether the file doesn't have it yet, and whether it has it in its journal rather than in its place. */
  isUnsaved = false
  isJournaled = false
  /** Whether it has left: who still knows it has to ask for the one that has come in its stead. */
  hasLeft = false

  constructor(quota: string, state: QuotaState) {
    this.quota = quota
    this.minute = state.minute
    this.minuteUsed = state.minuteUsed
    this.day = state.day
    this.dayUsed = state.dayUsed
    this.dayGivenBack = state.dayGivenBack
    this.generation = state.generation
    this.conducts = state.conducts
  }
}

/** The quotas that a gateway has in memory. */
export class HeldQuotas {
  readonly #read: (quota: string) => QuotaState | undefined
  readonly #byName = new Map<string, Held>()
  #all: Held[] = []
  #isSorted = true

  /** `read` finds what is not held. */
  constructor(read: (quota: string) => QuotaState | undefined) {
    this.#read = read
  }

  has(quota: string): boolean {
    return this.#byName.has(quota)
  }

  get(quota: string): Held {
    return this.#byName.get(quota) ?? this.add(quota, this.#read(quota) ?? newQuota())
  }

  /** Like `get`, but keeps the record in the slot of whoever asks, which spares the next look-up. */
  getVia(slot: CacheSlot, quota: string): Held {
    const { record } = slot
    if (record instanceof Held && record.quota === quota && !record.hasLeft) return record
    return (slot.record = this.get(quota))
  }

  add(quota: string, state: QuotaState): Held {
    const held = new Held(quota, state)
    this.#byName.set(quota, held)
    this.#all.push(held)
    this.#isSorted = false
    return held
  }

  get all(): readonly Held[] {
    return this.#all
  }

  /** Brings them into the order in which the file has them; those that come later follow in none. */
  sort(): void {
    // What was sorted before and what came since: V8 sorts such in one pass.
    if (!this.#isSorted) this.#all.sort((a, b) => (a.quota < b.quota ? -1 : 1))
    this.#isSorted = true
  }

  /** Lets go of those that nobody asked for in this minute or the last, if there are many, and the file has them. */
  tidy(nowMs: number): void {
    if (this.#all.length <= mostIdle) return
    const lately = Math.floor(nowMs / minuteMs) - 1
    for (const held of this.#all) {
      held.hasLeft = held.minute < lately && !held.isUnsaved && !held.isJournaled
      if (held.hasLeft) this.#byName.delete(held.quota)
    }
    this.#all = this.#all.filter(({ hasLeft }) => !hasLeft)
  }
}
