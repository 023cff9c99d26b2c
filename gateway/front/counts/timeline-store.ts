import { minuteMs } from '../../../shared/windows.ts'
import type { Counts, Space } from '../shelves/counts.ts'
import type { CountStore } from './waiting.ts'

/** How often a key was refused for one reason in one minute. */
export type RefusedMinute = Readonly<{
  /** Minutes since 1970. */
  minute: number
  code: string
  reason: string
  count: number
  /** The limit and the points used, at the latest of them; 0 where no window was the reason. */
  limit: number
  used: number
}>

/** The same, with the key that was refused. */
export type RefusedKey = RefusedMinute & Readonly<{ key: string }>

/** The number of minutes that are kept. */
export const keptMinutes = 7 * 24 * 60

/** The most lines of a key that are told; the oldest are left out. */
export const mostLines = 2_000

/** The minutes in which keys were refused: counts of one minute, code and reason are summed up. */
export interface TimelineStore extends CountStore<RefusedKey> {
  /**
   * The minutes of a key from the first to the last, both included, the oldest first and in a minute the most refusals; the
   * latest `mostLines`, and none older than `keptMinutes` before the last.
   */
  list(key: string, fromMinute: number, toMinute: number): Promise<readonly RefusedMinute[]>
}

/** A line has a code and a reason as its part, with a space between them. */
export const timelineSpace: Space = {
  ...{ name: 'timeline', unitMs: minuteMs, kept: keptMinutes, mostOfKey: mostLines },
  ...{ merge: ['sum', 'latest', 'max'], readBy: 'key' },
}

/** Timelines on a shelf of counts. */
export function timelineOn(counts: Counts): TimelineStore {
  return {
    add: ({ by, number, lines }) =>
      counts.add(timelineSpace, {
        ...{ by, number },
        lines: lines.map(({ key, minute, code, reason, count, limit, used }) => {
          return { key, part: `${code} ${reason}`, at: minute, numbers: [count, limit, used] }
        }),
      }),

    async list(key, fromMinute, toMinute) {
      const from = Math.max(fromMinute, toMinute - keptMinutes)
      const { parts, ats, numbers } = await counts.of(timelineSpace, [key], from, toMinute)
      return parts
        .map((part, i) => {
          const [code = '', reason = ''] = part.split(' ')
          const [count = 0, limit = 0, used = 0] = numbers.slice(3 * i, 3 * i + 3)
          return { minute: ats[i] ?? 0, code, reason, count, limit, used }
        })
        .sort((a, b) => a.minute - b.minute || b.count - a.count)
        .slice(-mostLines)
    },
  }
}
