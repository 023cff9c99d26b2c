import { randomUUID } from 'node:crypto'
import { StoreNotAsked } from '../../../shared/store-errors.ts'
import type { Adjustment } from './counters.ts'
import type { Numbered } from './quota-state.ts'
import type { Decision } from './step.ts'

/** An adjustment of an admission. */
export type Adjusted = Readonly<{ quota: string; decision: Decision; adjustment: Adjustment }>

/** Asks the store. Rejects where it hasn't confirmed. */
type Ask = (adjusted: Adjusted, numbered: Numbered) => Promise<void>

/** `unsure`: the store has made it or not, and it is repeated until the store says so. `undone`: it was not made. */
export type Outcome = 'made' | 'unsure' | 'undone'

type Open = Adjusted & Readonly<{ number: number }>

/** The most adjustments that are repeated, so that an outage doesn't fill the memory. */
const mostUnsure = 10_000

/**
 * The adjustments that a gateway asks a store to make. Where the answer is lost or late, the store may have made one or not:
 * it is repeated under its number, and made once.
 */
export class Adjustments {
  readonly #ask: Ask
  readonly #by = randomUUID()
  #last = 0
  /** Those that the store hasn't confirmed, by quota and number, the oldest first. */
  readonly #open = new Map<string, Map<number, Open>>()
  readonly #unsure = new Set<Open>()

  constructor(ask: Ask) {
    this.#ask = ask
  }

  /** Never rejects. */
  async make(adjusted: Adjusted): Promise<Outcome> {
    const { quota } = adjusted
    const one: Open = { ...adjusted, number: ++this.#last }
    const ofQuota = this.#open.get(quota)
    if (ofQuota) ofQuota.set(one.number, one)
    else this.#open.set(quota, new Map([[one.number, one]]))
    const failure = await this.#tell(one)
    if (failure === undefined) {
      void this.repeat(quota)
      return 'made'
    }
    if (!(failure instanceof StoreNotAsked) && this.#keep(one)) return 'unsure'
    this.#end(one)
    return 'undone'
  }

  /** Repeats those of which it isn't known whether they were made: of a quota, or of all. Never rejects. */
  async repeat(quota?: string): Promise<void> {
    if (this.#unsure.size === 0) return
    const some = quota === undefined ? this.#unsure : (this.#open.get(quota)?.values() ?? [])
    const taken = [...some].filter((each) => this.#unsure.delete(each))
    for (const one of taken) {
      if ((await this.#tell(one)) !== undefined && !this.#keep(one)) this.#end(one)
    }
  }

  async #tell(one: Open): Promise<unknown> {
    const [from = one.number] = this.#open.get(one.quota)?.keys() ?? []
    try {
      await this.#ask(one, { by: this.#by, number: one.number, from })
      this.#end(one)
      return undefined
    } catch (failure) {
      return failure ?? 'unknown'
    }
  }

  #keep(one: Open): boolean {
    if (this.#unsure.size >= mostUnsure) return false
    this.#unsure.add(one)
    return true
  }

  #end({ quota, number }: Open): void {
    const ofQuota = this.#open.get(quota)
    ofQuota?.delete(number)
    if (ofQuota?.size === 0) this.#open.delete(quota)
  }
}
