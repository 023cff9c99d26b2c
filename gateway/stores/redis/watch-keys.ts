import type { Clock } from '../../../shared/clock.ts'
import { intactKeyFrom } from '../../keys/record.ts'
import { pollMs, type KeyListener, type Watch } from '../../keys/store.ts'
import { duplicate, type Connection } from './connect.ts'

type Names = Readonly<{
  connection: Connection
  records: string
  versions: string
  version: string
  channel: string
  clock: Clock
}>

const batchSize = 1_000

/**
 * Hears of changes by publish and subscribe, and asks for the count of changes besides: a message
 * that was lost is caught up with at the next look.
 */
export function watchKeys(names: Names, listener: KeyListener): Watch {
  const { connection, records, versions, version, channel, clock } = names
  const subscriber = duplicate(connection)
  let seen: number | undefined
  let upToDateAtMs = clock()
  let isMet = false
  let failing = false
  let looking = false

  subscriber.on('ready', () => void subscriber.subscribe(channel).catch(() => undefined))
  subscriber.on('message', (_channel: string, message: string) => {
    const space = message.indexOf(' ')
    const key = intactKeyFrom(message.slice(space + 1))
    const told = Number(message.slice(0, space))
    if (!key || !Number.isSafeInteger(told)) return
    // The count moves at the next look alone: what came before this may have been lost.
    listener.changed([{ key, version: told }])
  })

  async function look(): Promise<void> {
    const latest = Number((await connection.get(version)) ?? 0)
    // A store that has lost some of its memory counts lower; what was heard of once stays heard of,
    // and what changes from now on counts higher, because versions follow the time.
    seen ??= latest
    while (seen < latest) {
      const range: string[] = await connection.zrangebyscore(
        versions,
        `(${seen}`,
        '+inf',
        'WITHSCORES',
        'LIMIT',
        0,
        batchSize,
      )
      const ids = range.filter((_text, index) => index % 2 === 0)
      if (ids.length === 0) break
      const found = await connection.hmget(records, ...ids)
      seen = Number(range.at(-1))
      listener.changed(
        found.flatMap((record, index) => {
          const key = record === null ? undefined : intactKeyFrom(record)
          return key ? [{ key, version: Number(range[index * 2 + 1]) }] : []
        }),
      )
    }
    upToDateAtMs = clock()
    isMet = true
  }

  async function poll(): Promise<void> {
    if (looking) return
    looking = true
    try {
      await look()
      if (failing) listener.trouble?.(undefined)
      failing = false
    } catch (error) {
      if (!failing) listener.trouble?.(error instanceof Error ? error : new Error(String(error)))
      failing = true
    }
    looking = false
  }

  const timer = setInterval(() => void poll(), pollMs)
  timer.unref()
  // The count is asked for before anything else on a connection, so that whatever is looked up later
  // can't have changed unheard.
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
