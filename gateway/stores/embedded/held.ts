import { newQuota, type QuotaState } from '../../limits/step.ts'

/** How many quotas are held though nobody asks for them; beyond, they are read again when they are asked for. */
const mostIdle = 100_000

/** A quota in memory, and how far what was counted of it has come. */
export type Held = {
  readonly quota: string
  readonly state: QuotaState
  /** Whether it was asked for since the last tidying. */
  isUsed: boolean
  /** Whether the file doesn't have it yet, and whether it has it in its journal rather than in its place. */
  isUnsaved: boolean
  isJournaled: boolean
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

  get(quota: string): Held {
    const held = this.#byName.get(quota) ?? this.add(quota, this.#read(quota) ?? newQuota())
    held.isUsed = true
    return held
  }

  add(quota: string, state: QuotaState): Held {
    const held = { quota, state, isUsed: true, isUnsaved: false, isJournaled: false }
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

  /** Lets go of those that were not asked for lately, if there are many, and the file has them. */
  tidy(): void {
    if (this.#all.length > mostIdle) {
      for (const { quota, isUsed, isUnsaved, isJournaled } of this.#all) {
        if (!isUsed && !isUnsaved && !isJournaled) this.#byName.delete(quota)
      }
      this.#all = this.#all.filter(({ quota }) => this.#byName.has(quota))
    }
    for (const held of this.#all) held.isUsed = false
  }
}
