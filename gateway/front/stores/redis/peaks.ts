import { breathe } from '../../../../shared/breathe.ts'
import type { PeakStore, QuotaDay, QuotaPeaks } from '../../counts/peak-store.ts'
import { rememberedDays } from '../../counts/tally-store.ts'
import type { CopiedCounts } from '../copy-days.ts'
import { countSpace } from './count-space.ts'
import { fieldsAtOnce, fieldsOf, readTimeoutMs } from './scan.ts'
import { keyedScript, type RedisOptions } from './script.ts'

/** The number of hashes. A Cluster spreads them, and a call of a script is short for each. */
const groups = 256

/** How long a group is kept after its last change. */
const keepSeconds = (rememberedDays + 1) * 86_400

/** Groups that are asked for at once: their answers may come in one turn of the loop, some 1.5 ms each. */
const groupsAtOnce = 2

/**
 * Peaks in Redis: quotas in groups, a hash each, and all days of a quota in one text, because a name for each day would
 * take more memory than its numbers: 90 days of 100,000 quotas take 83 MB.
 */
export function redisPeaks(options: RedisOptions): PeakStore & CopiedCounts<QuotaDay> {
  const { connection, prefix, timeoutMs } = options
  const read = keyedScript({
    connection,
    timeoutMs: Math.max(timeoutMs, readTimeoutMs),
    file: 'peaks-read.lua',
  })
  const hashOf = (group: number): string => hashOfGroup(prefix, group)

  return {
    ...countSpace<QuotaDay>(options, {
      file: 'peaks-add.lua',
      hashOf: ({ quota }) => peakHash(prefix, quota),
      keepSeconds: () => keepSeconds,
      argsOf: (peaks) => [rememberedDays, ...peaks.flatMap(numbersOf)],
    }),

    async *list(fromDay, toDay) {
      const ask = (first: number): Promise<QuotaPeaks[][]> => {
        const some = Array.from({ length: groupsAtOnce }, (_, i) => first + i)
        const asked = Promise.all(some.map((group) => quotasIn(group, fromDay, toDay)))
        // If the reader stops before it, nobody takes its error.
        asked.catch(() => undefined)
        return asked
      }
      let next = ask(0)
      for (let first = 0; first < groups; first += groupsAtOnce) {
        const found = await next
        // Redis answers for the next ones while these are read.
        if (first + groupsAtOnce < groups) next = ask(first + groupsAtOnce)
        for (const quotas of found) {
          if (quotas.length > 0) yield quotas
        }
      }
    },
  }

  async function quotasIn(group: number, fromDay: number, toDay: number): Promise<QuotaPeaks[]> {
    // A scan may give a quota twice, while its hash grows.
    const found = new Map<string, QuotaPeaks>()
    const readFrom = (cursor: string) => read(hashOf(group), fromDay, cursor, fieldsAtOnce)
    for await (const fields of fieldsOf(readFrom)) {
      for (const [quota, value] of fields) {
        const numbers = numbersIn(value, fromDay, toDay)
        if (numbers.length > 0) found.set(quota, { quota, numbers })
      }
      await breathe()
    }
    return [...found.values()]
  }
}

function numbersOf({ quota, day, minute, used, refusedByMinute, refusedByDay }: QuotaDay) {
  return [quota, day, minute, used, refusedByMinute, refusedByDay]
}

/** The characters between days, and between the numbers of a day. */
const [semicolon, space, zero] = [59, 32, 48]

/**
 * The numbers of a stored text, which peaks-add.lua describes. Read digit by digit: splitting takes 30 times as long, 3 s
 * for two weeks of 100,000 quotas.
 */
function numbersIn(text: string, fromDay: number, toDay: number): number[] {
  const found: number[] = []
  const end = text.indexOf(';')
  let day = Number(text.slice(0, end))
  let [count, number, minute, used, byMinute] = [0, 0, 0, 0, 0]
  for (let i = end + 1; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : semicolon
    if (code !== semicolon && code !== space) {
      number = number * 10 + code - zero
      continue
    }
    if (code === space) {
      if (count === 0) minute = number
      else if (count === 1) used = number
      else byMinute = number
      count++
    } else {
      const isAsked = day >= fromDay && day <= toDay
      // A day that was refused has two more numbers.
      if (isAsked && count === 1) found.push(day, minute, number, 0, 0)
      else if (isAsked && count > 1) found.push(day, minute, used, byMinute, number)
      count = 0
      day--
    }
    number = 0
  }
  return found
}

/** The name of the hash that a quota is in. */
function peakHash(prefix: string, quota: string): string {
  return hashOfGroup(prefix, groupOf(quota))
}

function hashOfGroup(prefix: string, group: number): string {
  return `${prefix}{peaks:${group}}`
}

/** The group of a quota, by FNV-1a: the same for all gateways. */
function groupOf(quota: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < quota.length; i++) {
    hash = Math.imul(hash ^ quota.charCodeAt(i), 0x01000193)
  }
  return (hash >>> 0) % groups
}
