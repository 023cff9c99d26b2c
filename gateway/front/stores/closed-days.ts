import { ledgerDays, type ClosedDay, type LedgerStore } from '../records/ledger-store.ts'
import { dayMs } from '../../../shared/windows.ts'

/** All closed days of a ledger, the oldest first. */
export async function* closedDays(
  ledger: LedgerStore,
  nowMs: number,
): AsyncGenerator<ClosedDay, void> {
  const today = Math.floor(nowMs / dayMs)
  for (let day = today - ledgerDays; day < today; day++) {
    const chunks = await ledger.chunks(day)
    if (chunks) yield { day, chunks }
  }
}
