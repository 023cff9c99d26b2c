import { breathe } from '../../../../shared/breathe.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import type { PeakStore, QuotaDay } from '../../counts/peak-store.ts'
import { rememberedDays } from '../../counts/tally-store.ts'
import { answerOf } from './answer.ts'
import { addsOnce } from './batches.ts'
import { adding, raising, type Merging } from './merging.ts'

/** Quotas that are read in one turn of the loop. */
const quotasAtOnce = 250

type QuotaRow = Readonly<{ id: number; lastDay: number }>
type PeakRow = readonly [id: number, ...numbers: [number, number, number, number, number]]

/**
 * Peaks in a SQLite file, which several processes may have open: a row a day and quota, in the order of the days, so that
 * writes touch the pages of one day only. Quotas have numbers there, because their names are longer than the row.
 */
export function embeddedPeaks(database: Database): PeakStore {
  const { add: addRow } = peakRows(database)
  const newestDay = database.prepare<[], number | null>('SELECT max(day) FROM peaks').pluck()
  const forget = database.prepare('DELETE FROM peaks WHERE day <= ?')
  const forgetQuotas = database.prepare('DELETE FROM peakQuotas WHERE lastDay <= ?')
  const highestId = database.prepare<[], number | null>('SELECT max(id) FROM peakQuotas').pluck()
  const names = database.prepare<[number, number], { id: number; quota: string }>(
    'SELECT id, quota FROM peakQuotas WHERE id BETWEEN ? AND ?',
  )
  const some = database
    .prepare<[number, number, number], PeakRow>(
      `SELECT id, day, minute, used, refusedByMinute, refusedByDay FROM peaks
       WHERE day = ? AND id BETWEEN ? AND ?`,
    )
    .raw()

  const addLines = (peaks: readonly QuotaDay[]): void => {
    const newest = Math.max(...peaks.map(({ day }) => day))
    if (newest > (newestDay.get() ?? 0)) {
      forget.run(newest - rememberedDays)
      forgetQuotas.run(newest - rememberedDays)
    }
    for (const peak of peaks) addRow(peak)
  }

  return {
    add: addsOnce(database, 'peaks', addLines),

    async *list(fromDay, toDay) {
      const highest = answerOf(() => highestId.get()) ?? 0
      for (let first = 1; first <= highest; first += quotasAtOnce) {
        const last = first + quotasAtOnce - 1
        const found = new Map<number, number[]>()
        for (let day = fromDay; day <= toDay; day++) {
          for (const [id, ...numbers] of answerOf(() => some.all(day, first, last))) {
            const others = found.get(id)
            if (others) others.push(...numbers)
            else found.set(id, numbers)
          }
        }
        const quotas = found.size === 0 ? [] : answerOf(() => names.all(first, last))
        yield quotas.flatMap(({ id, quota }) => {
          const numbers = found.get(id)
          return numbers ? [{ quota, numbers }] : []
        })
        // The gateway serves requests between two pages.
        await breathe()
      }
    },
  }
}

const merging: Merging = {
  minute: 'max',
  used: 'max',
  refusedByMinute: 'sum',
  refusedByDay: 'sum',
}

/** Writes peaks: adds those of a gateway, or raises what is stored to those of another store. */
export function peakRows(database: Database) {
  const find = database.prepare<string, QuotaRow>(
    'SELECT id, lastDay FROM peakQuotas WHERE quota = ?',
  )
  const insert = database.prepare('INSERT INTO peakQuotas (quota, lastDay) VALUES (?, ?)')
  const prolong = database.prepare('UPDATE peakQuotas SET lastDay = ? WHERE id = ?')
  const keepUntil = (quota: string, day: number): void => {
    const found = find.get(quota)
    if (!found) insert.run(quota, day)
    else if (found.lastDay < day) prolong.run(day, found.id)
  }
  const put = (end: string): ((peak: QuotaDay) => void) => {
    const merge = database.prepare(
      `INSERT INTO peaks SELECT @day, id, @minute, @used, @refusedByMinute, @refusedByDay
       FROM peakQuotas WHERE quota = @quota AND lastDay >= @day ${end}`,
    )
    return (peak) => {
      if (merge.run(peak).changes > 0) return
      keepUntil(peak.quota, peak.day)
      merge.run(peak)
    }
  }
  return { add: put(adding(merging)), raise: put(raising(merging)) }
}
