import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { intactKeyFrom } from '../../keys/record.ts'
import { pollMs, type KeyListener, type Watch } from '../../keys/store.ts'

/** Changes that are read in one turn of the loop. */
const batchSize = 100

export type FileWatchOptions = Readonly<{
  database: Database
  clock: Clock
  listener: KeyListener
  closed: () => void
}>

/** Watches the keys of a file, which other processes change as well: it polls the file's version. */
export class FileWatch implements Watch {
  readonly #database: Database
  readonly #clock: Clock
  readonly #listener: KeyListener
  readonly #closed: () => void
  readonly #statements: ReturnType<typeof statementsOf>
  readonly #timer: NodeJS.Timeout
  /** The version up to which changes have been read. */
  #seen: number
  #fileVersion: number | undefined
  #epoch: string | undefined
  #upToDateAtMs: number
  #isFailing = false
  #hasUnread = false
  #isScheduled = false
  #hasMissed = false
  #isPolled = false

  constructor({ database, clock, listener, closed }: FileWatchOptions) {
    this.#database = database
    this.#clock = clock
    this.#listener = listener
    this.#closed = closed
    this.#statements = statementsOf(database)
    const { latest, fileVersion, epoch } = this.#statements
    this.#seen = latest.get() ?? 0
    this.#fileVersion = fileVersion.get()
    this.#epoch = epoch.get()
    this.#upToDateAtMs = clock()
    this.#timer = setInterval(() => this.#poll(), pollMs)
    this.#timer.unref()
  }

  get upToDateAtMs(): number {
    return this.#upToDateAtMs
  }

  isUpToDate(): boolean {
    // Polls once per turn of the loop: most requests of a turn were sent before it.
    if (!this.#isPolled && !this.#hasUnread) {
      this.#isPolled = true
      setImmediate(() => (this.#isPolled = false))
      this.#poll()
    }
    return this.#database.open && !this.#isFailing && !this.#hasUnread && !this.#hasMissed
  }

  /** Reads a change of this process itself, which doesn't move the file's version. */
  readOwnChange(): void {
    this.#hasUnread = true
    this.#poll()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#closed()
  }

  #poll(): void {
    if (!this.#database.open) return
    try {
      const version = this.#statements.fileVersion.get()
      if (version !== this.#fileVersion || this.#hasUnread) this.#read()
      this.#fileVersion = version
      if (!this.#hasUnread) this.#upToDateAtMs = this.#clock()
      if (this.#isFailing) this.#listener.trouble?.(undefined)
      this.#isFailing = false
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error))
      if (!this.#isFailing) this.#listener.trouble?.(cause)
      this.#isFailing = true
    }
  }

  #read(): void {
    const { epoch, latest, since } = this.#statements
    const present = epoch.get()
    if (present !== undefined && present !== this.#epoch) {
      this.#epoch = present
      this.#listener.emptied?.(present)
    }
    // An older file was put in place of this one: read all of it again.
    if ((latest.get() ?? 0) < this.#seen) this.#seen = 0
    const rows = since.all(this.#seen)
    this.#seen = rows.at(-1)?.version ?? this.#seen
    const intact = rows.flatMap(({ record, version }) => {
      const key = intactKeyFrom(record)
      return key ? [{ key, version }] : []
    })
    if (intact.length > 0) this.#listener.changed(intact)
    // A damaged key can't be reported.
    this.#hasMissed ||= intact.length < rows.length
    this.#hasUnread = rows.length === batchSize
    if (this.#hasUnread) this.#readOn()
  }

  #readOn(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#poll()
    })
  }
}

function statementsOf(database: Database) {
  return {
    since: database.prepare<number, { version: number; record: string }>(
      `SELECT version, record FROM keys WHERE version > ? ORDER BY version LIMIT ${batchSize}`,
    ),
    latest: database.prepare<[], number>('SELECT coalesce(max(version), 0) FROM keys').pluck(),
    fileVersion: database.prepare<[], number>('PRAGMA data_version').pluck(),
    epoch: database.prepare<[], string>('SELECT epoch FROM store').pluck(),
  }
}
