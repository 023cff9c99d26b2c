import { pollMs } from '../../keys/store.ts'
import type { Ban, BanListener } from '../../limits/store.ts'
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
    if (message === '') return forgiven()
    const ban = banFrom(message)
    if (ban) banned(ban)
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

/**
 * A ban as gateways tell it to each other. Names may hold anything: apps count under what strangers send.
 * Earlier versions told it in words with spaces in between; each passes over the other's form, and meets
 * the ban when it asks.
 */
export function toldOf({ untilMs, key, quota }: Ban): string {
  return JSON.stringify([untilMs, key, quota])
}

function banFrom(message: string): Ban | undefined {
  try {
    const told: unknown = JSON.parse(message)
    if (!Array.isArray(told)) return undefined
    const [untilMs, key, quota] = told as unknown[]
    const isTold = Number.isSafeInteger(untilMs) && typeof key === 'string' && key !== ''
    return isTold ? { untilMs: Number(untilMs), key, quota: String(quota) } : undefined
  } catch {
    return undefined
  }
}
