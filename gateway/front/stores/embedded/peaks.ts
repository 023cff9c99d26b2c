import { breathe } from '../../../../shared/breathe.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import {
  isWindowName,
  memberName,
  optionalWindows,
  requiredWindows,
  windowOf,
} from '../../../../shared/windows.ts'
import { blankDay, placeOf, type PeakStore, type QuotaDay } from '../../counts/peak-store.ts'
import type { CountStore } from '../../counts/batch.ts'
import { rememberedDays } from '../../counts/tally-store.ts'
import { answerOf } from './answer.ts'
import { countSpace } from './count-space.ts'
import { oldRows } from './old-rows.ts'

/** Quotas that are read, or whose names are looked at, in one turn of the loop. */
const quotasAtOnce = 250

/** The columns of the windows that are recorded always: `mostMinute` and `refusedByMinute` of a minute. */
const mostColumns = requiredWindows.map(({ name }) => memberName('most', name))
const refusedColumns = requiredWindows.map(({ name }) => memberName('refusedBy', name))
const columns = [...mostColumns, ...refusedColumns]

type PeakRow = readonly [id: number, ...numbers: number[]]
type OptionalRow = readonly [id: number, name: string, most: number, refused: number]

/**
 * Peaks in a SQLite file, which several processes may have open: a row a day and quota, in the order of the days, so that
 * writes touch the pages of one day only. Quotas have numbers there, because their names are longer than the row. Windows
 * that few quotas have limited are in rows of their own, so that the others take no space for them.
 */
export function embeddedPeaks(database: Database): PeakStore {
  const highestId = database.prepare<[], number | null>('SELECT max(id) FROM peakQuotas').pluck()
  const names = database.prepare<[number, number], { id: number; quota: string }>(
    'SELECT id, quota FROM peakQuotas WHERE id BETWEEN ? AND ?',
  )
  const daysAt = dayReader(database)

  return {
    ...peakSpace(database),

    async *list(fromDay, toDay) {
      const highest = answerOf(() => highestId.get()) ?? 0
      for (let first = 1; first <= highest; first += quotasAtOnce) {
        const last = first + quotasAtOnce - 1
        const numbersByRow = new Map<number, number[]>()
        for (let day = fromDay; day <= toDay; day++) {
          for (const [id, numbers] of daysAt(day, first, last)) {
            const others = numbersByRow.get(id)
            if (others) others.push(...numbers)
            else numbersByRow.set(id, numbers)
          }
        }
        const quotas = numbersByRow.size === 0 ? [] : answerOf(() => names.all(first, last))
        yield quotas.flatMap(({ id, quota }) => {
          const numbers = numbersByRow.get(id)
          return numbers ? [{ quota, numbers }] : []
        })
        // The gateway serves requests between two pages.
        await breathe()
      }
    },
  }
}

/** Reads the numbers of a day of the quotas in a range of ids. */
type ReadDay = (day: number, first: number, last: number) => ReadonlyMap<number, number[]>

function dayReader(database: Database): ReadDay {
  const some = database
    .prepare<[number, number, number], PeakRow>(
      `SELECT id, ${columns.join(', ')} FROM peaks WHERE day = ? AND id BETWEEN ? AND ?`,
    )
    .raw()
  const optional = database
    .prepare<[number, number, number], OptionalRow>(
      'SELECT id, name, most, refused FROM optionalPeaks WHERE day = ? AND id BETWEEN ? AND ?',
    )
    .raw()
  return (day, first, last) => {
    const numbersByRow = new Map<number, number[]>()
    for (const [id, ...stored] of answerOf(() => some.all(day, first, last))) {
      const numbers = blankDay(day)
      requiredWindows.forEach((window, i) => {
        const place = placeOf(window)
        numbers[place] = stored[i] ?? 0
        numbers[place + 1] = stored[i + mostColumns.length] ?? 0
      })
      numbersByRow.set(id, numbers)
    }
    for (const [id, name, most, refused] of answerOf(() => optional.all(day, first, last))) {
      const numbers = numbersByRow.get(id)
      if (!numbers || !isWindowName(name)) continue
      const place = placeOf(windowOf(name))
      numbers[place] = most
      numbers[place + 1] = refused
    }
    return numbersByRow
  }
}

function peakSpace(database: Database): CountStore<QuotaDay> {
  const isOld = 'day <= ?'
  const forgetPeaks = oldRows(database, { table: 'peaks', key: 'day, id', isOld })
  const forgetOptional = oldRows(database, { table: 'optionalPeaks', key: 'day, id, name', isOld })
  const forgetNames = unusedNames(database)
  const keep = database.prepare(
    `INSERT INTO peakQuotas (quota, lastDay) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET lastDay = max(lastDay, excluded.lastDay)`,
  )
  return countSpace<QuotaDay>(database, {
    name: 'peaks',
    writing: (merge) => {
      const merged = merge(
        Object.fromEntries([
          ...mostColumns.map((column) => [column, 'max'] as const),
          ...refusedColumns.map((column) => [column, 'sum'] as const),
        ]),
      )
      const insert = database.prepare(
        `INSERT INTO peaks (day, id, ${columns.join(', ')})
         SELECT ?, id, ${columns.map(() => '?').join(', ')}
         FROM peakQuotas WHERE quota = ? AND lastDay >= ? ${merged}`,
      )
      const insertOptional = database.prepare(
        `INSERT INTO optionalPeaks SELECT ?, id, ?, ?, ? FROM peakQuotas WHERE quota = ?
         ${merge({ most: 'max', refused: 'sum' })}`,
      )
      return ({ quota, day, most, refused }) => {
        const row: (number | string)[] = [day]
        for (const { name } of requiredWindows) row.push(most[name] ?? 0)
        for (const { name } of requiredWindows) row.push(refused[name] ?? 0)
        row.push(quota, day)
        if (insert.run(row).changes === 0) {
          keep.run(quota, day)
          insert.run(row)
        }
        for (const { name } of optionalWindows) {
          if (most[name] === undefined) continue
          insertOptional.run(day, name, most[name], refused[name] ?? 0, quota)
        }
      }
    },
    forget: (peaks) => {
      const day = Math.max(...peaks.map(({ day }) => day)) - rememberedDays
      const areMoreLeft = [forgetPeaks(day), forgetOptional(day)].includes(true)
      if (!areMoreLeft) forgetNames(day)
    },
  })
}

/** Makes what removes names of quotas that were last used on a day or before, some with each call, and each day once. */
function unusedNames(database: Database): (day: number) => void {
  const highest = database.prepare<[], number | null>('SELECT max(id) FROM peakQuotas').pluck()
  const remove = database.prepare<[number, number, number]>(
    'DELETE FROM peakQuotas WHERE id BETWEEN ? AND ? AND lastDay <= ?',
  )
  let [doneDay, nextId] = [0, 1]
  return (day) => {
    if (day > doneDay) [doneDay, nextId] = [day, 1]
    if (nextId > (highest.get() ?? 0)) return
    remove.run(nextId, nextId + quotasAtOnce - 1, doneDay)
    nextId += quotasAtOnce
  }
}
