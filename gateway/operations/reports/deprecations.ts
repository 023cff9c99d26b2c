import {
  callsCsv,
  callsView,
  deprecatedCalls,
  type DeprecatedCalls,
} from '../../records/deprecated-calls.ts'
import { Listed } from '../listed.ts'
import { operation } from '../operation.ts'
import { days, dayRange } from '../parameters.ts'
import { aligned, timeText } from '../table.ts'

export const reportDeprecations = operation({
  name: 'deprecations report',
  at: ['GET /admin/deprecations'],
  summary: 'List the keys that still call deprecated operations',
  details: 'Calls are counted when they come, by day, and kept for 90 days.',
  parameters: { days },
  role: 'read',
  run: async ({ stores, clock, flush }, { days }) => {
    const { fromDay, toDay } = dayRange(days, clock)
    await flush()
    return deprecatedCalls(stores(), fromDay, toDay)
  },
  json: (calls) => Listed.of(calls, callsView),
  csv: callsCsv,
  text: table,
})

function table(calls: readonly DeprecatedCalls[]): string {
  if (calls.length === 0) return 'No key has called a deprecated operation.'
  const rows = calls.map(({ key, name, operation, calls, lastMs }) => {
    return [key, name, operation, String(calls), timeText(lastMs)]
  })
  return aligned([['ID', 'NAME', 'OPERATION', 'CALLS', 'LAST'], ...rows])
}
