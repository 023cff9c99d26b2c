import { asError } from '../shared/as-error.ts'
import { Refusal } from '../shared/refusal.ts'
import { isBusy, type Database, type Statement } from '../shared/sqlite.ts'

/** The longest that a write waits for another process's write lock. */
const patienceMs = 100
const retryMs = 5

/** The most writes per commit, so that a commit never delays reads for long. */
const batchSize = 128

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
  readonly #batchSize: number
  readonly #beginRead: Statement
  readonly #beginWrite: Statement
  readonly #commitStatement: Statement
  #waiting: Write[] = []
  #scheduled = false
  #lockedSince: number | undefined

  constructor(database: Database, batched = true) {
    this.#database = database
    this.#batchSize = batched ? batchSize : 1
    this.#beginRead = database.prepare('BEGIN')
    this.#beginWrite = database.prepare('BEGIN IMMEDIATE')
    this.#commitStatement = database.prepare('COMMIT')
  }

  /**
   * Runs a read. All reads of one turn of the event loop share a transaction: locking and unlocking the file takes 1.9
   * of the 7.7 µs of a list of 20.
   */
  read<T>(run: () => T): T {
    if (!this.#database.inTransaction) {
      this.#beginRead.run()
      setImmediate(() => this.#endRead())
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
    // After all requests that have already arrived, so that they share the commit.
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

  /** Ends the transaction of reads, unless a write, a failure or closing has ended it. */
  #endRead(): void {
    if (this.#database.open && this.#database.inTransaction) this.#commitStatement.run()
  }

  /** Takes the write lock; returns the error if that fails. */
  #begin(): Error | undefined {
    try {
      this.#endRead()
      this.#beginWrite.run()
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
      this.#commitStatement.run()
      return settled
    } catch (error) {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK')
      if (batch.length > 1) return undefined
      return batch.map((write) => () => write.reject(error))
    }
  }

  /** Runs one write; a refusal, which comes before it changes anything, is its own outcome, any other failure is the batch's. */
  #outcome(write: Write): Settle {
    try {
      return write.run()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return () => write.reject(error)
    }
  }

  #commitAlone(write: Write): void {
    const locked = this.#begin()
    if (locked) return write.reject(locked)
    this.#commit([write])?.forEach((settle) => settle())
  }
}
