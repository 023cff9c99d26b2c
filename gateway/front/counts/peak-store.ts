import {
  dayMs,
  optionalWindows,
  requiredWindows,
  windows,
  type Window,
  type WindowName,
} from '../../../shared/windows.ts'
import type { CountLine, Counts, Lines, Space } from '../shelves/counts.ts'
import type { CountStore } from './waiting.ts'
import { rememberedDays } from './tally-store.ts'

export type ByWindow = Readonly<Partial<Record<WindowName, number>>>

/** The highest use of a quota on one day, as its decisions told it, and how often a limit refused it. */
export type DayPeak = Readonly<{
  /** Days since 1970, in UTC. */
  day: number
  /**
   * The most points used in one of each window, without those that were given back by then. Required windows are recorded
   * always, others where they are limited.
   */
  most: ByWindow
  /** The refusals by each limit; none for 0. */
  refused: ByWindow
}>

/** The same, with the name of the quota. */
export type QuotaDay = DayPeak & Readonly<{ quota: string }>

/**
 * The peaks of one quota, by day, in any order: for each day its number, and then two numbers for each window, the most
 * points used and the refusals. Two weeks of 100,000 quotas as objects would cost a second of collections.
 */
export type QuotaPeaks = Readonly<{ quota: string; numbers: readonly number[] }>

/** The numbers of a day in `QuotaPeaks`. */
export const numbersPerDay = 1 + 2 * windows.length

/** Stands for the most points of a window that wasn't recorded. */
export const unrecorded = -1

const places = new Map(windows.map((window, i) => [window, 1 + 2 * i]))

/** The place of the most points of a window among the numbers of a day; its refusals come next. */
export function placeOf(window: Window): number {
  return places.get(window) ?? 0
}

/** The numbers of a day of which nothing is recorded yet. */
const blank = [0, ...windows.flatMap(() => [unrecorded, 0])]

/** The days of a quota, each as an object. */
export function daysOf({ quota, numbers }: QuotaPeaks): QuotaDay[] {
  return Array.from({ length: numbers.length / numbersPerDay }, (_, i) => {
    const [day = 0, ...ofDay] = numbers.slice(i * numbersPerDay, (i + 1) * numbersPerDay)
    const most: Partial<Record<WindowName, number>> = {}
    const refused: Partial<Record<WindowName, number>> = {}
    windows.forEach(({ name }, place) => {
      const [points = unrecorded, refusals = 0] = ofDay.slice(2 * place)
      if (points !== unrecorded) most[name] = points
      if (refusals > 0) refused[name] = refusals
    })
    return { quota, day, most, refused }
  })
}

/**
 * The peaks of quotas by day, for `rememberedDays`. They are merged by their maximum, refusals are summed.
 */
export interface PeakStore extends CountStore<QuotaDay> {
  /** The peaks from the first day to the last, both included, some quotas at a time. A quota comes once. */
  list(fromDay: number, toDay: number): AsyncIterable<readonly QuotaPeaks[]>
}

/**
 * A line has the required windows in the part without a name, and each optional one in a part of its own where it was limited:
 * the most points of each, and then the refusals by each.
 */
export const peakSpace: Space = {
  ...{ name: 'peaks', unitMs: dayMs, kept: rememberedDays, readBy: 'whole' },
  merge: [
    ...requiredWindows.map(() => 'max' as const),
    ...requiredWindows.map(() => 'sum' as const),
  ],
}

/** The length of the numbers of a line, and the place of the refusals among them. */
const [lineLength, refusedAt] = [peakSpace.merge.length, requiredWindows.length]

/** The parts of optional windows are letters, because each day has them. */
const partOf = ({ name }: Window): string => name.charAt(0).toUpperCase()
const placesOfPart = new Map<string, readonly number[]>([
  ['', requiredWindows.map(placeOf)],
  ...optionalWindows.map((each) => [partOf(each), [placeOf(each)]] as const),
])

/** Peaks on a shelf of counts. */
export function peaksOn(counts: Counts): PeakStore {
  return {
    add: ({ by, number, lines }) =>
      counts.add(peakSpace, { by, number, lines: lines.flatMap(linesOf) }),

    async *list(fromDay, toDay) {
      for await (const lines of counts.list(peakSpace, fromDay, toDay)) {
        const quotas = quotasIn(lines)
        if (quotas.length > 0) yield quotas
      }
    },
  }
}

function linesOf({ quota: key, day: at, most, refused }: QuotaDay): CountLine[] {
  const lines = [{ key, part: '', at, numbers: numbersOf(requiredWindows, most, refused) }]
  for (const window of optionalWindows) {
    if (most[window.name] === undefined) continue
    lines.push({ key, part: partOf(window), at, numbers: numbersOf([window], most, refused) })
  }
  return lines
}

function numbersOf(some: readonly Window[], most: ByWindow, refused: ByWindow): number[] {
  const numbers = peakSpace.merge.map(() => 0)
  some.forEach(({ name }, i) => {
    numbers[i] = most[name] ?? 0
    numbers[i + refusedAt] = refused[name] ?? 0
  })
  return numbers
}

/** The quotas of lines in which those of a quota stand together, and those of one of its days. */
function quotasIn({ keys, parts, ats, numbers: stored }: Lines): QuotaPeaks[] {
  const quotas: QuotaPeaks[] = []
  let [quota, begin]: [string | undefined, number] = [undefined, 0]
  let numbers: number[] = []
  for (let i = 0; i < keys.length; i++) {
    const day = ats[i] ?? 0
    if (keys[i] !== quota) {
      quota = keys[i] ?? ''
      numbers = []
      quotas.push({ quota, numbers })
    }
    const part = parts[i] ?? ''
    if (part === '') {
      begin = numbers.length
      for (const blankNumber of blank) numbers.push(blankNumber)
      numbers[begin] = day
    } else if (numbers[begin] !== day) continue
    const places = placesOfPart.get(part) ?? []
    for (let n = 0, from = i * lineLength; n < places.length; n++, from++) {
      const place = begin + (places[n] ?? 0)
      numbers[place] = stored[from] ?? 0
      numbers[place + 1] = stored[from + refusedAt] ?? 0
    }
  }
  return quotas.filter(({ numbers }) => numbers.length > 0)
}
