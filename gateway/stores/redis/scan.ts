import type { Redis } from 'ioredis'
import { answerOf } from './answer.ts'
import { isCluster, type Connection } from './library.ts'

/** Names per call. */
const batchSize = 1_000

/** The servers that together have all names. */
export function mastersOf(connection: Connection): Redis[] {
  return isCluster(connection) ? connection.nodes('master') : [connection]
}

/** The names of a server with a prefix, in batches. One may come twice. */
export async function* scanned(server: Redis, prefix: string): AsyncGenerator<string[]> {
  const pattern = `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}*`
  let cursor = '0'
  do {
    const [next, names] = await answerOf(server.scan(cursor, 'MATCH', pattern, 'COUNT', batchSize))
    if (names.length > 0) yield names
    cursor = next
  } while (cursor !== '0')
}
