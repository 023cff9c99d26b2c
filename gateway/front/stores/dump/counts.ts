import { dayMs, isWindowName, windows, type WindowName } from '../../../../shared/windows.ts'
import { daysOf, type QuotaDay } from '../../counts/peak-store.ts'
import { rememberedDays, type Tally } from '../../counts/tally-store.ts'
import { beginning, type KeyUses } from '../../keys/last-use-store.ts'
import { entriesOf, type Kind } from './kind.ts'
import type { RowOf } from './rows.ts'

/** Lines that are added at a time, as gateways do. */
const atOnce = 250

/** Keys whose tallies are given at a time. */
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

/** The remembered days up to a time. */
function daysUpTo(nowMs: number): readonly [first: number, today: number] {
  const today = Math.floor(nowMs / dayMs)
  return [today - rememberedDays + 1, today]
}

export const tallies: Kind<'counts', Tally> = {
  name: 'tallies',
  shelf: 'counts',
  atOnce,

  async *rows(store, { nowMs }) {
    const [first, today] = daysUpTo(nowMs)
    for (let day = first; day <= today; day++) {
      const linesByKey = new Map<string, Line[]>()
      for await (const { key, what, count, lastMs } of store.tallies.list(day, day)) {
        const line: Line = [what, day, count, lastMs]
        const others = linesByKey.get(key)
        if (others) others.push(line)
        else linesByKey.set(key, [line])
      }
      const keys = [...linesByKey.keys()].sort()
      for (let start = 0; start < keys.length; start += keysAtOnce) {
        yield keys
          .slice(start, start + keysAtOnce)
          .map((key) => countRow('tallies', key, (linesByKey.get(key) ?? []).sort(byPart)))
      }
    }
  },

  itemsIn: (row) =>
    linesOf(row, 2)?.map(([what, day, count = 0, lastMs = 0]) => {
      return { key: row.key, what, day, count, lastMs }
    }),

  put: (store, lines, batch) => store.tallies.add({ ...batch, lines }),
}

function byPart([one]: Line, [other]: Line): number {
  return one < other ? -1 : 1
}

export const peaks: Kind<'counts', QuotaDay> = {
  name: 'peaks',
  shelf: 'counts',
  atOnce,

  async *rows(store, { nowMs }) {
    for await (const some of store.peaks.list(...daysUpTo(nowMs))) {
      const sorted = [...some].sort((a, b) => (a.quota < b.quota ? -1 : 1))
      yield sorted.map((each) => {
        const days = daysOf(each).sort((a, b) => a.day - b.day)
        return countRow('peaks', each.quota, days.flatMap(linesOfDay))
      })
    }
  },

  itemsIn(row) {
    const lines = linesOf(row, 2)
    if (!lines?.every(([name]) => isWindowName(name))) return undefined
    const days = new Map<number, QuotaDay>()
    for (const [name, day, points = 0, refusals = 0] of lines) {
      const { most = {}, refused = {} } = days.get(day) ?? {}
      days.set(day, {
        ...{ quota: row.key, day },
        most: { ...most, [name]: points },
        refused: refusals > 0 ? { ...refused, [name]: refusals } : refused,
      })
    }
    return [...days.values()]
  },

  put: (store, lines, batch) => store.peaks.add({ ...batch, lines }),
}

/** The windows that were recorded on a day. */
function linesOfDay({ day, most, refused }: QuotaDay): Line[] {
  const recorded = windows.flatMap(({ name }): [WindowName, number][] => {
    const points = most[name]
    return points === undefined ? [] : [[name, points]]
  })
  return recorded.map(([name, points]) => [name, day, points, refused[name] ?? 0])
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
        return uses.length > 0 ? [countRow('uses', id, uses.sort(byPart))] : []
      })
    }
  },

  itemsIn(row) {
    const lines = linesOf(row, 1)
    return lines && [[row.key, new Map(lines.map(([mark, , atMs = 0]) => [mark, atMs]))]]
  },

  put: (store, uses) => store.putUses(uses),
}
