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
}

export const tallySpace: Space = {
  ...{ name: 'tallies', unitMs: dayMs, kept: rememberedDays },
  ...{ merge: ['sum', 'max'], readBy: 'times' },
}

/** Tallies on a shelf of counts. */
export function talliesOn(counts: Counts): TallyStore {
  return {
    add: ({ by, number, lines }) =>
      counts.add(tallySpace, { by, number, lines: lines.map(lineOf) }),

    async *list(fromDay, toDay, keys) {
      if (keys) return yield* talliesIn(await counts.of(tallySpace, keys, fromDay, toDay))
      for await (const lines of counts.list(tallySpace, fromDay, toDay)) yield* talliesIn(lines)
    },
  }
}

function lineOf({ day, key, what, count, lastMs }: Tally): CountLine {
  return { key, part: what, at: day, numbers: [count, lastMs] }
}

function talliesIn({ keys, parts, ats, numbers }: Lines): Tally[] {
  return keys.map((key, i) => {
    const [count = 0, lastMs = 0] = [numbers[2 * i], numbers[2 * i + 1]]
    return { day: ats[i] ?? 0, key, what: parts[i] ?? '', count, lastMs }
  })
}
