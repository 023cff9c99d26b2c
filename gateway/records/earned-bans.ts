import { breathe } from '../../shared/breathe.ts'
import type { Clock } from '../../shared/clock.ts'
import type { BanRules } from '../limits/step.ts'
import type { AuditStore } from './audit-store.ts'
import { banView } from '../operations/views.ts'

/** How many bans wait to be written down at most. */
const mostWaiting = 1_000

export type EarnedBansOptions = Readonly<{
  store: Pick<AuditStore, 'add'>
  clock: Clock
  /** Told of a ban that could not be written down. */
  missing: (key: string, error: Error) => void
}>

/** A key that has earned a ban, and by which rules. */
type Banned = Readonly<{ id: string; name: string; bans: BanRules | undefined }>

/**
 * Writes the bans that keys have earned into the audit, so that they are told of when they are over. It does so
 * behind the requests, one after the other. The gateway that decided a ban writes it down, and no other.
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
        // A file is written at once, with all that waits for the disk: the request's answer goes first.
        await breathe()
        await store.add({ ...line, before: null, after })
      } catch (error) {
        missing(id, error instanceof Error ? error : new Error(String(error)))
      } finally {
        this.#waiting--
      }
    }
    this.#written = this.#written.then(write)
  }

  /** Resolves when what was earned so far is written down, or can't be. */
  close(): Promise<void> {
    return this.#written
  }
}
