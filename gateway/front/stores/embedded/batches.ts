import { breathe } from '../../../../shared/breathe.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import type { Batch } from '../../counts/batch.ts'
import { answerOf } from './answer.ts'

/** Lines that are written in one turn of the loop. */
const linesAtOnce = 250

/** The number of remembered batches. Each process adds one at a time, so it can be small. */
const rememberedBatches = 1_000

/** Makes the function that adds the lines of batches to a file, some at a time, each once. */
export function addsOnce<Line>(
  database: Database,
  space: string,
  addLines: (lines: readonly Line[]) => void,
): (batch: Batch<Line>) => Promise<void> {
  const note = database.prepare('INSERT OR IGNORE INTO batches (id) VALUES (?)')
  const forget = database.prepare('DELETE FROM batches WHERE seq <= ?')
  const addSome = database.transaction((id: string, lines: readonly Line[]) => {
    const { changes, lastInsertRowid } = note.run(id)
    if (changes === 0) return
    forget.run(Number(lastInsertRowid) - rememberedBatches)
    addLines(lines)
  })
  return async ({ by, number, lines }) => {
    for (let start = 0; start < lines.length; start += linesAtOnce) {
      if (start > 0) await breathe()
      const some = lines.slice(start, start + linesAtOnce)
      answerOf(() => addSome.immediate(`${space} ${by} ${number} ${start}`, some))
    }
  }
}
