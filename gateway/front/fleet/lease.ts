import type { FleetStore } from './store.ts'

export type LeaseOptions = Readonly<{
  fleet: Pick<FleetStore, 'take' | 'leave'>
  /** The task that one holder in the fleet does for all. */
  name: string
  /** The id of the holder. */
  holder: string
  /** The name or the sentence that others read while it is held. */
  about: string
}>

/** A lease that one holder in the fleet has at a time. Another one gets it when the holder leaves it, or falls silent. */
export class Lease {
  readonly #options: LeaseOptions
  #isHeld = false

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  /** Whether it was held last. It stays while the store is out of reach: nobody else can take it then. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /**
   * Takes it, or keeps it, for `goneMs`. Resolves to the `about` of another holder. Rejects with `StoreUnavailable` while the
   * store can't be asked.
   */
  async take(): Promise<string | undefined> {
    const { fleet, name, holder, about } = this.#options
    const other = await fleet.take(name, holder, about)
    this.#isHeld = other === undefined
    return other
  }

  /** Frees it at once. Never rejects: a store that can't be asked frees it by itself. */
  async leave(): Promise<void> {
    if (!this.#isHeld) return
    this.#isHeld = false
    const { fleet, name, holder } = this.#options
    await fleet.leave(name, holder).catch(() => undefined)
  }
}
