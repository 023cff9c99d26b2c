import { breathe } from '../../../../shared/breathe.ts'
import {
  rememberedDays,
  type KeyCount,
  type Tally,
  type TallyStore,
} from '../../counts/tally-store.ts'
import { answerOf } from './answer.ts'
import { countSpace } from './count-space.ts'
import { fieldsAtOnce, fieldsOf, readTimeoutMs } from './scan.ts'
import { keyedScript, type RedisOptions } from './script.ts'

const keepSeconds = (rememberedDays + 1) * 86_400

/** Tallies that are given in one turn of the loop. */
const givenAtOnce = 1_000

/** Tallies in Redis, a hash a day. */
export function redisTallies(options: RedisOptions): TallyStore {
  const { connection, prefix } = options
  const readDay = dayReader(options)
  const hashOf = (day: number): string => talliesName(prefix, day)
  const counts = countSpace<Tally>(options, {
    file: 'tallies-add.lua',
    hashOf: ({ day }) => hashOf(day),
    keepSeconds,
    argsOf: (tallies) => [tallies[0]?.day ?? 0, ...tallies.flatMap(tallyArgs)],
  })
  let newestDay = 0

  return {
    ...counts,

    async add(batch) {
      const day = Math.max(...batch.lines.map(({ day }) => day))
      if (day > newestDay) {
        newestDay = day
        // Beside its other work. At the end of the hash's time, Redis would answer nobody meanwhile: 360 ms for 100,000 keys.
        connection.unlink(hashOf(day - rememberedDays)).catch(() => undefined)
      }
      await counts.add(batch)
    },

    async *list(fromDay, toDay, key) {
      for (let day = fromDay; day <= toDay; day++) {
        const { counts, lasts } = await readDay(hashOf(day), key)
        let listed = 0
        for (const [name, count] of counts) {
          const end = name.indexOf(' ')
          const [of, what] = [name.slice(0, end), name.slice(end + 1)]
          if (key !== undefined && of !== key) continue
          yield { day, key: of, what, count, lastMs: lasts.get(name) ?? 0 }
          if (++listed % givenAtOnce === 0) await breathe()
        }
      }
    },

    async some(day, keys, whats) {
      const asked = keys.flatMap((key) => whats.map((what) => ({ key, what })))
      const keyCounts: KeyCount[] = []
      for (let start = 0; start < asked.length; start += fieldsAtOnce) {
        const part = asked.slice(start, start + fieldsAtOnce)
        const fields = part.map(({ key, what }) => `count ${key} ${what}`)
        const counts = await answerOf(connection.hmget(hashOf(day), ...fields))
        part.forEach((each, i) => {
          const count = Number(counts[i] ?? 0)
          if (count > 0) keyCounts.push({ ...each, count })
        })
      }
      return keyCounts
    },
  }
}

type Numbers = Map<string, number>

/** Makes the function that reads a day's counts and times of the last ones, by key and thing. */
function dayReader({ connection, timeoutMs }: RedisOptions) {
  const read = keyedScript({
    connection,
    timeoutMs: Math.max(timeoutMs, readTimeoutMs),
    file: 'tallies-read.lua',
  })
  return async (hash: string, key?: string): Promise<{ counts: Numbers; lasts: Numbers }> => {
    const counts: Numbers = new Map()
    const lasts: Numbers = new Map()
    // Ids of keys have no characters that are special in a pattern.
    const match = key === undefined ? '*' : `* ${key} *`
    for await (const fields of fieldsOf((cursor) => read(hash, cursor, match, fieldsAtOnce))) {
      for (const [field, value] of fields) {
        if (field.startsWith('count ')) counts.set(field.slice('count '.length), Number(value))
        else if (field.startsWith('last ')) lasts.set(field.slice('last '.length), Number(value))
      }
    }
    return { counts, lasts }
  }
}

/** A tally as the arguments of a script. */
function tallyArgs({ key, what, count, lastMs }: Tally): (string | number)[] {
  return [`${key} ${what}`, count, lastMs]
}

/** The name of the hash of a day. */
function talliesName(prefix: string, day: number): string {
  return `${prefix}{tallies:${day}}`
}
