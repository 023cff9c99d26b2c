import type { Clock } from '../../../shared/clock.ts'
import { inOrder } from '../../../shared/in-order.ts'
import { stateOf, unused, type Caller } from '../keys/caller.ts'
import { hashOf } from '../keys/token.ts'
import { markOf, type LastUseStore } from '../keys/last-use-store.ts'

/** Uses per note: the gateway serves requests between two notes. */
const batchSize = 250

/** The most callers whose uses wait for the store during an outage. */
const mostWaiting = 100_000

export type LastUsesOptions = Readonly<{ store: LastUseStore; clock: Clock }>

/**
 * Notes when tokens were used last: in the state of their callers, and from time to time in the store. A request costs
 * a write to that state and, if it is the caller's first since the last note, an entry in a list.
 */
export class LastUses {
  readonly #store: LastUseStore
  readonly #clock: Clock
  #used: Caller[] = []
  /** Whether the store knows since when uses are noted. */
  #hasBegun = false

  constructor({ store, clock }: LastUsesOptions) {
    this.#store = store
    this.#clock = clock
  }

  /** Notes a request of a caller, whatever it will be answered. */
  add(caller: Caller, nowMs: number): void {
    const state = stateOf(caller)
    if (state.usedAtMs === unused) {
      if (this.#used.length >= mostWaiting) return
      this.#used.push(caller)
    }
    state.usedAtMs = nowMs
  }

  /** Writes the uses since the last time to the store. If that fails, they are kept for the next time, and it rejects. */
  async write(): Promise<void> {
    const callers = this.#used
    if (callers.length === 0 && this.#hasBegun) return
    this.#used = []
    let done = 0
    try {
      if (!this.#hasBegun) await this.#store.note([], this.#clock())
      this.#hasBegun = true
      for await (const [batch] of inOrder(callers, ({ id }) => id, batchSize)) {
        await this.#note(batch)
        done += batch.length
      }
    } finally {
      if (done < callers.length) this.#keep(callers)
    }
  }

  async #note(callers: readonly Caller[]): Promise<void> {
    const states = callers.map(stateOf)
    const uses = callers.map(({ id: key }, i) => {
      const { token = '', usedAtMs: atMs = 0 } = states[i] ?? {}
      return { key, mark: markOf(hashOf(token)), atMs: Math.floor(atMs) }
    })
    // Requests that come meanwhile are uses of their own.
    for (const state of states) state.usedAtMs = unused
    try {
      await this.#store.note(uses, this.#clock())
    } catch (error) {
      for (const [i, state] of states.entries()) {
        if (state.usedAtMs === unused) state.usedAtMs = uses[i]?.atMs ?? unused
      }
      throw error
    }
  }

  /** Puts callers whose uses weren't written back into the list. */
  #keep(callers: readonly Caller[]): void {
    const listed = new Set(this.#used)
    for (const caller of callers) {
      const isWaiting = stateOf(caller).usedAtMs !== unused && !listed.has(caller)
      if (isWaiting && this.#used.length < mostWaiting) this.#used.push(caller)
    }
  }
}
