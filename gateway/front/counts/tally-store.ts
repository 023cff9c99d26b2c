import { dayMs } from '../../../shared/windows.ts'
import type { CountLine, Counts, Lines, Space } from '../shelves/counts.ts'
import type { CountStore } from './waiting.ts'

/** The number of times that a key has done one thing on one day. */
export type Tally = Readonly<{
  /** Days since 1970, in UTC. */
  day: number
  key: string
  what: string
  count: number
  /** The time of the last one, for calls of deprecated operations; else 0. */
  lastMs: number
}>

/** The number of days that are kept. */
export const rememberedDays = 90

/** Tallies of keys by day, which are summed up. Days older than `rememberedDays` are deleted. */
export interface TallyStore extends CountStore<Tally> {
  /**
   * The sums of all days from the first to the last, both included, in any order; of some keys, or of all. Those of some keys
   * may be asked for every few seconds.
   */
  list(fromDay: number, toDay: number, keys?: readonly string[]): AsyncIterable<Tally>

  /** The same of routes, of all keys. */
  ofRoutes(fromDay: number, toDay: number): AsyncIterable<Tally>
}

/** What the things are called that routes are tallied by. */
export const routePrefix = 'route '

const space = { unitMs: dayMs, kept: rememberedDays, merge: ['sum', 'max'] } as const

export const tallySpace: Space = { ...space, name: 'tallies', readBy: 'times' }

/** Tallies of routes lie apart: there may be hundreds a key, and callers ask for the others. */
export const routeSpace: Space = { ...space, name: 'routes', readBy: 'times' }

/** Tallies on a shelf of counts. */
export function talliesOn(counts: Counts): TallyStore {
  return {
    async add({ by, number, lines }) {
      const ofRoutes = lines.filter(({ what }) => what.startsWith(routePrefix))
      const others = lines.filter(({ what }) => !what.startsWith(routePrefix))
      await counts.add(tallySpace, { by, number, lines: others.map((each) => lineOf(each, '')) })
      await counts.add(routeSpace, {
        ...{ by, number },
        lines: ofRoutes.map((each) => lineOf(each, routePrefix)),
      })
    },

    async *list(fromDay, toDay, keys) {
      if (keys) return yield* talliesIn(await counts.of(tallySpace, keys, fromDay, toDay), '')
      for await (const lines of counts.list(tallySpace, fromDay, toDay)) yield* talliesIn(lines, '')
    },

    async *ofRoutes(fromDay, toDay) {
      for await (const lines of counts.list(routeSpace, fromDay, toDay)) {
        yield* talliesIn(lines, routePrefix)
      }
    },
  }
}

function lineOf({ day, key, what, count, lastMs }: Tally, prefix: string): CountLine {
  return { key, part: what.slice(prefix.length), at: day, numbers: [count, lastMs] }
}

function talliesIn({ keys, parts, ats, numbers }: Lines, prefix: string): Tally[] {
  return keys.map((key, i) => {
    const [count = 0, lastMs = 0] = [numbers[2 * i], numbers[2 * i + 1]]
    return { day: ats[i] ?? 0, key, what: prefix + (parts[i] ?? ''), count, lastMs }
  })
}
