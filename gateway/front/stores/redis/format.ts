import { setTimeout as sleep } from 'node:timers/promises'
import { readerOf, Type } from '../../../../shared/schema.ts'
import { goneMs } from '../../fleet/store.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'

/** The format of what gateways of this version keep in Redis. Format 1 counted a minute and a day. */
export const format = 2

/** The time between two looks at gateways of a former version. */
const lookEveryMs = 250

const memberFrom = readerOf(
  Type.Object({ name: Type.String(), format: Type.Optional(Type.Integer()) }),
)

export type FormatOptions = Readonly<{
  connection: Connection
  prefix: string
  /** Called with the names of the gateways that it waits for. */
  waits: (names: readonly string[]) => void
  /** Ends the wait. */
  isClosed: () => boolean
}>

/**
 * Sees to it that a Redis has the format of this version. One with a former format is brought up to date when the gateways
 * that know no other have left: they and this one don't understand each other's counters. Throws if the format is a later one.
 */
export async function requireFormat(options: FormatOptions): Promise<void> {
  const { connection, prefix, waits, isClosed } = options
  const record = `${prefix}{keys}:store`
  // A Redis that doesn't tell it keeps no gateway from starting, as with any other outage.
  const stored = await answerOf(connection.hget(record, 'format')).catch(() => null)
  if (stored === null || Number(stored) === format) return
  if (Number(stored) > format) {
    throw new Error(
      `what is in Redis has format ${stored}, and this version of Tollgate knows formats up to ${format}: ` +
        'start the version that wrote it, or set another store.prefix',
    )
  }
  for (;;) {
    const names = await formerGateways(options).catch(() => undefined)
    if (names?.length === 0 || isClosed()) break
    if (names) waits(names)
    await sleep(lookEveryMs)
  }
  waits([])
  // Where it fails, the next start finds the former format again.
  if (!isClosed()) await answerOf(connection.hset(record, 'format', format)).catch(() => undefined)
}

/** The names of the gateways that have beaten lately and know no later format than 1. */
async function formerGateways({ connection, prefix }: FormatOptions): Promise<string[]> {
  const [seconds] = await answerOf(connection.time())
  const sinceMs = Number(seconds) * 1_000 - goneMs
  const ids = await answerOf(connection.zrangebyscore(`${prefix}{fleet}:beats`, sinceMs, '+inf'))
  if (ids.length === 0) return []
  const lines = await answerOf(connection.hmget(`${prefix}{fleet}:lines`, ...ids))
  return lines.flatMap((line) => {
    // The hash by which configurations are compared comes first.
    const member = line === null ? undefined : memberFrom(line.slice(line.indexOf(' ') + 1))
    return member && (member.format ?? 1) < format ? [member.name] : []
  })
}
