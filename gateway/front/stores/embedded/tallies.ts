import { breathe } from '../../../../shared/breathe.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { rememberedDays, type Tally, type TallyStore } from '../../counts/tally-store.ts'
import { answerOf } from './answer.ts'
import { countSpace } from './count-space.ts'
import { oldRows } from './old-rows.ts'

const pageSize = 1_000

/** Tallies in a SQLite file, which several processes may have open. */
export function embeddedTallies(database: Database): TallyStore {
  const key = 'day, key, what'
  const forgetOld = oldRows(database, { table: 'tallies', key, isOld: 'day <= ?' })
  const page = database.prepare<[number, string, string, number], Tally>(
    `SELECT * FROM tallies WHERE (day, key, what) > (?, ?, ?) AND day <= ?
     ORDER BY day, key, what LIMIT ${pageSize}`,
  )
  const ofKey = database.prepare<[number, string], Tally>(
    'SELECT * FROM tallies WHERE day = ? AND key = ?',
  )
  const counts = countSpace<Tally>(database, {
    name: 'tallies',
    writing: (merge) => {
      const merged = merge({ count: 'sum', lastMs: 'max' })
      const insert = database.prepare(`INSERT INTO tallies VALUES (?, ?, ?, ?, ?) ${merged}`)
      return ({ day, key, what, count, lastMs }) => void insert.run(day, key, what, count, lastMs)
    },
    forget: (tallies) => forgetOld(Math.max(...tallies.map(({ day }) => day)) - rememberedDays),
  })

  return {
    ...counts,

    async *list(fromDay, toDay, key) {
      if (key !== undefined) {
        for (let day = fromDay; day <= toDay; day++) yield* answerOf(() => ofKey.all(day, key))
        return
      }
      let rows = answerOf(() => page.all(fromDay, '', '', toDay))
      for (let last = rows.at(-1); last; last = rows.at(-1)) {
        yield* rows
        // The gateway serves requests between two pages.
        await breathe()
        const { day, key, what } = last
        rows = answerOf(() => page.all(day, key, what, toDay))
      }
    },

    some(day, keys, whats) {
      const wanted = new Set(whats)
      const tallies = keys.flatMap((key) => answerOf(() => ofKey.all(day, key)))
      return Promise.resolve(tallies.filter(({ what, count }) => wanted.has(what) && count > 0))
    },
  }
}
