import { breathe } from '../../../../shared/breathe.ts'
import {
  optionalWindows,
  requiredWindows,
  windows,
  type Window,
} from '../../../../shared/windows.ts'
import {
  blankDay,
  numbersPerDay,
  placeOf,
  type PeakStore,
  type QuotaDay,
  type QuotaPeaks,
} from '../../counts/peak-store.ts'
import { rememberedDays } from '../../counts/tally-store.ts'
import { countSpace } from './count-space.ts'
import { fieldsAtOnce, fieldsOf, readTimeoutMs } from './scan.ts'
import { keyedScript, type RedisOptions } from './script.ts'

/** The number of hashes. A Cluster spreads them, and a call of a script is short for each. */
const groups = 256

/** How long a group is kept after its last change. */
const keepSeconds = (rememberedDays + 1) * 86_400

/** Groups that are asked for at once: their answers may come in one turn of the loop, some 1.5 ms each. */
const groupsAtOnce = 2

/** The windows of a field, and the beginning of its name before the quota. */
type Part = Readonly<{ fieldPrefix: string; windows: readonly Window[]; places: readonly number[] }>

/** The parts of a quota: the required windows in one field, and each optional one in a field of its own where it was limited. */
const ofRequired = partOf('', requiredWindows)
const ofOptional = optionalWindows.map((window) => partOf(`${window.name} `, [window]))

/**
 * Peaks in Redis: quotas in groups, a hash each, and all days of a quota in one text, because a name for each day would
 * take more memory than its numbers: 90 days of 100,000 quotas take 83 MB.
 */
export function redisPeaks(options: RedisOptions): PeakStore {
  const { prefix } = options
  const quotasIn = groupReader(options)

  return {
    ...countSpace<QuotaDay>(options, {
      file: 'peaks-add.lua',
      hashOf: ({ quota }) => peakHash(prefix, quota),
      keepSeconds,
      argsOf: (peaks) => [
        rememberedDays,
        ...[ofRequired, ...ofOptional].flatMap((part) =>
          peaks.flatMap((peak) => lineOf(part, peak)),
        ),
      ],
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
        const batch = await next
        // Redis answers for the next ones while these are read.
        if (first + groupsAtOnce < groups) next = ask(first + groupsAtOnce)
        for (const quotas of batch) {
          if (quotas.length > 0) yield quotas
        }
      }
    },
  }
}

/** Reads the quotas of a group. */
type ReadGroup = (group: number, fromDay: number, toDay: number) => Promise<QuotaPeaks[]>

function groupReader({ connection, prefix, timeoutMs }: RedisOptions): ReadGroup {
  const read = keyedScript({
    connection,
    timeoutMs: Math.max(timeoutMs, readTimeoutMs),
    file: 'peaks-read.lua',
  })
  return async (group, fromDay, toDay) => {
    // A scan may give a quota twice, while its hash grows, and an optional window before the others.
    const numbersByQuota = new Map<string, number[]>()
    const optional: (readonly [part: Part, field: string, value: string])[] = []
    const readFrom = (cursor: string) =>
      read(hashOfGroup(prefix, group), fromDay, cursor, fieldsAtOnce)
    for await (const fields of fieldsOf(readFrom)) {
      for (const [field, value] of fields) {
        const part = ofOptional.find(({ fieldPrefix }) => field.startsWith(fieldPrefix))
        if (part) optional.push([part, field, value])
        else numbersByQuota.set(field, requiredIn(value, fromDay, toDay))
      }
      await breathe()
    }
    for (const [part, field, value] of optional) {
      const numbers = numbersByQuota.get(field.slice(part.fieldPrefix.length))
      if (numbers) addOptional(numbers, part, value)
    }
    return [...numbersByQuota].flatMap(([quota, numbers]) =>
      numbers.length > 0 ? [{ quota, numbers }] : [],
    )
  }
}

function partOf(fieldPrefix: string, some: readonly Window[]): Part {
  return { fieldPrefix, windows: some, places: some.map(placeOf) }
}

/** The arguments for a part of a peak; none for a window that wasn't recorded. */
function lineOf({ windows, fieldPrefix }: Part, { quota, day, most, refused }: QuotaDay) {
  const isRecorded = windows.some(({ name, isRequired }) => isRequired || most[name] !== undefined)
  if (!isRecorded) return []
  const numbers = [most, refused].flatMap((by) => windows.map(({ name }) => by[name] ?? 0))
  return [`${fieldPrefix}${quota}`, day, windows.length, ...numbers]
}

/** The characters between days, and between the numbers of a day. */
const [semicolon, space, zero] = [59, 32, 48]

/** Takes the numbers of a day, of which the first `count` count. */
type TakeDay = (day: number, numbers: readonly number[], count: number) => void

/**
 * Reads a stored text, which peaks-add.lua describes, digit by digit: splitting takes 30 times as long, 3 s for two weeks of
 * 100,000 quotas.
 */
function readDays(text: string, take: TakeDay): void {
  const numbers: number[] = windows.flatMap(() => [0, 0])
  const end = text.indexOf(';')
  let day = Number(text.slice(0, end))
  let [count, number] = [0, 0]
  for (let i = end + 1; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : semicolon
    if (code !== semicolon && code !== space) {
      number = number * 10 + code - zero
      continue
    }
    numbers[count++] = number
    number = 0
    if (code === space) continue
    if (count > 1 || text.charCodeAt(i - 1) !== semicolon) take(day, numbers, count)
    count = 0
    day--
  }
}

function requiredIn(text: string, fromDay: number, toDay: number): number[] {
  const days: number[] = []
  readDays(text, (day, numbers, count) => {
    if (day < fromDay || day > toDay) return
    days.push(...blankDay(day))
    setDay(days, days.length - numbersPerDay, ofRequired, numbers, count)
  })
  return days
}

/** Adds an optional window to the days of its quota. */
function addOptional(days: number[], part: Part, text: string): void {
  readDays(text, (day, numbers, count) => {
    for (let at = 0; at < days.length; at += numbersPerDay) {
      if (days[at] === day) setDay(days, at, part, numbers, count)
    }
  })
}

/** A day that was refused has the refusals behind the points. */
function setDay(
  found: number[],
  at: number,
  { places }: Part,
  numbers: readonly number[],
  count: number,
): void {
  for (let i = 0; i < places.length; i++) {
    const place = at + (places[i] ?? 0)
    const refusedAt = places.length + i
    found[place] = numbers[i] ?? 0
    found[place + 1] = refusedAt < count ? (numbers[refusedAt] ?? 0) : 0
  }
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
