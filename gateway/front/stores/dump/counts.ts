import { beginning, type KeyUses } from '../../keys/last-use-store.ts'
import type { CountLine, Lines, Space } from '../../shelves/counts.ts'
import { entriesOf, type Kind, type KindName } from './kind.ts'
import type { RowOf } from './rows.ts'

/** Lines that are added at a time, as gateways do. */
const atOnce = 250

/** Keys whose lines are given at a time. */
const keysAtOnce = 500

/** A line of a row: a thing, a time, and its numbers. */
type Line = readonly [part: string, at: number, ...numbers: number[]]

function countRow(space: string, key: string, lines: readonly Line[]): RowOf<'counts'> {
  return { shelf: 'counts', space, key, lines: lines.map((line) => [...line]) }
}

/** The lines of a row, each with so many numbers; `undefined` if one isn't so. */
function linesOf({ lines }: RowOf<'counts'>, count: number): readonly Line[] | undefined {
  const areGood = lines.every(
    ([part, ...numbers]) =>
      typeof part === 'string' &&
      numbers.length === count + 1 &&
      numbers.every((number) => typeof number === 'number'),
  )
  return areGood && lines.length > 0 ? (lines as unknown as readonly Line[]) : undefined
}

/** A space of counts. */
export function countsOf(name: KindName, space: Space): Kind<'counts', CountLine> {
  return {
    name,
    shelf: 'counts',
    atOnce,

    async *rows({ counts }, { nowMs }) {
      const last = Math.floor(nowMs / space.unitMs)
      const first = last - space.kept + 1
      if (space.readBy === 'whole') {
        for await (const piece of counts.list(space, first, last)) yield* rowsOf(name, [piece])
        return
      }
      for (let at = first; at <= last; at++) {
        const pieces: Lines[] = []
        for await (const piece of counts.list(space, at, at)) pieces.push(piece)
        yield* rowsOf(name, pieces)
      }
    },

    itemsIn(row) {
      if (row.key === '') return undefined
      return linesOf(row, space.merge.length)?.map(([part, at, ...numbers]) => {
        return { key: row.key, part, at, numbers }
      })
    },

    put: ({ counts }, lines, batch) => counts.add(space, { ...batch, lines }),
  }
}

/** The rows of keys whose lines are all in some pieces, in the order of the keys, and of times and parts. */
function* rowsOf(space: string, pieces: readonly Lines[]): Generator<RowOf<'counts'>[]> {
  const linesByKey = new Map<string, Line[]>()
  for (const { keys, parts, ats, numbers } of pieces) {
    const count = numbers.length / keys.length
    keys.forEach((key, i) => {
      const line: Line = [parts[i] ?? '', ats[i] ?? 0, ...numbers.slice(i * count, (i + 1) * count)]
      const others = linesByKey.get(key)
      if (others) others.push(line)
      else linesByKey.set(key, [line])
    })
  }
  const sorted = [...linesByKey.keys()].sort()
  for (let start = 0; start < sorted.length; start += keysAtOnce) {
    yield sorted
      .slice(start, start + keysAtOnce)
      .map((key) => countRow(space, key, (linesByKey.get(key) ?? []).sort(inOrder)))
  }
}

function inOrder([part, at]: Line, [otherPart, otherAt]: Line): number {
  return at - otherAt || (part < otherPart ? -1 : 1)
}

export const lastUses: Kind<'counts', readonly [key: string, uses: KeyUses]> = {
  name: 'uses',
  shelf: 'counts',
  atOnce,

  async *rows(store, reading) {
    const since = await store.lastUses.since()
    if (since !== undefined) yield [countRow('uses', beginning.key, [[beginning.mark, 0, since]])]
    // Damaged keys are counted where keys are read.
    for await (const keys of entriesOf(store.keys, { ...reading })) {
      const all = await store.lastUses.of(keys.map(([id]) => id))
      yield keys.flatMap(([id], i) => {
        const uses = [...(all[i] ?? [])].map(([mark, atMs]): Line => [mark, 0, atMs])
        return uses.length > 0 ? [countRow('uses', id, uses.sort(inOrder))] : []
      })
    }
  },

  itemsIn(row) {
    const lines = linesOf(row, 1)
    return lines && [[row.key, new Map(lines.map(([mark, , atMs = 0]) => [mark, atMs]))]]
  },

  put: (store, uses) => store.putUses(uses),
}
