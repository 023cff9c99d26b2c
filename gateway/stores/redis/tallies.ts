import { breathe } from '../../../shared/breathe.ts'
import { rememberedDays, type Tally, type TallyStore } from '../../records/tally-store.ts'
import type { Breaker } from '../breaker.ts'
import type { Connection } from './connect.ts'
import { keyedScript } from './script.ts'

/** The most tallies per script call, so that a call never delays decisions for long. */
const batchSize = 200

const keepSeconds = (rememberedDays + 1) * 86_400

/** How long the id of a batch is remembered, so that the batch isn't added twice. */
const batchSeconds = 3_600

/** Tallies that are given in one turn of the loop. */
const givenAtOnce = 1_000

/** Fields that are read per call: Redis decides nothing for some 0.4 ms meanwhile. */
const fieldsAtOnce = 400

/** Days of one key that are asked for together. */
const daysAtOnce = 10

/** The time limit of a call for a report. It is long, because only an operator waits. */
const readTimeoutMs = 1_000

export type RedisTallyOptions = Readonly<{
  connection: Connection
  prefix: string
  timeoutMs: number
  breaker?: Breaker | undefined
}>

/** Tallies in Redis, a hash a day. */
export function redisTallies({
  connection,
  prefix,
  timeoutMs,
  breaker,
}: RedisTallyOptions): TallyStore {
  const addSome = keyedScript({ connection, timeoutMs, breaker, file: 'tallies-add.lua' })
  const read = keyedScript({
    connection,
    timeoutMs: Math.max(timeoutMs, readTimeoutMs),
    file: 'tallies-read.lua',
  })
  const readSome = keyedScript({
    connection,
    timeoutMs: Math.max(timeoutMs, readTimeoutMs),
    file: 'tallies-some.lua',
  })
  const hashOf = (day: number): string => `${prefix}{tallies:${day}}`

  return {
    async add(batch, tallies) {
      for (const day of new Set(tallies.map((tally) => tally.day))) {
        const ofDay = tallies.filter((tally) => tally.day === day)
        for (let start = 0; start < ofDay.length; start += batchSize) {
          const args = ofDay
            .slice(start, start + batchSize)
            .flatMap(({ key, what, count, lastMs }) => [`${key} ${what}`, count, lastMs])
          const names = [hashOf(day), `${hashOf(day)}:${batch}:${start}`]
          await addSome(names, keepSeconds, batchSeconds, ...args)
        }
      }
    },

    async *list(fromDay, toDay, key, whats) {
      if (key !== undefined && whats) {
        yield* someOf(fromDay, toDay, key, whats)
        return
      }
      for (let day = fromDay; day <= toDay; day++) {
        const { counts, lasts } = await ofDay(day, key)
        let given = 0
        for (const [name, count] of counts) {
          const end = name.indexOf(' ')
          const [of, what] = [name.slice(0, end), name.slice(end + 1)]
          if (key !== undefined && of !== key) continue
          yield { day, key: of, what, count, lastMs: lasts.get(name) ?? 0 }
          if (++given % givenAtOnce === 0) await breathe()
        }
      }
    },
  }

  /** Some tallies of one key, by their names: a look at all fields of a day would take longer with each other key. */
  async function* someOf(
    fromDay: number,
    toDay: number,
    key: string,
    whats: readonly string[],
  ): AsyncGenerator<Tally> {
    const names = whats.map((what) => `${key} ${what}`)
    const fields = [...names.map((name) => `count ${name}`), ...names.map((name) => `last ${name}`)]
    for (let first = fromDay; first <= toDay; first += daysAtOnce) {
      const last = Math.min(toDay, first + daysAtOnce - 1)
      const days = Array.from({ length: last - first + 1 }, (_, i) => first + i)
      const all = await Promise.all(days.map((day) => readSome(hashOf(day), ...fields)))
      for (const [i, day] of days.entries()) {
        const values = all[i] as readonly (string | null)[]
        for (const [place, what] of whats.entries()) {
          const count = values[place]
          const lastMs = Number(values[whats.length + place] ?? 0)
          if (count != null) yield { day, key, what, count: Number(count), lastMs }
        }
      }
    }
  }

  type Numbers = Map<string, number>

  async function ofDay(day: number, key?: string): Promise<{ counts: Numbers; lasts: Numbers }> {
    const counts: Numbers = new Map()
    const lasts: Numbers = new Map()
    // Ids of keys have no characters that are special in a pattern.
    const match = key === undefined ? '*' : `* ${key} *`
    let cursor = '0'
    do {
      const [next = '0', text = ''] = (await read(
        hashOf(day),
        cursor,
        match,
        fieldsAtOnce,
      )) as string[]
      const flat = text === '' ? [] : text.split('\0')
      for (let i = 0; i + 1 < flat.length; i += 2) {
        const [field = '', value = ''] = [flat[i], flat[i + 1]]
        if (field.startsWith('count ')) counts.set(field.slice('count '.length), Number(value))
        else lasts.set(field.slice('last '.length), Number(value))
      }
      cursor = next
    } while (cursor !== '0')
    return { counts, lasts }
  }
}
