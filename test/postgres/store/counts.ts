import type { CountLine, Counts, Lines, Merging, Space } from '../../../gateway/index.ts'
import { packed, unpacked, type Database } from './database.ts'

/** Keys that are read in one piece. */
const keysAtOnce = 250

/** Counts in a table, a row a line. */
export function postgresCounts({ query, within }: Database): Counts {
  return {
    async add(space, { by, number, lines }) {
      await within(async (query) => {
        const isNew = await query(
          `INSERT INTO batches AS b VALUES ($1, $2, $3) ON CONFLICT (space, by)
           DO UPDATE SET number = excluded.number WHERE b.number < excluded.number RETURNING 1`,
          ...[space.name, by, number],
        )
        if (isNew.length === 0 || lines.length === 0) return
        const once = onceEach(space, lines)
        await query(
          `INSERT INTO counts AS c
             SELECT $1, key, part, at, ARRAY(SELECT jsonb_array_elements_text(numbers)::bigint)
             FROM jsonb_to_recordset($2) AS line (key text, part text, at bigint, numbers jsonb)
             ORDER BY key, at, part
           ON CONFLICT (space, key, at, part) DO UPDATE SET numbers = ARRAY[${space.merge.map(merging).join()}]`,
          ...[space.name, JSON.stringify(once)],
        )
        await query(
          `DELETE FROM counts WHERE space = $1 AND at <= (SELECT max(at) FROM counts WHERE space = $1) - $2`,
          ...[space.name, space.kept],
        )
        if (space.mostOfKey === undefined) return
        await query(
          `DELETE FROM counts c USING (
             SELECT key, at, part, row_number() OVER (PARTITION BY key ORDER BY at DESC, part) AS place
             FROM counts WHERE space = $1 AND key = ANY($2)) old
           WHERE c.space = $1 AND (c.key, c.at, c.part) = (old.key, old.at, old.part) AND place > $3`,
          ...[space.name, [...new Set(once.map(({ key }) => key))], space.mostOfKey],
        )
      })
    },

    async *list(space, from, to) {
      let after = ''
      for (;;) {
        const rows = await query(
          `SELECT c.* FROM counts c WHERE space = $1 AND at BETWEEN $2 AND $3 AND key IN (
             SELECT DISTINCT key FROM counts WHERE space = $1 AND at BETWEEN $2 AND $3 AND key > $4
             ORDER BY key LIMIT ${keysAtOnce})
           ORDER BY key, at, part <> '""', part`,
          ...[space.name, from, to, after],
        )
        if (rows.length === 0) return
        yield linesOf(rows)
        after = String(rows.at(-1)?.['key'])
      }
    },

    async of(space, keys, from, to) {
      const rows = await query(
        'SELECT * FROM counts WHERE space = $1 AND key = ANY($2) AND at BETWEEN $3 AND $4',
        ...[space.name, keys.map(packed), from, to],
      )
      return linesOf(rows)
    },
  }
}

function merging(how: Merging, i: number): string {
  const [stored, given] = [`c.numbers[${i + 1}]`, `excluded.numbers[${i + 1}]`]
  if (how === 'latest') return given
  return how === 'sum' ? `${stored} + ${given}` : `greatest(${stored}, ${given})`
}

/** The lines of a batch, each once: a statement changes a row no more than that. */
function onceEach({ merge }: Space, lines: readonly CountLine[]): CountLine[] {
  const all = new Map<string, CountLine>()
  for (const { key, part, at, numbers } of lines) {
    const name = JSON.stringify([key, part, at])
    const before = all.get(name)?.numbers
    const merged = numbers.map((number, i) => {
      const stored = before?.[i] ?? 0
      if (merge[i] === 'sum') return stored + number
      return merge[i] === 'max' ? Math.max(stored, number) : number
    })
    all.set(name, { key: packed(key), part: packed(part), at, numbers: merged })
  }
  return [...all.values()]
}

function linesOf(rows: readonly Readonly<Record<string, unknown>>[]): Lines {
  return {
    keys: rows.map(({ key }) => unpacked(key)),
    parts: rows.map(({ part }) => unpacked(part)),
    ats: rows.map(({ at }) => Number(at)),
    numbers: rows.flatMap(({ numbers }) => (numbers as string[]).map(Number)),
  }
}
