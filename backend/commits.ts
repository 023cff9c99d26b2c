import { isBusy, type Database, type Statement } from '../shared/sqlite.ts'

/** How long a write waits for another process that holds the file's write lock. */
const patienceMs = 100
const retryMs = 5

/** Writes that share a commit at most, so that one commit never holds up reads for long. */
const batchSize = 128

/** What a write throws when it is refused for a reason of its own, before it changed anything. */
export type IsRefusal = (thrown: unknown) => boolean

type Settle = () => void
type Write = { run: () => Settle; reject: (error: unknown) => void }

/**
 * Commits writes in groups: those that arrive while one commit is being written share the next, and
 * each is answered after its own commit. A write is a function of statements alone, which may be run
 * twice: if anything in a group fails, the group is rolled back and each of its writes is run again
 * in a transaction of its own, so that a failing write fails alone.
 *
 * With `batched: false` each write has a commit of its own: the reference that `npm run bench` and
 * the tests compare with.
 */
export class Commits {
  readonly #database: Database
  readonly #isRefusal: IsRefusal
  readonly #batchSize: number
  readonly #looking: Statement
  readonly #beginning: Statement
  readonly #ending: Statement
  #waiting: Write[] = []
  #scheduled = false
  #lockedSince: number | undefined

  constructor(database: Database, isRefusal: IsRefusal, batched = true) {
    this.#database = database
    this.#isRefusal = isRefusal
    this.#batchSize = batched ? batchSize : 1
    this.#looking = database.prepare('BEGIN')
    this.#beginning = database.prepare('BEGIN IMMEDIATE')
    this.#ending = database.prepare('COMMIT')
  }

  /**
   * Runs a read. Those of one turn of the event loop look at the file together: to lock it and let go of it
   * for each alone takes 1.9 of the 7.7 µs of a list of 20.
   */
  read<T>(run: () => T): T {
    if (!this.#database.inTransaction) {
      this.#looking.run()
      setImmediate(() => this.#endLooking())
    }
    return run()
  }

  /** Runs a write; the promise settles once it is on disk or has failed. */
  write<T>(run: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const runAndKeep = (): Settle => {
        const value = run()
        return () => resolve(value)
      }
      this.#waiting.push({ run: runAndKeep, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // After the requests that have already arrived were read, so that they come along.
    setImmediate(() => this.#commitNext())
  }

  #commitNext(): void {
    const locked = this.#begin()
    if (locked !== undefined) return this.#waitOrFail(locked)
    this.#lockedSince = undefined
    const batch = this.#waiting.splice(0, this.#batchSize)
    const settled = this.#commit(batch)
    if (settled) settled.forEach((settle) => settle())
    else for (const write of batch) this.#commitAlone(write)
    this.#scheduled = false
    if (this.#waiting.length > 0) this.#schedule()
  }

  /** Ends what reads have begun, unless a write or a failure has done so, or the end of it all. */
  #endLooking(): void {
    if (this.#database.open && this.#database.inTransaction) this.#ending.run()
  }

  /** Takes the write lock; gives back the error that says why it can't be had. */
  #begin(): Error | undefined {
    try {
      this.#endLooking()
      this.#beginning.run()
      return undefined
    } catch (error) {
      return asError(error)
    }
  }

  #waitOrFail(error: Error): void {
    const now = performance.now()
    this.#lockedSince ??= now
    if (isBusy(error) && now - this.#lockedSince < patienceMs) {
      setTimeout(() => this.#commitNext(), retryMs)
      return
    }
    this.#lockedSince = undefined
    this.#scheduled = false
    for (const write of this.#waiting.splice(0)) write.reject(error)
  }

  /** Runs and commits a batch in the open transaction; `undefined` if all of it was rolled back. */
  #commit(batch: readonly Write[]): Settle[] | undefined {
    try {
      const settled = batch.map((write) => this.#outcome(write))
      this.#ending.run()
      return settled
    } catch (error) {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK')
      if (batch.length > 1) return undefined
      return batch.map((write) => () => write.reject(error))
    }
  }

  /** Runs one write; a refusal is its own outcome, any other failure is the batch's. */
  #outcome(write: Write): Settle {
    try {
      return write.run()
    } catch (error) {
      if (!this.#isRefusal(error)) throw error
      return () => write.reject(error)
    }
  }

  #commitAlone(write: Write): void {
    const locked = this.#begin()
    if (locked) return write.reject(locked)
    this.#commit([write])?.forEach((settle) => settle())
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
