import {
  keptMinutes,
  mostLines,
  type RefusedKey,
  type RefusedMinute,
  type TimelineStore,
} from '../../counts/timeline-store.ts'
import { answerOf } from './answer.ts'
import { countSpace } from './count-space.ts'
import type { RedisOptions } from './script.ts'

const hourMinutes = 60

const keepSeconds = (keptMinutes + hourMinutes) * 60

/** Timelines in Redis: a hash a key, and in it a text an hour, because a field for each line takes twice the memory. */
export function redisTimeline(options: RedisOptions): TimelineStore {
  const { connection, prefix } = options
  const hashOf = (key: string): string => `${prefix}{timeline:${key}}`

  return {
    ...countSpace<RefusedKey>(options, {
      file: 'timeline-add.lua',
      hashOf: ({ key }) => hashOf(key),
      keepSeconds,
      argsOf: (refusals) => {
        const latest = Math.max(...refusals.map(({ minute }) => minute))
        const firstHour = Math.floor((latest - keptMinutes) / hourMinutes)
        return [firstHour, mostLines, ...refusals.flatMap(lineOf)]
      },
    }),

    async list(key, fromMinute, toMinute) {
      const first = Math.floor(Math.max(fromMinute, toMinute - keptMinutes) / hourMinutes)
      const last = Math.floor(toMinute / hourMinutes)
      const hours = Array.from({ length: last - first + 1 }, (_, i) => String(first + i))
      const texts = await answerOf(connection.hmget(hashOf(key), ...hours))
      return texts
        .flatMap((text) => linesIn(text ?? ''))
        .filter(({ minute }) => minute >= fromMinute && minute <= toMinute)
        .sort((a, b) => a.minute - b.minute || b.count - a.count)
        .slice(-mostLines)
    },
  }
}

function lineOf({ minute, code, reason, count, limit, used }: RefusedKey): (string | number)[] {
  const hour = Math.floor(minute / hourMinutes)
  return [hour, `${minute} ${code} ${reason}`, count, limit, used]
}

function linesIn(text: string): RefusedMinute[] {
  return text.split(';').flatMap((line) => {
    const [minute = '', code = '', reason = '', ...numbers] = line.split(' ')
    const [count = 0, limit = 0, used = 0] = numbers.map(Number)
    return count > 0 ? [{ minute: Number(minute), code, reason, count, limit, used }] : []
  })
}
