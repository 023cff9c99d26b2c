import { keyNames } from '../keys/names.ts'
import type { KeyStore } from '../keys/store.ts'
import type { TallyStore } from './tally-store.ts'

/** What calls of a deprecated operation are tallied by. */
export function deprecatedCall(operation: string): string {
  return `deprecated ${operation}`
}

const prefix = deprecatedCall('')

/** Whether a tally is of calls of a deprecated operation. */
export function isDeprecatedCall(what: string): boolean {
  return what.startsWith(prefix)
}

/** Whom an operator must write to before an operation is removed. */
export type DeprecatedCalls = Readonly<{
  key: string
  name: string
  operation: string
  calls: number
  lastMs: number
}>

/** Which keys have called deprecated operations in some days, those who called last before others. */
export async function deprecatedCalls(
  stores: Readonly<{ keys: KeyStore; tallies: TallyStore }>,
  fromDay: number,
  toDay: number,
): Promise<DeprecatedCalls[]> {
  const found = new Map<string, { key: string; operation: string; calls: number; lastMs: number }>()
  for await (const { key, what, count, lastMs } of stores.tallies.list(fromDay, toDay)) {
    if (!isDeprecatedCall(what)) continue
    const place = `${key} ${what}`
    const before = found.get(place)
    found.set(place, {
      key,
      operation: what.slice(prefix.length),
      calls: (before?.calls ?? 0) + count,
      lastMs: Math.max(before?.lastMs ?? 0, lastMs),
    })
  }
  const calls = [...found.values()].sort((a, b) => b.lastMs - a.lastMs)
  const nameOf = await keyNames(
    stores.keys,
    calls.map(({ key }) => key),
  )
  return calls.map((call) => ({ ...call, name: nameOf(call.key) }))
}

/** The same as CSV, for whoever writes the letters. */
export function callsCsv(calls: readonly DeprecatedCalls[]): string {
  const rows = calls.map(({ key, name, operation, calls, lastMs }) => [
    ...[key, name, operation, String(calls), new Date(lastMs).toISOString()],
  ])
  return [['key', 'name', 'operation', 'calls', 'last'], ...rows]
    .map((row) => row.map(cell).join(','))
    .join('\r\n')
}

/**
 * A field of CSV, in quotes. One that a spreadsheet would take for a formula is made a text; where lists are
 * separated by semicolons, a sheet may begin a new cell after each of them.
 */
function cell(value: string): string {
  const safe = value.replace(/(^|[;\t\r\n])(\s*)(?=[=+\-@＝＋－＠])/g, "$1$2'")
  return `"${safe.replaceAll('"', '""')}"`
}
