import { csvText } from '../../../shared/csv-text.ts'
import { entryOf } from '../../../shared/entry-of.ts'
import { iso } from '../../../shared/times.ts'
import { keyNames } from '../keys/names.ts'
import type { Extension } from '../config/deprecations.ts'
import type { KeyStore } from '../keys/store.ts'
import type { TallyStore } from './tally-store.ts'
import { dayText } from './usage.ts'

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

/** The sunset of an operation for one key. */
export type OwnSunset = Readonly<{
  sunsetMs: number | undefined
  extension: Extension | undefined
  /** Whether it still calls, has no extension, and the sunset is near. */
  needsExtension: boolean
}>

/** The calls of a key, and how long it may go on. */
export type ReportedCalls = DeprecatedCalls & OwnSunset

/** The calls of deprecated operations in some days, by key and operation, most calls first; of one key, or of all. */
export async function deprecatedCalls(
  stores: Readonly<{ keys: KeyStore; tallies: TallyStore }>,
  fromDay: number,
  toDay: number,
  ofKey?: string,
): Promise<DeprecatedCalls[]> {
  const sums = new Map<string, { key: string; operation: string; calls: number; lastMs: number }>()
  const keys = ofKey === undefined ? undefined : [ofKey]
  for await (const { key, what, count, lastMs } of stores.tallies.list(fromDay, toDay, keys)) {
    if (!isDeprecatedCall(what)) continue
    const name = `${key} ${what}`
    const operation = what.slice(prefix.length)
    const sum = entryOf(sums, name, () => ({ key, operation, calls: 0, lastMs: 0 }))
    sum.calls += count
    sum.lastMs = Math.max(sum.lastMs, lastMs)
  }
  const calls = [...sums.values()].sort((a, b) => b.calls - a.calls || b.lastMs - a.lastMs)
  const nameOf = await keyNames(
    stores.keys,
    calls.map(({ key }) => key),
  )
  return calls.map((call) => ({ ...call, name: nameOf(call.key) }))
}

/** The calls of an operation on one day, and the number of keys that made them. */
export type CallsOfDay = Readonly<{ operation: string; day: string; calls: number; keys: number }>

/** The calls of deprecated operations by operation and day. */
export async function callsByDay(
  tallies: TallyStore,
  fromDay: number,
  toDay: number,
): Promise<CallsOfDay[]> {
  const sums = new Map<string, { operation: string; day: string; calls: number; keys: number }>()
  for await (const { day, what, count } of tallies.list(fromDay, toDay)) {
    if (!isDeprecatedCall(what)) continue
    const name = `${what} ${day}`
    const operation = what.slice(prefix.length)
    const sum = entryOf(sums, name, () => ({ operation, day: dayText(day), calls: 0, keys: 0 }))
    sum.calls += count
    sum.keys++
  }
  const order = ({ operation, day }: CallsOfDay): string => `${operation} ${day}`
  return [...sums.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1))
}

/** The calls of one key as programs are told of them. */
export function callsView({ lastMs, sunsetMs, extension, ...calls }: ReportedCalls) {
  return {
    ...calls,
    last: iso(lastMs),
    sunset: sunsetMs === undefined ? null : iso(sunsetMs),
    extension: extension ? { until: iso(extension.untilMs), spare: extension.spare } : null,
  }
}

export type CallsView = ReturnType<typeof callsView>

const csvColumns = 'key name operation calls last sunset extension needsExtension'.split(' ')

/** The calls as CSV, for a mailing to the keys' owners. */
export function callsCsv(calls: readonly ReportedCalls[]): string {
  const rows = calls.map((reported) => {
    const { key, name, operation, calls, last, sunset, extension, needsExtension } =
      callsView(reported)
    const until = extension?.until ?? ''
    return [key, name, operation, String(calls), last, sunset ?? '', until, String(needsExtension)]
  })
  return csvText(csvColumns, rows)
}
