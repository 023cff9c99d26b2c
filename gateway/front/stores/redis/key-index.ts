import { idIn } from '../../keys/line.ts'
import {
  lineOfRecord,
  oneAtATime,
  type FoundLine,
  type KeyIndex,
  type Walked,
} from '../key-index.ts'
import type { Script } from './script.ts'

/** Lines per call of a walk: it takes Redis half a millisecond. */
const linesAtOnce = 1_000

/** The most keys that a walk answers at a time, because each takes Redis as long as ten lines. */
const foundAtOnce = 100

/** Lines that are made at a time. */
const madeAtOnce = 250

export type IndexScripts = Readonly<{
  walk: Script
  missingLines: Script
  line: Script
  removeLines: Script
}>

/** The index of keys in Redis: a sorted set of lines. */
export function redisKeyIndex({ walk, missingLines, line, removeLines }: IndexScripts): KeyIndex {
  return {
    catchUp: oneAtATime(async () => {
      for (;;) {
        const answer = textsFrom(await missingLines(madeAtOnce))
        const [from, upTo, ...flat] = answer
        if (from === undefined || upTo === undefined) return
        const lines = rowsOf(flat, 3).flatMap(([id = '', version = '', record = '']) => {
          return [id, version, lineOfRecord(id, record)]
        })
        await line(from, upTo, ...lines)
      }
    }),

    async walk(after, filter, most): Promise<Walked> {
      const { search, name, parts, states, nowMs } = filter
      const counts = [linesAtOnce, Math.min(most, foundAtOnce)]
      const wanted = [search, name, states, nowMs, ...parts]
      const [end, ...flat] = textsFrom(await walk(after, ...counts, ...wanted))
      const matches = rowsOf(flat, 3).map(([line = '', record = '', version]): FoundLine => {
        return { line, record, version: Number(version) }
      })
      return { found: matches, end: end === '' ? undefined : end }
    },

    async remove(lines) {
      await removeLines(...lines.flatMap(({ line, version }) => [idIn(line), version, line]))
    },
  }
}

function textsFrom(answer: unknown): string[] {
  return Array.isArray(answer) ? answer.map(String) : []
}

function rowsOf(flat: readonly string[], size: number): string[][] {
  const rows: string[][] = []
  for (let i = 0; i < flat.length; i += size) rows.push(flat.slice(i, i + size))
  return rows
}
