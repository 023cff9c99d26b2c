import { accountOf } from '../../front/keys/key.ts'
import { breathe } from '../../../shared/breathe.ts'
import { pastDays } from '../../front/limits/past-points.ts'
import { dayMs } from '../../../shared/windows.ts'
import type { Stores } from '../../front/stores/stores.ts'
import { gathered, type Sources } from './gather.ts'
import { linesOf, PlanSums, type LedgerBy, type LedgerLine } from './lines.ts'
import { packed, unpacked, type LedgerRow } from './rows.ts'
import { graceMs, ledgerDays, type LedgerStore } from '../../front/records/ledger-store.ts'

export type LedgerStores = Sources & Pick<Stores, 'ledger'>

/** The latest day that is to be closed at a time. */
export function lastDueDay(nowMs: number): number {
  return Math.floor((nowMs - graceMs) / dayMs) - 1
}

/** The days that are over and not closed yet, as far as their counters are still there. */
export async function dueDays(ledger: LedgerStore, nowMs: number): Promise<number[]> {
  const today = Math.floor(nowMs / dayMs)
  const began = await ledger.begin(today)
  const due: number[] = []
  for (let day = Math.max(began, today - pastDays); day <= lastDueDay(nowMs); day++) {
    if (!(await ledger.isClosed(day))) due.push(day)
  }
  return due
}

/** Closes the days that are due. Any number of processes may do it at once. */
export async function closeDueDays(stores: LedgerStores, nowMs: number): Promise<void> {
  const { ledger } = stores
  for (const day of await dueDays(ledger, nowMs)) {
    await ledger.close({ day, chunks: await packed(await gathered(stores, day)) })
  }
}

export type LedgerQuery = Readonly<{
  fromDay: number
  toDay: number
  by: LedgerBy
  /** Only lines of this key, by its id, or of this account. */
  key?: string | undefined
  account?: string | undefined
}>

/** The lines of some days, in an order that is always the same. Days that are due are closed before. */
export async function* ledgerLines(
  stores: LedgerStores,
  { fromDay, toDay, by, key, account }: LedgerQuery,
  nowMs: number,
): AsyncGenerator<LedgerLine, void> {
  await closeDueDays(stores, nowMs)
  const today = Math.floor(nowMs / dayMs)
  const first = Math.max(fromDay, today - ledgerDays)
  for (let day = first; day <= Math.min(toDay, today); day++) {
    const chunks = await stores.ledger.chunks(day)
    const final = chunks !== undefined
    const sums = new PlanSums()
    for await (const all of chunks ? rowsIn(chunks) : rowsSoFar(stores, day, today)) {
      const rows = all.filter(({ quota }) => account === undefined || accountOf(quota) === account)
      const lines = by === 'plan' ? sums.add(rows) : linesOf(rows, by, day, final)
      yield* lines.filter(({ keys }) => key === undefined || keys.includes(key))
      await breathe()
    }
    yield* sums.lines(day, final)
  }
}

async function* rowsIn(chunks: readonly Buffer[]): AsyncGenerator<LedgerRow[]> {
  for (const chunk of chunks) yield await unpacked(chunk)
}

/** The rows of a day that isn't closed: today, or yesterday before its grace is over. */
async function* rowsSoFar(
  stores: LedgerStores,
  day: number,
  today: number,
): AsyncGenerator<LedgerRow[]> {
  const began = await stores.ledger.begin(today)
  if (day >= Math.max(began, today - pastDays)) yield await gathered(stores, day)
}
