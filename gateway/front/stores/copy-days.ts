import { randomUUID } from 'node:crypto'
import { rememberedDays, type Tally, type TallyStore } from '../counts/tally-store.ts'
import { daysOf, type PeakStore } from '../counts/peak-store.ts'
import { ledgerDays, type LedgerStore } from '../records/ledger-store.ts'
import { dayMs } from '../../../shared/windows.ts'
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
      for (const list of ['list', 'ofRoutes'] as const) {
        for await (const tally of stores.tallies[list](firstDay, today)) {
          if (batch.push(tally) < batchSize) continue
          yield batch
          batch = []
        }
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
    tallies: TallyStore
    peaks: PeakStore
    ledger: LedgerStore
  }>,
): Pick<Puts, 'tallies' | 'peaks' | 'ledger'> {
  const by = randomUUID()
  let number = 0
  return {
    tallies: (lines) => stores.tallies.add({ by, number: ++number, lines }),
    peaks: (peaks) => stores.peaks.add({ by, number: ++number, lines: peaks.flatMap(daysOf) }),
    async ledger(days) {
      for (const closed of days) {
        await stores.ledger.begin(closed.day)
        await stores.ledger.close(closed)
      }
    },
  }
}
