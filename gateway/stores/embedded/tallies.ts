import { breathe } from '../../../shared/breathe.ts'
import type { Database } from '../../../shared/sqlite.ts'
import { rememberedDays, type Tally, type TallyStore } from '../../records/tally-store.ts'

const pageSize = 1_000

/** How many batches are known, so that none is added twice: each process hands in one at a time. */
const knownBatches = 1_000

/** Tallies in a SQLite file, which several processes may have open. */
export function embeddedTallies(database: Database): TallyStore {
  const upsert = database.prepare(
    `INSERT INTO tallies VALUES (@day, @key, @what, @count, @lastMs)
     ON CONFLICT DO UPDATE SET count = count + @count, lastMs = max(lastMs, @lastMs)`,
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
    forgetBatches.run(Number(lastInsertRowid) - knownBatches)
    for (const tally of tallies) upsert.run(tally)
    forget.run(Math.max(...tallies.map(({ day }) => day)) - rememberedDays)
  })

  return {
    async add(batch, tallies) {
      if (tallies.length > 0) addAll.immediate(batch, tallies)
      return Promise.resolve()
    },

    async *list(fromDay, toDay, key) {
      if (key !== undefined) {
        for (let day = fromDay; day <= toDay; day++) yield* ofKey.all(day, key)
        return
      }
      let rows = page.all(fromDay, '', '', toDay)
      for (let last = rows.at(-1); last; last = rows.at(-1)) {
        yield* rows
        // Requests are served between two pages.
        await breathe()
        rows = page.all(last.day, last.key, last.what, toDay)
      }
    },
  }
}
