import { breathe } from '../../../shared/breathe.ts'
import { rememberedDays, type KeyCount, type TallyStore } from '../../records/tally-store.ts'
import type { Breaker } from '../breaker.ts'
import { answerOf } from './answer.ts'
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

    async *list(fromDay, toDay, key) {
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

    async some(day, keys, whats) {
      const asked = keys.flatMap((key) => whats.map((what) => ({ key, what })))
      const found: KeyCount[] = []
      for (let start = 0; start < asked.length; start += fieldsAtOnce) {
        const part = asked.slice(start, start + fieldsAtOnce)
        const fields = part.map(({ key, what }) => `count ${key} ${what}`)
        const counts = await answerOf(connection.hmget(hashOf(day), ...fields))
        part.forEach((each, i) => {
          const count = Number(counts[i] ?? 0)
          if (count > 0) found.push({ ...each, count })
        })
      }
      return found
    },
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
