import type { Database } from '../../../../shared/sqlite.ts'
import { countIn } from '../../counts/refusal-chunk.ts'
import {
  keptRefusals,
  storedMs,
  type RefusalChunk,
  type RefusalIndex,
  type RefusalStore,
} from '../../counts/refusal-store.ts'
import { answerOf } from './answer.ts'

/** Refused and failed answers in a SQLite file: the latest of all processes that have counted in it. */
export function embeddedRefusals(database: Database): RefusalStore {
  const insert = database.prepare(
    `INSERT OR REPLACE INTO recentRefusals VALUES (@by, @place, @lastMs, @count, @hashes, @answers)`,
  )
  const forget = database.prepare(
    `DELETE FROM recentRefusals WHERE lastMs <= ? OR rowid IN
       (SELECT id FROM (SELECT rowid AS id, sum(count) OVER
          (ORDER BY lastMs DESC, rowid DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS later
        FROM recentRefusals) WHERE later >= ${keptRefusals})`,
  )
  const indexes = database.prepare<[number], RefusalIndex>(
    'SELECT by, place, lastMs, hashes FROM recentRefusals WHERE lastMs > ?',
  )
  const answers = database
    .prepare<[string, number], Buffer>(
      'SELECT answers FROM recentRefusals WHERE by = ? AND place = ?',
    )
    .pluck()
  const put = database.transaction((chunk: RefusalChunk) => {
    insert.run({ ...chunk, count: countIn(chunk) })
    forget.run(chunk.lastMs - storedMs)
  })

  return {
    put: (chunk) => Promise.resolve(answerOf(() => void put.immediate(chunk))),
    indexes: (afterMs) => Promise.resolve(answerOf(() => indexes.all(afterMs))),
    answers: ({ by, place }) => Promise.resolve(answerOf(() => answers.get(by, place))),
  }
}
