import { breathe } from '../../../shared/breathe.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Noted } from '../records/audit.ts'
import type { Key, StoredKey } from './key.ts'
import type { KeyStore } from './store.ts'

/** The time between two lines of the audit about new records. */
const tellEveryMs = 60_000

/** The least time between two counts of an issuer that is full: records that nobody used may have been taken away. */
const recountEveryMs = 10 * 60_000

/** The least time from a count that failed to the next one. */
const againAfterMs = 10_000

export type OutsideRecordsOptions = Readonly<{
  store: Pick<KeyStore, 'list'>
  noted: Noted
  clock: Clock
  /** Called when the number of new records can't be written to the audit. */
  untold: (error: unknown) => void
}>

/**
 * Counts the records of each issuer: those in the store when it began, and those that any gateway has made since. Until the
 * first count is done, all have room. Several gateways may go over a bound by as many records as they make in a quarter of
 * a second.
 */
export class OutsideRecords {
  readonly #options: OutsideRecordsOptions
  /** The ids of the records, by issuer. */
  #ids = new Map<string, Set<string>>()
  /** The same of a count that isn't done. */
  #counting: Map<string, Set<string>> | undefined
  #isCounted = false
  #nextCountAtMs = -Infinity
  /** New records of this gateway that aren't in the audit, by issuer. */
  readonly #untold = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: OutsideRecordsOptions) {
    this.#options = options
  }

  /** Counts what is in the store, once. */
  begin(): void {
    if (this.#nextCountAtMs === -Infinity) void this.#count()
  }

  /** Notes keys that any gateway has added or changed. */
  note(keys: readonly StoredKey[]): void {
    for (const { key } of keys) this.#add(key)
  }

  /** Counts a record that is going to be made, if its issuer may have one more. */
  take(key: Key, most: number): boolean {
    const isFull = this.countOf(key.issuer ?? '') >= most
    const isTime = this.#options.clock() >= this.#nextCountAtMs
    if (isTime && (isFull || !this.#isCounted)) void this.#count()
    if (!isFull) this.#add(key)
    return !isFull
  }

  countOf(issuer: string): number {
    return this.#ids.get(issuer)?.size ?? 0
  }

  /** Notes a record that this gateway has made; the audit gets their number. */
  made(key: Key): void {
    const { issuer = '' } = key
    this.#add(key)
    this.#untold.set(issuer, (this.#untold.get(issuer) ?? 0) + 1)
    this.#timer ??= setTimeout(() => void this.#tell(), tellEveryMs).unref()
  }

  /** Tells what the audit hasn't heard yet. */
  async close(): Promise<void> {
    await this.#tell()
  }

  #add({ id, kind, issuer, revokedAtMs }: Key): void {
    if (kind === undefined || issuer === undefined) return
    for (const all of [this.#ids, this.#counting]) {
      const ids = all?.get(issuer)
      if (revokedAtMs !== undefined) ids?.delete(id)
      else if (ids) ids.add(id)
      else all?.set(issuer, new Set([id]))
    }
  }

  async #count(): Promise<void> {
    if (this.#counting) return
    const { store, clock } = this.#options
    this.#nextCountAtMs = clock() + recountEveryMs
    this.#counting = new Map()
    try {
      let count = 0
      for await (const key of store.list()) {
        this.#add(key)
        // Lets the gateway serve requests.
        if (++count % 200 === 0) await breathe()
      }
      this.#ids = this.#counting
      this.#isCounted = true
    } catch {
      // The watch reports the outage. What was counted before goes on to count.
      this.#nextCountAtMs = clock() + againAfterMs
    } finally {
      this.#counting = undefined
    }
  }

  async #tell(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { noted, untold } = this.#options
    const all = [...this.#untold]
    this.#untold.clear()
    for (const [issuer, count] of all) {
      const after = { issuer, count }
      await noted({ what: 'keys.first', subject: 'keys', before: null, after }).catch(untold)
    }
  }
}
