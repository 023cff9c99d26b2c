import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { courseFrom } from '../../swaps/progress.ts'
import { swapKeptMs, type SeenSwap, type SwapStore } from '../../swaps/store.ts'
import { answerOf } from './answer.ts'

type Row = Readonly<{ version: number; round: number; course: string; askedAtMs: number }>

/** How old the note of the last look may become: a note costs a write. */
const askedNoteMs = 86_400_000

/** Swaps in a SQLite file, which a command line may have open beside the gateway. */
export function embeddedSwaps(database: Database, clock: Clock): SwapStore {
  const read = database.prepare<[string, string], Row>(
    'SELECT version, round, course, askedAtMs FROM swaps WHERE upstream = ? AND id = ?',
  )
  const write = database.prepare(
    `INSERT INTO swaps VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
       version = excluded.version, round = excluded.round, course = excluded.course,
       askedAtMs = excluded.askedAtMs`,
  )
  const asked = database.prepare('UPDATE swaps SET askedAtMs = ? WHERE upstream = ? AND id = ?')
  const forget = database.prepare('DELETE FROM swaps WHERE askedAtMs < ?')
  const countsOf = database
    .prepare<[string, string], string>(
      'SELECT counts FROM swapCounts WHERE upstream = ? AND id = ?',
    )
    .pluck()
  const tell = database.prepare(
    'INSERT INTO swapCounts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET counts = excluded.counts',
  )
  const clear = database.prepare('DELETE FROM swapCounts WHERE upstream = ? AND id = ?')
  /** The last that was told: counts that are the same aren't written again. */
  let lastTold = ''

  const change = database.transaction(
    (upstream: string, id: string, version: number, round: number, course: string): boolean => {
      const row = read.get(upstream, id)
      if ((row?.version ?? 0) !== version) return false
      const nowMs = clock()
      write.run(upstream, id, version + 1, round, course, nowMs)
      if (row?.round !== round) clear.run(upstream, id)
      forget.run(nowMs - swapKeptMs)
      return true
    },
  )

  return {
    look({ upstream, id }, told): Promise<SeenSwap> {
      const seen = answerOf(() => {
        const row = read.get(upstream, id)
        const nowMs = clock()
        if (row && nowMs - row.askedAtMs > askedNoteMs) asked.run(nowMs, upstream, id)
        const text = told && [upstream, id, told.by, told.round, told.counts].join(' ')
        if (text && text !== lastTold && row?.round === told.round) {
          tell.run(upstream, id, told.by, told.counts)
          lastTold = text
        }
        return {
          nowMs,
          version: row?.version ?? 0,
          course: courseFrom(row?.course ?? ''),
          counts: countsOf.all(upstream, id),
        }
      })
      return Promise.resolve(seen)
    },

    change({ upstream, id }, version, course) {
      const text = JSON.stringify(course)
      return Promise.resolve(
        answerOf(() => change.immediate(upstream, id, version, course.round, text)),
      )
    },
  }
}
