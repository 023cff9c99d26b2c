import type { Later } from '../../../shared/clock.ts'
import { settledIn, type OfQuota } from './place.ts'
import type { PlaceReport } from './store.ts'

export type PlaceReportsOptions = Readonly<{
  tell: (reports: readonly PlaceReport[]) => Promise<void>
  by: string
  /** The number of the next message. */
  next: () => number
  /** Called when the store was told all of a quota. */
  told: (own: OfQuota) => void
  wait: Later
}>

/** Tells the store of places that were given back, all of a turn of the loop in one call, until it has heard them. */
export class PlaceReports {
  readonly #options: PlaceReportsOptions
  /** Those with parts of which the store has to be told. */
  readonly #untold = new Set<OfQuota>()
  #isTelling = false
  #isWaiting = false
  #endWait: (() => void) | undefined

  constructor(options: PlaceReportsOptions) {
    this.#options = options
  }

  /** Notes parts of which the store is told at the end of this turn of the loop. */
  note(own: OfQuota, names: readonly string[]): void {
    for (const name of names) own.untold.add(name)
    if (own.untold.size === 0) return
    this.#untold.add(own)
    this.tellSoon()
  }

  tellSoon(): void {
    if (this.#isWaiting || this.#isTelling) return
    this.#isWaiting = true
    this.#endWait = this.#options.wait(() => {
      this.#isWaiting = false
      void this.#tell()
    }, 0)
  }

  close(): void {
    this.#endWait?.()
  }

  async #tell(): Promise<void> {
    const untold = [...this.#untold].map((own) => [own, [...own.untold]] as const)
    if (untold.length === 0) return
    this.#untold.clear()
    this.#isTelling = true
    const isTold = await this.#options
      .tell(untold.map(([own, names]) => this.#reportOf(own, names)))
      .then(
        () => true,
        () => false,
      )
    this.#isTelling = false
    for (const [own, names] of untold) {
      own.isBeingTold = false
      if (isTold) this.#options.told(own)
      else for (const name of names) own.untold.add(name)
      if (own.untold.size > 0) this.#untold.add(own)
    }
    // Otherwise the next look tells them again.
    if (isTold && this.#untold.size > 0) this.tellSoon()
  }

  #reportOf(own: OfQuota, names: readonly string[]): PlaceReport {
    const { by, next } = this.#options
    const number = next()
    const held = new Map(names.map((name) => [name, own.held.get(name) ?? 0]))
    own.untold.clear()
    own.isBeingTold = true
    return { quota: own.quota, told: { by, number, settled: settledIn(own, number), held } }
  }
}
