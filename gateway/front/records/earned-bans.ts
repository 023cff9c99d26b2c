import { asError } from '../../../shared/as-error.ts'
import { breathe } from '../../../shared/breathe.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { BanRules } from '../limits/conduct.ts'
import type { AuditStore } from './audit-store.ts'
import { banView } from '../limits/views.ts'

/** The most bans that wait to be written. */
const mostWaiting = 1_000

export type EarnedBansOptions = Readonly<{
  store: Pick<AuditStore, 'add'>
  clock: Clock
  /** Called for a ban that couldn't be written. */
  missing: (key: string, error: Error) => void
}>

/** A key that has earned a ban, and the rules of the ban. */
type Banned = Readonly<{ id: string; name: string; bans: BanRules | undefined }>

/**
 * Writes earned bans to the audit, so that operators can see them after their end. Writes one after the other, in the
 * background. Only the gateway that decided a ban writes it.
 */
export class EarnedBans {
  readonly #options: EarnedBansOptions
  #waiting = 0
  #written: Promise<void> = Promise.resolve()

  constructor(options: EarnedBansOptions) {
    this.#options = options
  }

  add(banned: Banned, untilMs: number): void {
    const { store, clock, missing } = this.#options
    const { id, name, bans } = banned
    if (this.#waiting >= mostWaiting) {
      return missing(id, new Error(`${mostWaiting} others wait to be written down`))
    }
    this.#waiting++
    const after = { ...banView({ key: id, name, untilMs }), strikes: bans?.strikes }
    const line = { atMs: clock(), by: 'gateway', what: 'bans.earn', subject: id }
    const write = async (): Promise<void> => {
      try {
        // A file is written synchronously, so the request's answer is sent first.
        await breathe()
        await store.add({ ...line, before: null, after })
      } catch (error) {
        missing(id, asError(error))
      } finally {
        this.#waiting--
      }
    }
    this.#written = this.#written.then(write)
  }

  /** Resolves when all bans so far are written, or have failed to be. */
  close(): Promise<void> {
    return this.#written
  }
}
