import { noLines, type CountLine, type Counts, type Space } from '../../shelves/counts.ts'
import { answerOf } from './answer.ts'
import { layoutOf, type Layout } from './count-layout.ts'
import { countLister } from './count-lister.ts'
import { addLines, escaped } from './count-text.ts'
import { keyedScript, type Argument, type RedisOptions } from './script.ts'

/** Keys, and their fields in all, that are asked for at a time. */
const [keysAtOnce, placesAtOnce] = [500, 2_000]

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
      const layout = layoutOf(prefix, space)
      const ats = timesOf(layout, from, to)
      const count = Math.min(keysAtOnce, Math.ceil(placesAtOnce / Math.max(1, ats.length)))
      for (let start = 0; start < keys.length; start += count) {
        const places = placesByHash(layout, keys.slice(start, start + count), ats)
        const asked = [...places].map(async ([hash, some]) => {
          const texts = connection.hmget(hash, ...some.map(({ field }) => field))
          return [some, await answerOf(texts)] as const
        })
        for (const [some, texts] of await Promise.all(asked)) {
          some.forEach(({ key }, i) => {
            addLines(lines, key, texts[i] ?? '', { from, to, count: space.merge.length })
          })
        }
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
  const args = new Map<string, Argument[]>()
  for (const { key, part, at, numbers } of lines) {
    listIn(args, hashOf(key, at)).push(fieldOf(key, at), at, escaped(part), ...numbers)
  }
  return args
}

/** A time of each field that has some of a range. */
function timesOf({ step }: Layout, from: number, to: number): number[] {
  if (step === 0) return [to]
  const first = Math.floor(from / step)
  const count = Math.floor(to / step) - first + 1
  return Array.from({ length: Math.max(0, count) }, (_, i) => (first + i) * step)
}

/** The fields of some keys, by the hash that they are in. */
function placesByHash(
  { hashOf, fieldOf }: Layout,
  keys: readonly string[],
  ats: readonly number[],
) {
  const places = new Map<string, { key: string; field: string }[]>()
  for (const key of keys) {
    for (const at of ats) listIn(places, hashOf(key, at)).push({ key, field: fieldOf(key, at) })
  }
  return places
}

function listIn<Item>(lists: Map<string, Item[]>, name: string): Item[] {
  let list = lists.get(name)
  if (!list) lists.set(name, (list = []))
  return list
}
