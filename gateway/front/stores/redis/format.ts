import { randomUUID } from 'node:crypto'
import { StoreUnavailable } from '../../../../shared/store-errors.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import { keyNames } from './key-names.ts'

/** The layout of what is in Redis: a changed one takes the next number. */
export const format = 13

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
export type RedisFormat = ReturnType<typeof redisFormat>

export function redisFormat(connection: Connection, prefix: string) {
  const { store, records } = keyNames(prefix)
  let isOurs = false
  /** Whether it was ours once. Its record may be lost since, and is then written anew. */
  let wasOurs = false
  let looking: Promise<string | undefined> | undefined
  let fault: StoreUnavailable | undefined

  async function read(): Promise<StoreRecord> {
    const [epoch = null, stored = null] = await answerOf(connection.hmget(store, 'epoch', 'format'))
    return { epoch, stored }
  }

  /** Describes what is there, if it isn't ours. */
  async function otherThanOurs({ stored }: StoreRecord): Promise<string | undefined> {
    if (stored !== null) return Number(stored) === format ? undefined : `has format ${stored}`
    if (wasOurs) return undefined
    const hasKeys = (await answerOf(connection.exists(records))) === 1
    if (!hasKeys) return undefined
    // Both may have been written since, or the record may be lost under a gateway that runs.
    await new Promise((resolve) => void setTimeout(resolve, writtenAnewMs))
    return (await read()).stored === null ? 'has keys and no format' : undefined
  }

  /** Rejects if the format is another one, and changes nothing. */
  async function require(): Promise<StoreRecord> {
    const record = await read()
    const other = await otherThanOurs(record)
    fault = other === undefined ? undefined : new StoreUnavailable(otherText(other))
    if (!fault) return record
    isOurs = false
    throw fault
  }

  async function lookOnce(): Promise<string | undefined> {
    let record = await require()
    if (record.epoch === null || record.stored === null) {
      // Of gateways that do so at once, the first one is heard. The epoch comes last: a record with one is whole.
      await answerOf(connection.hsetnx(store, 'format', format))
      await answerOf(connection.hsetnx(store, 'epoch', randomUUID()))
      record = await require()
    }
    isOurs = true
    wasOurs = true
    return /^[0-9a-f-]{36}$/.test(record.epoch ?? '') ? (record.epoch ?? undefined) : undefined
  }

  /**
   * Looks at the record, writes it where nothing is, and gives its epoch, `undefined` if that is damaged. Rejects if the format
   * is another one or can't be read.
   */
  const look = () => (looking ??= lookOnce().finally(() => (looking = undefined)))

  const isOfLook = ({ name, args: [first] }: Command): boolean =>
    ofConnections.has(name) || first === store || (name === 'exists' && first === records)

  return {
    /** Says what to do where another version has written this Redis. */
    get fault() {
      return fault
    },

    look,
    require,

    /** Lets commands of the connection through once the format is ours; of another format they fail with its sentence. */
    guard(): void {
      const guarded = connection as unknown as { sendCommand: Send }
      const send = guarded.sendCommand.bind(guarded)
      // Another Redis may answer next.
      connection.on('close', () => (isOurs = false))
      guarded.sendCommand = (command, stream, node) => {
        if (isOurs || isOfLook(command)) return send(command, stream, node)
        look().then(
          () => void send(command, stream, node),
          (error: Error) => command.reject(error),
        )
        return command.promise
      }
    },
  }
}

function otherText(what: string): string {
  return (
    `what is in Redis ${what}, and this version of Tollgate knows format ${format} alone: start the version that wrote it, ` +
    'set another store.prefix, or begin with an empty Redis'
  )
}
