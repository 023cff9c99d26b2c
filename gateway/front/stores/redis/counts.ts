import { entryOf } from '../../../../shared/entry-of.ts'
import { breathe } from '../../../../shared/breathe.ts'
import {
  noLines,
  type CountLine,
  type Counts,
  type Lines,
  type Space,
} from '../../shelves/counts.ts'
import { answerOf } from './answer.ts'
import { groups, layoutOf, type Layout } from './count-layout.ts'
import { addLines, escaped, unescaped, type Wanted } from './count-text.ts'
import { ahead, fieldsAtOnce, fieldsOf, readTimeoutMs } from './scan.ts'
import { keyedScript, type Argument, type KeyedScript, type RedisOptions } from './script.ts'

/** Keys, and times of keys, that are asked for at a time. */
const [keysAtOnce, timesAtOnce] = [500, 2_000]

/** Groups that are asked for at once: their answers may come in one turn of the loop, some 1.5 ms each. */
const groupsAtOnce = 2

/** Counts in Redis: texts in hashes, which counts-add.lua describes. */
export function redisCounts(options: RedisOptions): Counts {
  const { connection, prefix } = options
  const merge = keyedScript({ ...options, file: 'counts-add.lua' })
  const newestAt = new Map<string, number>()

  return {
    async add(space, { by, number, lines }) {
      const layout = layoutOf(prefix, space)
      const old = space.readBy === 'times' ? oldTime(space, lines, newestAt) : undefined
      // Beside its other work. At the end of the hash's time, Redis would answer nobody meanwhile: 360 ms for 100,000 keys.
      if (old !== undefined) connection.unlink(layout.hash(old)).catch(() => undefined)
      await Promise.all(
        [...argsByHash(layout, lines)].map(([hash, args]) =>
          merge(hash, by, number, ...layout.args, ...args),
        ),
      )
    },

    list: countLister(options),

    async of(space, keys, from, to) {
      const lines = noLines()
      const { placesOf } = layoutOf(prefix, space)
      const wanted = { from, to, count: space.merge.length }
      const count = Math.min(keysAtOnce, Math.ceil(timesAtOnce / Math.max(1, to - from + 1)))
      for (let start = 0; start < keys.length; start += count) {
        const places = placesOf(keys.slice(start, start + count), from, to)
        const texts = await Promise.all(
          places.map(({ hash, fields }) => answerOf(connection.hmget(hash, ...fields))),
        )
        places.forEach((place, n) => {
          texts[n]?.forEach((text, i) => {
            if (text !== null) addLines(lines, place.keys[i] ?? '', text, wanted)
          })
        })
      }
      return lines
    },
  }
}

/** The time of a space that is too old once its lines are added, if they are newer than all before. */
function oldTime(
  { name, kept }: Space,
  lines: readonly CountLine[],
  newestAt: Map<string, number>,
): number | undefined {
  const newest = Math.max(...lines.map(({ at }) => at))
  if (newest <= (newestAt.get(name) ?? 0)) return undefined
  newestAt.set(name, newest)
  return newest - kept
}

/** The arguments of lines for counts-add.lua, by the hash that they are in. */
function argsByHash({ hashOf, fieldOf }: Layout, lines: readonly CountLine[]) {
  const argsByName = new Map<string, Argument[]>()
  for (const { key, part, at, numbers } of lines) {
    const args = entryOf(argsByName, hashOf(key, at), () => [])
    args.push(fieldOf(key, at), at, escaped(part), ...numbers)
  }
  return argsByName
}

/** Makes what lists the lines of all keys of a space. */
function countLister({ connection, prefix, timeoutMs }: RedisOptions) {
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
  let first = 0
  const askOn = (): Promise<Lines[]> | undefined => {
    if (first >= groups) return undefined
    const some = Array.from({ length: groupsAtOnce }, () => layout.hash(first++))
    return Promise.all(some.map((hash) => linesOfGroup(read, hash, wanted)))
  }
  for await (const some of ahead(askOn)) yield* some
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
