import { pollMs } from '../keys.ts'
import type { BanListener } from '../quota.ts'
import { duplicate, type Connection } from './connect.ts'

/** Hears of bans and lifts by publish and subscribe, and asks for the latest lift besides. */
export function watchBans(
  connection: Connection,
  { lifts, channel }: { lifts: string; channel: string },
  { banned, forgiven }: BanListener,
): () => void {
  const subscriber = duplicate(connection)
  let seen: number | undefined
  subscriber.on('ready', () => void subscriber.subscribe(channel).catch(() => undefined))
  subscriber.on('message', (_channel: string, message: string) => {
    const told = message.split(' ')
    const [untilMs = NaN, key = '', quota = ''] = [
      Number(told[0]),
      told[1],
      told.slice(2).join(' '),
    ]
    if (message === '') forgiven()
    else if (Number.isSafeInteger(untilMs) && key !== '') banned({ key, quota, untilMs })
  })
  const look = async (): Promise<void> => {
    // The time of the latest lift. A Redis that has lost it has lifted nothing.
    const latest = Number((await connection.get(lifts)) ?? 0)
    if (seen !== undefined && latest > seen) forgiven()
    seen = Math.max(seen ?? 0, latest)
  }
  const tryLook = (): void => void look().catch(() => undefined)
  const timer = setInterval(tryLook, pollMs)
  timer.unref()
  // At once, so that a lift that comes right now is not taken for an old one.
  connection.on('ready', tryLook)
  if (connection.status === 'ready') tryLook()
  return () => {
    clearInterval(timer)
    connection.off('ready', tryLook)
    subscriber.disconnect()
  }
}
