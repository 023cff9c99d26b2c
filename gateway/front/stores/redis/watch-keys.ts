import type { Clock } from '../../../../shared/clock.ts'
import { tellingTrouble } from '../../../../shared/trouble.ts'
import { intactKeyFrom } from '../../keys/key.ts'
import { pollMs, type KeyListener, type Watch } from '../../keys/store.ts'
import { answerOf, countFrom } from './answer.ts'
import { duplicate, hear, type Connection } from './connect.ts'
import type { RedisFormat } from './format.ts'
import type { KeyNames } from './key-names.ts'
import { pairsOf } from './scan.ts'

type KeyWatchOptions = Readonly<{
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
export function watchKeys({ connection, names, format, clock, listener }: KeyWatchOptions): Watch {
  /** The version up to which changes have been read. */
  let seen: number | undefined
  let upToDateAtMs = clock()
  let epoch: string | undefined
  let isMet = false
  let isPolling = false
  const tell = tellingTrouble(listener.trouble)

  function take(message: string): void {
    const space = message.indexOf(' ')
    const key = intactKeyFrom(message.slice(space + 1))
    const version = Number(message.slice(0, space))
    if (!key || !Number.isSafeInteger(version)) return
    // Only a poll moves `seen`: messages before this one may have been lost.
    listener.changed([{ key, version }])
  }

  async function poll(): Promise<void> {
    if (isPolling) return
    isPolling = true
    await read()
      .then(() => tell(undefined), tell)
      .finally(() => (isPolling = false))
  }

  async function read(): Promise<void> {
    const [latest, present = epoch] = await Promise.all([readVersion(), readEpoch()])
    if (epoch !== undefined && present !== undefined && present !== epoch) {
      // Keys that are restored have versions below the count before.
      seen = await readVersion()
      listener.emptied?.(present)
    }
    epoch = present
    // A store that has lost writes counts lower, and so does one in which another program has written a version that is
    // mended. Later changes count higher than either, because versions follow the time.
    if (latest > 0) seen = Math.min(seen ?? latest, latest)
    await readChanges(seen ?? 0, latest)
    upToDateAtMs = clock()
    isMet = true
  }

  /** Reports the changes after a version, up to one that gateways have written: another program's would hide all below it. */
  async function readChanges(after: number, latest: number): Promise<void> {
    seen = after
    while (seen < latest) {
      const range = ['WITHSCORES', 'LIMIT', 0, batchSize] as const
      const found = connection.zrangebyscore(names.versions, `(${seen}`, latest, ...range)
      const versions = pairsOf(await answerOf(found))
      if (versions.length === 0) break
      const ids = versions.map(([id]) => id)
      const records = await answerOf(connection.hmget(names.records, ...ids))
      seen = Number(versions.at(-1)?.[1])
      const changed = versions.flatMap(([, version], i) => {
        const key = intactKeyFrom(records[i] ?? '')
        return key ? [{ key, version: Number(version) }] : []
      })
      listener.changed(changed)
    }
  }

  /** The store's epoch; `undefined` if there is no telling: an outage, or a value of another type, doesn't empty a store. */
  async function readEpoch(): Promise<string | undefined> {
    try {
      return await format.look()
    } catch (error) {
      if (format.fault) throw error
      return undefined
    }
  }

  const readVersion = async () => countFrom(await answerOf(connection.get(names.version)))

  const subscriber = duplicate(connection)
  subscriber.on('ready', () => void subscriber.subscribe(names.channel).catch(() => undefined))
  hear(subscriber, take)
  const pollAtOnce = (): void => void poll()
  const timer = setInterval(pollAtOnce, pollMs).unref()
  // The first command on a connection reads the count, so that a change of any key that is looked up
  // later is noticed.
  connection.on('ready', pollAtOnce)
  if (connection.status === 'ready') pollAtOnce()

  return {
    get upToDateAtMs() {
      return upToDateAtMs
    },

    get isMet() {
      return isMet
    },

    close() {
      clearInterval(timer)
      connection.off('ready', pollAtOnce)
      subscriber.disconnect()
    },
  }
}
