import { csvText } from '../../shared/csv-text.ts'
import { sortedInTurns } from '../../shared/in-turns.ts'
import { keyNames } from '../keys/names.ts'
import type { KeyStore } from '../keys/store.ts'
import type { TallyStore } from './tally-store.ts'

/** The name under which calls of a deprecated operation are tallied. */
export function deprecatedCall(operation: string): string {
  return `deprecated ${operation}`
}

const prefix = deprecatedCall('')

/** Whether a tally counts calls of a deprecated operation. */
export function isDeprecatedCall(what: string): boolean {
  return what.startsWith(prefix)
}

/** The calls of one key to one deprecated operation: its owner must be told before the removal. */
export type DeprecatedCalls = Readonly<{
  key: string
  name: string
  operation: string
  calls: number
  lastMs: number
}>

/** The calls of deprecated operations in some days, by key and operation, the latest caller first. */
export async function deprecatedCalls(
  stores: Readonly<{ keys: KeyStore; tallies: TallyStore }>,
  fromDay: number,
  toDay: number,
): Promise<DeprecatedCalls[]> {
  const sums = new Map<string, { key: string; operation: string; calls: number; lastMs: number }>()
  for await (const { key, what, count, lastMs } of stores.tallies.list(fromDay, toDay)) {
    if (!isDeprecatedCall(what)) continue
    const name = `${key} ${what}`
    const before = sums.get(name)
    sums.set(name, {
      key,
      operation: what.slice(prefix.length),
      calls: (before?.calls ?? 0) + count,
      lastMs: Math.max(before?.lastMs ?? 0, lastMs),
    })
  }
  const calls = await sortedInTurns([...sums.values()], (a, b) => b.lastMs - a.lastMs)
  const nameOf = await keyNames(
    stores.keys,
    calls.map(({ key }) => key),
  )
  return calls.map((call) => ({ ...call, name: nameOf(call.key) }))
}

/** The calls of one key as programs are told of them. */
export function callsView({ lastMs, ...calls }: DeprecatedCalls) {
  return { ...calls, last: new Date(lastMs).toISOString() }
}

/** The calls as CSV, for a mailing to the keys' owners. */
export function callsCsv(calls: readonly DeprecatedCalls[]): string {
  const rows = calls.map(({ key, name, operation, calls, lastMs }) => [
    key,
    name,
    operation,
    String(calls),
    new Date(lastMs).toISOString(),
  ])
  return csvText(['key', 'name', 'operation', 'calls', 'last'], rows)
}
