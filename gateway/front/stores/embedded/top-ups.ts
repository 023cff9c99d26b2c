import type { Database } from '../../../../shared/sqlite.ts'
import { outcomeOf, withTopUp, type NewTopUp, type TopUpOutcome } from '../../limits/top-ups.ts'
import { withSync } from './database.ts'

/** The top-ups of quotas: a table says which were made, so that one that is sent again isn't made again. */
export function topUpsIn(
  database: Database,
  enqueue: (quota: string, topUp: NewTopUp, nowMs: number) => void,
) {
  const read = database.prepare<string, string>('SELECT lines FROM topUps WHERE quota = ?').pluck()
  const put = database.prepare('INSERT OR REPLACE INTO topUps VALUES (?, ?)')
  const topUps = (quota: string): string => read.get(quota) ?? ''
  const make = database.transaction(
    (quota: string, given: NewTopUp, left: number, nowMs: number): TopUpOutcome => {
      const lines = topUps(quota)
      const outcome = outcomeOf(lines, given, left, nowMs)
      if (outcome.outcome !== 'done') return outcome
      put.run(quota, withTopUp(lines, outcome.topUp))
      enqueue(quota, given, nowMs)
      return outcome
    },
  )
  return {
    /** The top-ups of a quota by line. */
    topUps,
    /** Does a top-up and enqueues its command, in one step that is on the disk then. `left`: the bought points before it. */
    topUp: (...given: Parameters<typeof make>) =>
      withSync(database, () => make.immediate(...given)),
    putTopUps: (quota: string, lines: string) => void put.run(quota, lines),
  }
}
