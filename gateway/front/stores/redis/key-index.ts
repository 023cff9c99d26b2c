import { idIn } from '../../keys/line.ts'
import { lineOfRecord, oneAtATime, type FoundLine, type KeyIndex } from '../key-index.ts'
import { keyScripts } from './key-names.ts'
import type { RedisOptions } from './script.ts'

/** Lines per call of a walk: it takes Redis half a millisecond. */
const linesAtOnce = 1_000

/** The most keys that a walk answers at a time, because each takes Redis as long as ten lines. */
const foundAtOnce = 100

/** Lines that are made at a time. */
const madeAtOnce = 250

/** The least time limit of a call. It is long, because only an operator waits. */
const leastTimeoutMs = 1_000

/** The index of keys in Redis: a sorted set of lines. Requests don't wait for it, so a slow answer says nothing about decisions. */
export function redisKeyIndex({ connection, prefix, timeoutMs }: RedisOptions): KeyIndex {
  const bound = keyScripts({ connection, prefix, timeoutMs: Math.max(timeoutMs, leastTimeoutMs) })
  const walk = bound('keys-walk.lua', 'lines', 'records', 'versions', 'pending')
  const missing = ['records', 'versions', 'version', 'lines', 'linedUpTo'] as const
  const missingLines = bound('keys-missing-lines.lua', ...missing)
  const addLines = bound('keys-line.lua', 'lines', 'linedUpTo', 'versions')
  const removeLines = bound('keys-remove-lines.lua', 'lines', 'versions')
  return {
    catchUp: oneAtATime(async () => {
      for (;;) {
        const [from, upTo, ...flat] = textsFrom(await missingLines(madeAtOnce))
        if (from === undefined || upTo === undefined) return
        const lines = rowsOf(flat, 3).flatMap(([id = '', version = '', record = '']) => {
          return [id, version, lineOfRecord(id, record)]
        })
        await addLines(from, upTo, ...lines)
      }
    }),

    async walk(after, filter, most) {
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
