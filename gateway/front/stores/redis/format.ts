import { randomUUID } from 'node:crypto'
import { StoreUnavailable } from '../../../../shared/store-errors.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import { keyNames, type KeyNames } from './key-names.ts'

/** The layout of what is in Redis: a changed one takes the next number. */
export const format = 11

/** Commands that ioredis sends by itself for a connection, and those that read a server's state. */
const ofConnections = new Set(['auth', 'client', 'cluster', 'hello', 'info', 'readonly', 'select'])

/** The time in which a gateway that runs has written a record anew that was lost: it looks more often. */
const writtenAnewMs = 500

/** A command of ioredis. */
type Command = Readonly<{
  name: string
  args: readonly unknown[]
  promise: Promise<unknown>
  reject: (error: Error) => void
}>

type Send = (command: Command, stream?: unknown, node?: unknown) => unknown

/** The record of a Redis. Whoever writes there writes it first. */
type StoreRecord = Readonly<{ epoch: string | null; stored: string | null }>

/** The format of what is in a Redis. Another one than ours is refused: nothing is written there. */
export class RedisFormat {
  readonly #connection: Connection
  readonly #names: KeyNames
  #isOurs = false
  /** Whether it was ours once. Its record may be lost since, and is then written anew. */
  #wasOurs = false
  #looking: Promise<string | undefined> | undefined
  /** Says what to do where another version has written this Redis. */
  fault: StoreUnavailable | undefined

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection
    this.#names = keyNames(prefix)
  }

  /** Lets commands of the connection through once the format is ours; of another format they fail with its sentence. */
  guard(): void {
    const connection = this.#connection as unknown as { sendCommand: Send }
    const send = connection.sendCommand.bind(connection)
    // Another Redis may answer next.
    this.#connection.on('close', () => (this.#isOurs = false))
    connection.sendCommand = (command, stream, node) => {
      if (this.#isOurs || this.#isOfLook(command)) return send(command, stream, node)
      this.look().then(
        () => void send(command, stream, node),
        (error: Error) => command.reject(error),
      )
      return command.promise
    }
  }

  /**
   * Looks at the record, writes it where nothing is, and gives its epoch, `undefined` if that is damaged. Rejects if the format
   * is another one or can't be read.
   */
  look(): Promise<string | undefined> {
    return (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)))
  }

  /** Rejects if the format is another one, and changes nothing. */
  async require(): Promise<StoreRecord> {
    const record = await this.#read()
    const other = await this.#otherThanOurs(record)
    this.fault = other === undefined ? undefined : new StoreUnavailable(otherText(other))
    if (!this.fault) return record
    this.#isOurs = false
    throw this.fault
  }

  async #look(): Promise<string | undefined> {
    let record = await this.require()
    if (record.epoch === null || record.stored === null) {
      const { store } = this.#names
      // Of gateways that do so at once, the first one is heard. The epoch comes last: a record with one is whole.
      await answerOf(this.#connection.hsetnx(store, 'format', format))
      await answerOf(this.#connection.hsetnx(store, 'epoch', randomUUID()))
      record = await this.require()
    }
    this.#isOurs = true
    this.#wasOurs = true
    return /^[0-9a-f-]{36}$/.test(record.epoch ?? '') ? (record.epoch ?? undefined) : undefined
  }

  async #read(): Promise<StoreRecord> {
    const fields = this.#connection.hmget(this.#names.store, 'epoch', 'format')
    const [epoch = null, stored = null] = await answerOf(fields)
    return { epoch, stored }
  }

  /** What is there, if it isn't ours. */
  async #otherThanOurs({ stored }: StoreRecord): Promise<string | undefined> {
    if (stored !== null) return Number(stored) === format ? undefined : `has format ${stored}`
    if (this.#wasOurs) return undefined
    const hasKeys = (await answerOf(this.#connection.exists(this.#names.records))) === 1
    if (!hasKeys) return undefined
    // Both may have been written since, or the record may be lost under a gateway that runs.
    await new Promise((resolve) => void setTimeout(resolve, writtenAnewMs))
    return (await this.#read()).stored === null ? 'has keys and no format' : undefined
  }

  #isOfLook({ name, args: [first] }: Command): boolean {
    const { store, records } = this.#names
    return ofConnections.has(name) || first === store || (name === 'exists' && first === records)
  }
}

function otherText(what: string): string {
  return (
    `what is in Redis ${what}, and this version of Tollgate knows format ${format} alone: start the version that wrote it, ` +
    'set another store.prefix, or begin with an empty Redis'
  )
}
