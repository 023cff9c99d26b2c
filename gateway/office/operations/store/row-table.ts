import { withCommas } from '../../../../shared/commas.ts'
import type { Copied } from './transfer.ts'
import { aligned } from '../table.ts'

const words = {
  keys: 'keys',
  quotas: 'quotas: counters, bans, grants and past days',
  tallies: 'days of keys with usage',
  peaks: 'quotas with their highest use by day',
  uses: 'keys with the time of their last use',
  ledger: 'closed days of the ledger',
  audit: 'lines of audit',
} as const

/** The numbers of rows for people. */
export function rowTable(loaded: Omit<Copied, 'damaged'> & { damaged?: number }): string {
  const { damaged = 0 } = loaded
  const rows = [
    ...Object.entries(words).map(([name, what]) => [loaded[name as keyof typeof words], what]),
    ...(damaged > 0 ? [[damaged, 'damaged entries left out']] : []),
  ] as [number, string][]
  const numbers = rows.map(([count]) => withCommas(count))
  const width = Math.max(...numbers.map(({ length }) => length))
  return aligned(rows.map(([, what], i) => [`  ${(numbers[i] ?? '').padStart(width)}`, what]))
}
