import { breathe } from '../../../../shared/breathe.ts'
import { noLines, type Lines, type Space } from '../../shelves/counts.ts'
import { groups, layoutOf, type Layout } from './count-layout.ts'
import { addLines, unescaped, type Wanted } from './count-text.ts'
import { fieldsAtOnce, fieldsOf, readTimeoutMs } from './scan.ts'
import { keyedScript, type KeyedScript, type RedisOptions } from './script.ts'

/** Groups that are asked for at once: their answers may come in one turn of the loop, some 1.5 ms each. */
const groupsAtOnce = 2

/** Makes what lists the lines of all keys of a space. */
export function countLister({ connection, prefix, timeoutMs }: RedisOptions) {
  const read = keyedScript({
    connection,
    timeoutMs: Math.max(timeoutMs, readTimeoutMs),
    file: 'counts-read.lua',
  })
  return (space: Space, from: number, to: number): AsyncIterable<Lines> => {
    const layout = layoutOf(prefix, space)
    const wanted = { from, to, count: space.merge.length }
    return space.readBy === 'whole'
      ? listedByGroup(read, layout, wanted)
      : listedByTime(read, layout, wanted)
  }
}

/** Reads the hash of each time, some keys at a time. */
async function* listedByTime(
  read: KeyedScript,
  { hash }: Layout,
  { from, to, count }: Wanted,
): AsyncGenerator<Lines> {
  for (let at = from; at <= to; at++) {
    // A scan may give a field twice.
    const seen = new Set<string>()
    for await (const fields of fieldsOf((cursor) => read(hash(at), '', cursor, fieldsAtOnce))) {
      const lines = noLines()
      for (const [field, text] of fields) {
        if (seen.has(field)) continue
        seen.add(field)
        addLines(lines, unescaped(field), text, { from: at, to: at, count })
      }
      yield lines
    }
  }
}

/** Reads groups as wholes, so that each key comes once. */
async function* listedByGroup(
  read: KeyedScript,
  layout: Layout,
  wanted: Wanted,
): AsyncGenerator<Lines> {
  const ask = (first: number): Promise<Lines[]> => {
    const some = Array.from({ length: groupsAtOnce }, (_, i) => layout.hash(first + i))
    const asked = Promise.all(some.map((hash) => linesOfGroup(read, hash, wanted)))
    // If the reader stops before it, nobody takes its error.
    asked.catch(() => undefined)
    return asked
  }
  let next = ask(0)
  for (let first = 0; first < groups; first += groupsAtOnce) {
    const some = await next
    // Redis answers for the next ones while these are read.
    if (first + groupsAtOnce < groups) next = ask(first + groupsAtOnce)
    yield* some
  }
}

async function linesOfGroup(read: KeyedScript, hash: string, wanted: Wanted): Promise<Lines> {
  const texts = new Map<string, string>()
  for await (const fields of fieldsOf((cursor) => read(hash, wanted.from, cursor, fieldsAtOnce))) {
    for (const [field, text] of fields) texts.set(field, text)
    await breathe()
  }
  const lines = noLines()
  for (const [field, text] of texts) addLines(lines, unescaped(field), text, wanted)
  return lines
}
