import type { Clock } from '../../../../shared/clock.ts'
import { intactKeyFrom } from '../../keys/record.ts'
import { pollMs, type KeyListener, type Watch } from '../../keys/store.ts'
import { answerOf, countFrom } from './answer.ts'
import { duplicate, hear, type Connection } from './connect.ts'
import { epochIn } from './epoch.ts'

type Names = Readonly<{
  connection: Connection
  records: string
  versions: string
  version: string
  /** The record of the store itself. */
  store: string
  channel: string
  clock: Clock
}>

const batchSize = 1_000

/**
 * Listens for published changes, and polls the count of changes: the next poll finds the change of a lost
 * message. The store's epoch is read along with it.
 */
export function watchKeys(names: Names, listener: KeyListener): Watch {
  const { connection, records, versions, version, store, channel, clock } = names
  const subscriber = duplicate(connection)
  let seen: number | undefined
  let upToDateAtMs = clock()
  let epoch: string | undefined
  let isMet = false
  let isFailing = false
  let isPolling = false

  subscriber.on('ready', () => void subscriber.subscribe(channel).catch(() => undefined))
  hear(subscriber, (message) => {
    const space = message.indexOf(' ')
    const key = intactKeyFrom(message.slice(space + 1))
    const version = Number(message.slice(0, space))
    if (!key || !Number.isSafeInteger(version)) return
    // Only a poll moves `seen`: messages before this one may have been lost.
    listener.changed([{ key, version }])
  })

  async function readVersion(): Promise<number> {
    return countFrom(await answerOf(connection.get(version)))
  }

  async function readChanges(): Promise<void> {
    const [latest, present = epoch] = await Promise.all([readVersion(), epochIn(connection, store)])
    if (epoch !== undefined && present !== undefined && present !== epoch) {
      // Keys that are restored have versions below the count before.
      seen = await readVersion()
      listener.emptied?.(present)
    }
    epoch = present
    // A store that has lost writes counts lower, and so does one in which another program has written a version that is
    // mended. Later changes count higher than either, because versions follow the time.
    if (latest > 0) seen = Math.min(seen ?? latest, latest)
    seen ??= 0
    while (seen < latest) {
      // Up to a version that gateways have written: another program's would hide all below it.
      const range: string[] = await answerOf(
        connection.zrangebyscore(versions, `(${seen}`, latest, 'WITHSCORES', 'LIMIT', 0, batchSize),
      )
      const ids = range.filter((_text, index) => index % 2 === 0)
      if (ids.length === 0) break
      const changed = await answerOf(connection.hmget(records, ...ids))
      seen = Number(range.at(-1))
      listener.changed(
        changed.flatMap((record, index) => {
          const key = record === null ? undefined : intactKeyFrom(record)
          return key ? [{ key, version: Number(range[index * 2 + 1]) }] : []
        }),
      )
    }
    upToDateAtMs = clock()
    isMet = true
  }

  async function poll(): Promise<void> {
    if (isPolling) return
    isPolling = true
    try {
      await readChanges()
      if (isFailing) listener.trouble?.(undefined)
      isFailing = false
    } catch (error) {
      if (!isFailing) listener.trouble?.(error instanceof Error ? error : new Error(String(error)))
      isFailing = true
    }
    isPolling = false
  }

  const timer = setInterval(() => void poll(), pollMs)
  timer.unref()
  // The first command on a connection reads the count, so that a change of any key that is looked up
  // later is noticed.
  const pollAtOnce = (): void => void poll()
  connection.on('ready', pollAtOnce)
  if (connection.status === 'ready') void poll()
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
