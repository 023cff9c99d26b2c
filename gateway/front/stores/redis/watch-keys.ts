import type { Clock } from '../../../../shared/clock.ts'
import { intactKeyFrom } from '../../keys/record.ts'
import { pollMs, type KeyListener, type Watch } from '../../keys/store.ts'
import { answerOf, countFrom } from './answer.ts'
import { duplicate, hear, type Connection } from './connect.ts'
import type { RedisFormat } from './format.ts'
import type { KeyNames } from './key-names.ts'

export type RedisWatchOptions = Readonly<{
  connection: Connection
  names: KeyNames
  format: RedisFormat
  clock: Clock
  listener: KeyListener
}>

const batchSize = 1_000

/**
 * Listens for published changes, and polls the count of changes: the next poll finds the change of a lost
 * message. The store's epoch is read along with it.
 */
export class RedisWatch implements Watch {
  readonly #connection: Connection
  readonly #subscriber: Connection
  readonly #names: KeyNames
  readonly #format: RedisFormat
  readonly #clock: Clock
  readonly #listener: KeyListener
  readonly #timer: NodeJS.Timeout
  readonly #pollAtOnce = (): void => void this.#poll()
  /** The version up to which changes have been read. */
  #seen: number | undefined
  #upToDateAtMs: number
  #epoch: string | undefined
  #isMet = false
  #isFailing = false
  #isPolling = false

  constructor({ connection, names, format, clock, listener }: RedisWatchOptions) {
    this.#connection = connection
    this.#names = names
    this.#format = format
    this.#clock = clock
    this.#listener = listener
    this.#upToDateAtMs = clock()
    const subscriber = duplicate(connection)
    subscriber.on('ready', () => void subscriber.subscribe(names.channel).catch(() => undefined))
    hear(subscriber, (message) => this.#hear(message))
    this.#subscriber = subscriber
    this.#timer = setInterval(this.#pollAtOnce, pollMs)
    this.#timer.unref()
    // The first command on a connection reads the count, so that a change of any key that is looked up
    // later is noticed.
    connection.on('ready', this.#pollAtOnce)
    if (connection.status === 'ready') void this.#poll()
  }

  get upToDateAtMs(): number {
    return this.#upToDateAtMs
  }

  get isMet(): boolean {
    return this.#isMet
  }

  close(): void {
    clearInterval(this.#timer)
    this.#connection.off('ready', this.#pollAtOnce)
    this.#subscriber.disconnect()
  }

  #hear(message: string): void {
    const space = message.indexOf(' ')
    const key = intactKeyFrom(message.slice(space + 1))
    const version = Number(message.slice(0, space))
    if (!key || !Number.isSafeInteger(version)) return
    // Only a poll moves `#seen`: messages before this one may have been lost.
    this.#listener.changed([{ key, version }])
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    try {
      await this.#read()
      if (this.#isFailing) this.#listener.trouble?.(undefined)
      this.#isFailing = false
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error))
      if (!this.#isFailing) this.#listener.trouble?.(cause)
      this.#isFailing = true
    }
    this.#isPolling = false
  }

  async #read(): Promise<void> {
    const [latest, present = this.#epoch] = await Promise.all([
      this.#readVersion(),
      this.#readEpoch(),
    ])
    if (this.#epoch !== undefined && present !== undefined && present !== this.#epoch) {
      // Keys that are restored have versions below the count before.
      this.#seen = await this.#readVersion()
      this.#listener.emptied?.(present)
    }
    this.#epoch = present
    // A store that has lost writes counts lower, and so does one in which another program has written a version that is
    // mended. Later changes count higher than either, because versions follow the time.
    if (latest > 0) this.#seen = Math.min(this.#seen ?? latest, latest)
    await this.#readChanges(this.#seen ?? 0, latest)
    this.#upToDateAtMs = this.#clock()
    this.#isMet = true
  }

  /** Reports the changes after a version, up to one that gateways have written: another program's would hide all below it. */
  async #readChanges(after: number, latest: number): Promise<void> {
    const { records, versions } = this.#names
    this.#seen = after
    while (this.#seen < latest) {
      const range: string[] = await answerOf(
        this.#connection.zrangebyscore(
          versions,
          `(${this.#seen}`,
          latest,
          'WITHSCORES',
          'LIMIT',
          0,
          batchSize,
        ),
      )
      const ids = range.filter((_text, index) => index % 2 === 0)
      if (ids.length === 0) break
      const changed = await answerOf(this.#connection.hmget(records, ...ids))
      this.#seen = Number(range.at(-1))
      this.#listener.changed(
        changed.flatMap((record, index) => {
          const key = record === null ? undefined : intactKeyFrom(record)
          return key ? [{ key, version: Number(range[index * 2 + 1]) }] : []
        }),
      )
    }
  }

  /** The store's epoch; `undefined` if there is no telling: an outage, or a value of another type, doesn't empty a store. */
  async #readEpoch(): Promise<string | undefined> {
    try {
      return await this.#format.look()
    } catch (error) {
      if (this.#format.fault) throw error
      return undefined
    }
  }

  async #readVersion(): Promise<number> {
    return countFrom(await answerOf(this.#connection.get(this.#names.version)))
  }
}
