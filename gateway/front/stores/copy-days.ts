import { rememberedDays, type Tally, type TallyStore } from '../counts/tally-store.ts'
import type { CountStore } from '../counts/batch.ts'
import { daysOf, type PeakStore, type QuotaDay } from '../counts/peak-store.ts'
import { ledgerDays, type LedgerStore } from '../records/ledger-store.ts'
import { dayMs } from '../../../shared/windows.ts'
import type { Puts, Reads } from './copy.ts'

const batchSize = 2_000

/** A store of counts that may be the goal of a copy. */
export interface CopiedCounts<Line> extends CountStore<Line> {
  /** Puts lines of another store. Of a line that is stored already, the larger numbers stay. */
  raise(lines: readonly Line[]): Promise<void>
}

/** The reads of spaces that any technology gives day by day. */
export function readsOfDays(
  stores: Readonly<{ tallies: TallyStore; peaks: PeakStore; ledger: LedgerStore }>,
  nowMs: number,
): Pick<Reads, 'tallies' | 'peaks' | 'ledger'> {
  const today = Math.floor(nowMs / dayMs)
  const firstDay = today - rememberedDays + 1
  return {
    async *tallies() {
      let batch: Tally[] = []
      for await (const tally of stores.tallies.list(firstDay, today)) {
        if (batch.push(tally) < batchSize) continue
        yield batch
        batch = []
      }
      yield batch
    },

    peaks: () => stores.peaks.list(firstDay, today),

    async *ledger() {
      for (let day = today - ledgerDays; day < today; day++) {
        const chunks = await stores.ledger.chunks(day)
        if (chunks) yield [{ day, chunks }]
      }
    },
  }
}

/** Puts of the same spaces. A day of the ledger that is closed already stays as it is. */
export function putsOfDays(
  stores: Readonly<{
    tallies: CopiedCounts<Tally>
    peaks: CopiedCounts<QuotaDay>
    ledger: LedgerStore
  }>,
): Pick<Puts, 'tallies' | 'peaks' | 'ledger'> {
  return {
    tallies: (tallies) => stores.tallies.raise(tallies),
    peaks: (peaks) => stores.peaks.raise(peaks.flatMap(daysOf)),
    async ledger(days) {
      for (const closed of days) {
        await stores.ledger.begin(closed.day)
        await stores.ledger.close(closed)
      }
    },
  }
}
