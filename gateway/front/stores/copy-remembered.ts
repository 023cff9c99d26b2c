import { rememberedDays, type Tally, type TallyStore } from '../counts/tally-store.ts'
import type { PeakStore } from '../counts/peak-store.ts'
import { ledgerDays, type LedgerStore } from '../records/ledger-store.ts'
import { dayMs } from '../limits/step.ts'
import type { Puts, Reads } from './copy.ts'

const batchSize = 2_000

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

/** Puts closed days into a ledger, in which one that is closed already stays as it is. */
export function putDays(ledger: LedgerStore): Puts['ledger'] {
  return async (days) => {
    for (const closed of days) {
      await ledger.begin(closed.day)
      await ledger.close(closed)
    }
  }
}
