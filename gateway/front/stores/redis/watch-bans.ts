import { readerOf, timeSchema, Type } from '../../../../shared/schema.ts'
import { pollMs } from '../../keys/store.ts'
import type { Ban, BanListener } from '../../limits/store.ts'
import { countFrom } from './answer.ts'
import { duplicate, hear, onEachReady, type Connection } from './connect.ts'

/** The names of the list of bans, of the time of the latest lift, and of the channel that tells both. */
export type BanNames = Readonly<{ list: string; lifts: string; channel: string }>

/** Listens for published bans and lifts, and polls for the latest lift in case a message was lost. */
export function watchBans(
  connection: Connection,
  { lifts, channel }: Omit<BanNames, 'list'>,
  { banned, forgiven, reconnected }: BanListener,
): () => void {
  const subscriber = duplicate(connection)
  let seen: number | undefined
  subscriber.on('ready', () => void subscriber.subscribe(channel).catch(() => undefined))
  hear(subscriber, (message) => {
    if (message === '') return forgiven()
    const parts = banFrom(message)
    if (!parts) return
    const [untilMs, key, quota] = parts
    banned({ untilMs, key, quota })
  })
  const poll = async (): Promise<void> => {
    // The time of the latest lift. If Redis has lost it, no lift is reported.
    const latest = countFrom(await connection.get(lifts)) || (seen ?? 0)
    // An earlier time is one as well: another program may have written the one before.
    if (seen !== undefined && latest !== seen) forgiven()
    seen = latest
  }
  const tryPoll = (): void => void poll().catch(() => undefined)
  const timer = setInterval(tryPoll, pollMs)
  timer.unref()
  // At once, so that the next lift isn't taken for an old one.
  connection.on('ready', tryPoll)
  const endReady = reconnected && onEachReady(connection, reconnected)
  if (connection.status === 'ready') tryPoll()
  return () => {
    clearInterval(timer)
    connection.off('ready', tryPoll)
    endReady?.()
    subscriber.disconnect()
  }
}

/**
 * A ban as gateways publish it. It is JSON because names may hold any text: apps count under names that
 * strangers send.
 */
export function banMessage({ untilMs, key, quota }: Ban): string {
  return JSON.stringify([untilMs, key, quota])
}

const banFrom = readerOf(Type.Tuple([timeSchema, Type.String({ minLength: 1 }), Type.String()]))
