import { breathe } from '../../../../shared/breathe.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import type { PeakStore, QuotaDay } from '../../counts/peak-store.ts'
import { rememberedDays } from '../../counts/tally-store.ts'
import type { CopiedCounts } from '../copy-days.ts'
import { answerOf } from './answer.ts'
import { countSpace } from './count-space.ts'

/** Quotas that are read in one turn of the loop. */
const quotasAtOnce = 250

type PeakRow = readonly [id: number, ...numbers: [number, number, number, number, number]]

/**
 * Peaks in a SQLite file, which several processes may have open: a row a day and quota, in the order of the days, so that
 * writes touch the pages of one day only. Quotas have numbers there, because their names are longer than the row.
 */
export function embeddedPeaks(database: Database): PeakStore & CopiedCounts<QuotaDay> {
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

  return {
    ...peakSpace(database),

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

function peakSpace(database: Database): CopiedCounts<QuotaDay> {
  const forget = database.prepare('DELETE FROM peaks WHERE day <= ?')
  const forgetQuotas = database.prepare('DELETE FROM peakQuotas WHERE lastDay <= ?')
  const keep = database.prepare(
    `INSERT INTO peakQuotas (quota, lastDay) VALUES (@quota, @day)
     ON CONFLICT DO UPDATE SET lastDay = max(lastDay, excluded.lastDay)`,
  )
  // Quotas are looked through once a day.
  let newestDay = 0
  return countSpace<QuotaDay>(database, {
    name: 'peaks',
    merging: { minute: 'max', used: 'max', refusedByMinute: 'sum', refusedByDay: 'sum' },
    writing: (merge) => {
      const insert = database.prepare(
        `INSERT INTO peaks SELECT @day, id, @minute, @used, @refusedByMinute, @refusedByDay
         FROM peakQuotas WHERE quota = @quota AND lastDay >= @day ${merge}`,
      )
      return (peak) => {
        if (insert.run(peak).changes > 0) return
        keep.run(peak)
        insert.run(peak)
      }
    },
    forget: (peaks) => {
      const newest = Math.max(...peaks.map(({ day }) => day))
      if (newest <= newestDay) return
      newestDay = newest
      forget.run(newest - rememberedDays)
      forgetQuotas.run(newest - rememberedDays)
    },
  })
}
