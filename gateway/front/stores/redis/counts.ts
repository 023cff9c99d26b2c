import { noLines, type CountLine, type Counts, type Space } from '../../shelves/counts.ts'
import { answerOf } from './answer.ts'
import { layoutOf, type Layout } from './count-layout.ts'
import { countLister } from './count-lister.ts'
import { addLines, escaped } from './count-text.ts'
import { keyedScript, type Argument, type RedisOptions } from './script.ts'

/** Keys, and times of keys, that are asked for at a time. */
const [keysAtOnce, timesAtOnce] = [500, 2_000]

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
    const name = hashOf(key, at)
    let args = argsByName.get(name)
    if (!args) argsByName.set(name, (args = []))
    args.push(fieldOf(key, at), at, escaped(part), ...numbers)
  }
  return argsByName
}
