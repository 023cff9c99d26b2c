import { StoreUnavailable } from '../../../shared/store-errors.ts'
import { tellingTrouble } from '../../../shared/trouble.ts'

/** The time between two additions to the store: a crash loses the counts since the last one. */
const everyMs = 4_000

/** Counts in memory. `write` adds them to the store; if that fails, it keeps them for the next time and rejects. */
export interface Written {
  write(): Promise<void>
}

/**
 * Adds counts to the store from time to time. `trouble` is called when writing begins to fail, and with `undefined` when it works
 * again.
 */
export function countWriter(all: readonly Written[], trouble: (error: Error | undefined) => void) {
  const tell = tellingTrouble(trouble)
  let writing: Promise<void> = Promise.resolve()
  const timer = setInterval(() => void flush(), everyMs).unref()

  /** Adds all counts to the store; resolves when they are stored, or when that has failed for now. */
  function flush(): Promise<void> {
    return (writing = writing.then(write))
  }

  async function write(): Promise<void> {
    let failure: unknown
    for (const each of all) {
      try {
        await each.write()
      } catch (error) {
        failure ??= error
        // An outage is the same for the others; what is damaged concerns one.
        if (error instanceof StoreUnavailable) break
      }
    }
    tell(failure)
  }

  return {
    flush,
    close(): Promise<void> {
      clearInterval(timer)
      return flush()
    },
  }
}
