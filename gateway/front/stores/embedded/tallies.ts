import { breathe } from '../../../../shared/breathe.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { rememberedDays, type Tally, type TallyStore } from '../../counts/tally-store.ts'
import { answerOf } from './answer.ts'

const pageSize = 1_000

/** The number of remembered batch ids. Each process adds one batch at a time, so it can be small. */
const rememberedBatches = 1_000

/** Tallies in a SQLite file, which several processes may have open. */
export function embeddedTallies(database: Database): TallyStore {
  const upsert = database.prepare(
    `INSERT INTO tallies VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count, lastMs = max(lastMs, excluded.lastMs)`,
  )
  const forget = database.prepare('DELETE FROM tallies WHERE day <= ?')
  const page = database.prepare<[number, string, string, number], Tally>(
    `SELECT * FROM tallies WHERE (day, key, what) > (?, ?, ?) AND day <= ?
     ORDER BY day, key, what LIMIT ${pageSize}`,
  )
  const ofKey = database.prepare<[number, string], Tally>(
    'SELECT * FROM tallies WHERE day = ? AND key = ?',
  )
  const note = database.prepare('INSERT OR IGNORE INTO batches (id) VALUES (?)')
  const forgetBatches = database.prepare('DELETE FROM batches WHERE seq <= ?')
  const addAll = database.transaction((batch: string, tallies: readonly Tally[]) => {
    const { changes, lastInsertRowid } = note.run(batch)
    if (changes === 0) return
    forgetBatches.run(Number(lastInsertRowid) - rememberedBatches)
    for (const { day, key, what, count, lastMs } of tallies)
      upsert.run(day, key, what, count, lastMs)
    forget.run(Math.max(...tallies.map(({ day }) => day)) - rememberedDays)
  })

  return {
    async add(batch, tallies) {
      if (tallies.length > 0) answerOf(() => addAll.immediate(batch, tallies))
      return Promise.resolve()
    },

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
