import { randomUUID } from 'node:crypto'
import type { Connection } from './connect.ts'

/** The format of what gateways of this version keep in Redis. Format 1 counted a minute and a day. */
export const format = 2

/**
 * The epoch in the record of a Redis. Where there is none, it writes one: of gateways that do so at once, the first one is
 * heard. `undefined` if there is no telling: an outage, or a value of another type, doesn't empty a store.
 */
export async function epochIn(
  connection: Connection,
  { store: record, records }: Readonly<{ store: string; records: string }>,
): Promise<string | undefined> {
  try {
    const epoch = await connection.hget(record, 'epoch')
    if (epoch !== null) return epochFrom(epoch)
    // A replica that has no data yet refuses it.
    await connection.hsetnx(record, 'epoch', randomUUID())
    // Keys without a record of the store were written before there was one.
    const isFormer = (await connection.exists(records)) === 1
    await connection.hsetnx(record, 'format', isFormer ? 1 : format)
    return epochFrom(await connection.hget(record, 'epoch'))
  } catch {
    return undefined
  }
}

function epochFrom(value: unknown): string | undefined {
  return typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value) ? value : undefined
}
