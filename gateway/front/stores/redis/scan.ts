import type { Redis } from 'ioredis'
import { answerOf } from './answer.ts'
import { isCluster, type Connection } from './library.ts'

/** Names per call. */
const batchSize = 1_000

/** Fields of a hash that are read per call for a report: Redis decides nothing for some 0.5 ms meanwhile. */
export const fieldsAtOnce = 400

/** The least time limit of such a call. It is long, because only an operator waits. */
export const readTimeoutMs = 1_000

/** The servers that together have all names. */
export function mastersOf(connection: Connection): Redis[] {
  return isCluster(connection) ? connection.nodes('master') : [connection]
}

/** The names with a prefix, in batches of one server each. One may come twice. */
export async function* scanned(connection: Connection, prefix: string) {
  const pattern = `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}*`
  for (const server of mastersOf(connection)) {
    let cursor = '0'
    do {
      const found = server.scan(cursor, 'MATCH', pattern, 'COUNT', batchSize)
      const [next, names] = await answerOf(found)
      if (names.length > 0) yield { server, names }
      cursor = next
    } while (cursor !== '0')
  }
}

/** Answers one after the other: Redis gives the next one while one is read. `ask` hears of the answer before, if any. */
export async function* ahead<Answer>(
  ask: (before?: Answer) => Promise<Answer> | undefined,
): AsyncGenerator<Answer> {
  let asked = ask()
  while (asked) {
    const answer = await asked
    asked = ask(answer)
    // If the reader stops before it, nobody takes its error.
    asked?.catch(() => undefined)
    yield answer
  }
}

/** The fields of a hash with their values, by calls that each answer with the next cursor and a text of both. */
export async function* fieldsOf(
  read: (cursor: string) => Promise<unknown>,
): AsyncGenerator<(readonly [field: string, value: string])[]> {
  let cursor = '0'
  do {
    const [next = '0', text = ''] = (await read(cursor)) as string[]
    yield pairsOf(text === '' ? [] : text.split('\0'))
    cursor = next
  } while (cursor !== '0')
}

/** Names with their values, of a list in which they alternate. */
export function pairsOf(flat: readonly string[]): (readonly [name: string, value: string])[] {
  return Array.from({ length: flat.length >> 1 }, (_, i) => [
    flat[2 * i] ?? '',
    flat[2 * i + 1] ?? '',
  ])
}
