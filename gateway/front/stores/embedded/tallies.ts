import { breathe } from '../../../../shared/breathe.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { rememberedDays, type Tally, type TallyStore } from '../../counts/tally-store.ts'
import { answerOf } from './answer.ts'
import { addsOnce } from './batches.ts'
import { adding, raising, type Merging } from './merging.ts'

const pageSize = 1_000

/** Tallies in a SQLite file, which several processes may have open. */
export function embeddedTallies(database: Database): TallyStore {
  const { add: addRow } = tallyRows(database)
  const forget = database.prepare('DELETE FROM tallies WHERE day <= ?')
  const page = database.prepare<[number, string, string, number], Tally>(
    `SELECT * FROM tallies WHERE (day, key, what) > (?, ?, ?) AND day <= ?
     ORDER BY day, key, what LIMIT ${pageSize}`,
  )
  const ofKey = database.prepare<[number, string], Tally>(
    'SELECT * FROM tallies WHERE day = ? AND key = ?',
  )
  const addLines = (tallies: readonly Tally[]): void => {
    for (const tally of tallies) addRow(tally)
    forget.run(Math.max(...tallies.map(({ day }) => day)) - rememberedDays)
  }

  return {
    add: addsOnce(database, 'tallies', addLines),

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

const merging: Merging = { count: 'sum', lastMs: 'max' }

/** Writes tallies: adds those of a gateway, or raises what is stored to those of another store. */
export function tallyRows(database: Database) {
  const put = (end: string): ((tally: Tally) => void) => {
    const insert = `INSERT INTO tallies VALUES (@day, @key, @what, @count, @lastMs) ${end}`
    const statement = database.prepare(insert)
    return (tally) => void statement.run(tally)
  }
  return { add: put(adding(merging)), raise: put(raising(merging)) }
}
