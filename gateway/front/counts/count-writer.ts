import { StoreUnavailable } from '../../../shared/store-errors.ts'
import { tellingTrouble } from '../../../shared/trouble.ts'

/** The time between two additions to the store: a crash loses the counts since the last one. */
const everyMs = 4_000

/** Counts in memory. `write` adds them to the store; if that fails, it keeps them for the next time and rejects. */
export interface Written {
  write(): Promise<void>
}

/** Adds counts to the store from time to time. */
export class CountWriter {
  readonly #all: readonly Written[]
  readonly #trouble: (error: unknown) => void
  readonly #timer: NodeJS.Timeout
  #writing: Promise<void> = Promise.resolve()

  /** `trouble` is called when writing begins to fail, and with `undefined` when it works again. */
  constructor(all: readonly Written[], trouble: (error: Error | undefined) => void) {
    this.#all = all
    this.#trouble = tellingTrouble(trouble)
    this.#timer = setInterval(() => void this.flush(), everyMs)
    this.#timer.unref()
  }

  /** Adds all counts to the store; resolves when they are stored, or when that has failed for now. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #write(): Promise<void> {
    let failure: unknown
    for (const each of this.#all) {
      try {
        await each.write()
      } catch (error) {
        failure ??= error
        // An outage is the same for the others; what is damaged concerns one.
        if (error instanceof StoreUnavailable) break
      }
    }
    this.#trouble(failure)
  }
}
