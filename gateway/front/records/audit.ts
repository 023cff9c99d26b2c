import type { Clock } from '../../../shared/clock.ts'
import type { Act, AuditStore, Change } from './audit-store.ts'

/** Writes a change to the audit. */
export type Noted = (change: Change & Readonly<{ act?: Act | undefined }>) => Promise<void>

/** A change was made but couldn't be written to the audit: it must not be repeated. */
export class NotWrittenDown extends Error {
  readonly what: string

  constructor(what: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`it is done (${what}), but could not be written down: ${why}`, { cause })
    this.what = what
  }
}

/** The time between two reads of the audit for the log. */
const pollEveryMs = 1_000

/** The most that clocks may differ. Earlier entries were copied from another store. */
const clocksDifferMs = 5_000

/** Makes the function that writes one author's changes to the audit, after they are made. */
export function noterFor(store: Pick<AuditStore, 'add'>, by: string, clock: Clock): Noted {
  return async (change) => {
    try {
      await store.add({ atMs: clock(), by, ...change })
    } catch (error) {
      throw new NotWrittenDown(change.what, error)
    }
  }
}

/**
 * Logs each change in the audit, whoever made it. Every gateway of a fleet logs the changes since its start. Returns
 * the function that ends it.
 */
export function logChanges(
  store: AuditStore,
  log: (about: object, message: string) => void,
  clock: Clock = Date.now,
): () => void {
  const beganAtMs = clock()
  let cursor: string | undefined
  let isPolling = false
  const poll = async (): Promise<void> => {
    if (isPolling) return
    isPolling = true
    try {
      const { entries, cursor: next } = await store.since(cursor)
      cursor = next
      for (const { what, atMs, ...rest } of entries) {
        if (atMs < beganAtMs - clocksDifferMs) continue
        log({ audit: what, at: new Date(atMs).toISOString(), ...rest }, 'changed')
      }
    } catch {
      // The outage is reported elsewhere. The next poll reads the missed entries.
    } finally {
      isPolling = false
    }
  }
  const timer = setInterval(() => void poll(), pollEveryMs).unref()
  void poll()
  return () => clearInterval(timer)
}
