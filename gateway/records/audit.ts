import type { Clock } from '../../shared/clock.ts'
import type { AuditStore, Change } from './audit-store.ts'

/** Writes down what somebody has changed. */
export type Noted = (change: Change) => Promise<void>

/** What was changed, but could not be written down: it is not to be done again. */
export class NotWrittenDown extends Error {
  readonly what: string

  constructor(what: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`it is done (${what}), but could not be written down: ${why}`, { cause })
    this.what = what
  }
}

/** How often the log hears of what was changed. */
const lookEveryMs = 1_000

/** By how much clocks may differ. What was changed earlier has come from another store, by a copy. */
const clocksDifferMs = 5_000

/** Writes down changes that somebody makes, after they are made. */
export function noterFor(store: AuditStore, by: string, clock: Clock): Noted {
  return async (change) => {
    try {
      await store.add({ atMs: clock(), by, ...change })
    } catch (error) {
      throw new NotWrittenDown(change.what, error)
    }
  }
}

/**
 * Tells the log of each change that somebody has made, by command or otherwise. Every gateway of a fleet
 * does, each for what happens while it runs. Gives what ends it.
 */
export function tellChanges(
  store: AuditStore,
  log: (about: object, message: string) => void,
  clock: Clock = Date.now,
): () => void {
  const beganAtMs = clock()
  let place: string | undefined
  let isLooking = false
  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    try {
      const { entries, place: next } = await store.since(place)
      place = next
      for (const { what, atMs, ...rest } of entries) {
        if (atMs < beganAtMs - clocksDifferMs) continue
        log({ audit: what, at: new Date(atMs).toISOString(), ...rest }, 'changed')
      }
    } catch {
      // The store is out of reach and says so itself; what was missed is told when it is back.
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(() => void look(), lookEveryMs)
  timer.unref()
  void look()
  return () => clearInterval(timer)
}
