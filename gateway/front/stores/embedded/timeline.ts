import type { Database } from '../../../../shared/sqlite.ts'
import {
  keptMinutes,
  mostLines,
  type RefusedKey,
  type RefusedMinute,
  type TimelineStore,
} from '../../counts/timeline-store.ts'
import { answerOf } from './answer.ts'
import { countSpace } from './count-space.ts'
import { oldRows } from './old-rows.ts'

/** Lines that are too many are looked for in one minute of this many. */
const trimEvery = 30

/** Timelines in a SQLite file, which several processes may have open. */
export function embeddedTimeline(database: Database): TimelineStore {
  const key = 'key, minute, code, reason'
  const forgetOld = oldRows(database, { table: 'refusals', key, isOld: 'minute < ?' })
  const trim = database.prepare(
    `DELETE FROM refusals WHERE key = @key AND minute <
       (SELECT minute FROM refusals WHERE key = @key ORDER BY minute DESC LIMIT 1 OFFSET ${mostLines - 1})`,
  )
  const ofKey = database.prepare<[string, number, number], RefusedMinute>(
    `SELECT minute, code, reason, count, "limit", used FROM refusals
     WHERE key = ? AND minute BETWEEN ? AND ? ORDER BY minute DESC, count LIMIT ${mostLines}`,
  )
  const counts = countSpace<RefusedKey>(database, {
    name: 'refusals',
    writing: (merge) => {
      const merged = merge({ count: 'sum', limit: 'latest', used: 'max' })
      const insert = database.prepare(
        `INSERT INTO refusals VALUES (@key, @minute, @code, @reason, @count, @limit, @used) ${merged}`,
      )
      return (refusal) => void insert.run(refusal)
    },
    forget: (refusals) => {
      for (const refusal of refusals) if (refusal.minute % trimEvery === 0) trim.run(refusal)
      forgetOld(Math.max(...refusals.map(({ minute }) => minute)) - keptMinutes)
    },
  })

  return {
    ...counts,

    async list(key, fromMinute, toMinute) {
      return Promise.resolve(
        answerOf(() =>
          ofKey.all(key, Math.max(fromMinute, toMinute - keptMinutes), toMinute),
        ).reverse(),
      )
    },
  }
}
