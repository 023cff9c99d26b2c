import { randomUUID } from 'node:crypto'
import type { Connection } from './connect.ts'

/** The format of what gateways of this version keep in Redis. */
const format = 1

/**
 * Looks at the epoch in the record of a Redis, and writes one where there is none: of gateways that do so at once, the first
 * one is heard. Calls `emptied` with each other epoch than the one before.
 */
export function epochLook(
  connection: Connection,
  record: string,
  emptied: (epoch: string) => void,
): () => Promise<void> {
  let before: string | undefined
  return async () => {
    const epoch = await epochIn(connection, record)
    if (epoch === null || epoch === before) return
    if (before !== undefined) emptied(epoch)
    before = epoch
  }
}

/** `null` if there is no telling: an outage, or a value of another type, doesn't empty a store. */
async function epochIn(connection: Connection, record: string): Promise<string | null> {
  try {
    const epoch = await connection.hget(record, 'epoch')
    if (epoch !== null) return epoch
    // A replica that has no data yet refuses it.
    await connection.hsetnx(record, 'epoch', randomUUID())
    await connection.hsetnx(record, 'format', format)
    return await connection.hget(record, 'epoch')
  } catch {
    return null
  }
}
