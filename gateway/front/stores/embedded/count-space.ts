import { breathe } from '../../../../shared/breathe.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import type { CountStore } from '../../counts/batch.ts'
import { answerOf } from './answer.ts'

/** Lines that are written in one turn of the loop. */
const linesAtOnce = 250

/** The number of remembered batches. Each process adds one at a time, so it can be small. */
const rememberedBatches = 1_000

/** How the numbers of a line are merged with those of the stored one, by column. */
export type Merging = Readonly<Record<string, 'sum' | 'max' | 'latest'>>

/** The SQL at the end of an INSERT that merges a line so. */
export type Merge = (merging: Merging) => string

/** A space of counts in a file. */
export type CountSpace<Line> = Readonly<{
  name: string
  /** Makes the function that writes a line. */
  writing: (merge: Merge) => (line: Line) => void
  /** Deletes what is too old or too much, after lines were added. */
  forget: (lines: readonly Line[]) => void
}>

/** Adds the lines of batches to a file, some at a time, each once. */
export function countSpace<Line>(
  database: Database,
  { name, writing, forget }: CountSpace<Line>,
): CountStore<Line> {
  const merge = (merging: Merging): string => {
    const all = Object.entries(merging).map(([column, how]) => {
      if (how === 'max') return `"${column}" = max("${column}", excluded."${column}")`
      const before = how === 'sum' ? `"${column}" + ` : ''
      return `"${column}" = ${before}excluded."${column}"`
    })
    return `ON CONFLICT DO UPDATE SET ${all.join(', ')}`
  }
  const addLine = writing(merge)
  const note = database.prepare('INSERT OR IGNORE INTO batches (id) VALUES (?)')
  const forgetBatches = database.prepare('DELETE FROM batches WHERE seq <= ?')
  const addSome = database.transaction((id: string, lines: readonly Line[]) => {
    const { changes, lastInsertRowid } = note.run(id)
    if (changes === 0) return
    forgetBatches.run(Number(lastInsertRowid) - rememberedBatches)
    lines.forEach(addLine)
    forget(lines)
  })
  return {
    async add({ by, number, lines }) {
      for (let start = 0; start < lines.length; start += linesAtOnce) {
        if (start > 0) await breathe()
        const some = lines.slice(start, start + linesAtOnce)
        answerOf(() => addSome.immediate(`${name} ${by} ${number} ${start}`, some))
      }
    },
  }
}
