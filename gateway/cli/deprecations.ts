import { deprecatedCalls, type DeprecatedCalls } from '../records/deprecated-calls.ts'
import { callsView } from '../operations/views.ts'
import { callsCsv } from '../records/deprecated-calls.ts'
import { daysOption, lastDays, type Command } from './command.ts'
import { aligned, timeText } from './table.ts'

/** The command with which operators find out whom to write to. */
export const deprecationCommands: readonly Command[] = [
  {
    name: 'deprecations report',
    summary: 'Tell which keys still call deprecated operations',
    details: 'Counted when they are called, by day, and remembered for 90 days.',
    options: {
      days: daysOption,
      csv: { help: 'print CSV' },
    },
    run: async ({ stores, clock }, input) => {
      const { fromDay, toDay } = lastDays(input, clock())
      const calls = await deprecatedCalls(stores(), fromDay, toDay)
      return {
        text: input.values['csv'] ? callsCsv(calls) : table(calls),
        json: calls.map(callsView),
      }
    },
  },
]

function table(calls: readonly DeprecatedCalls[]): string {
  if (calls.length === 0) return 'No key has called a deprecated operation.'
  const rows = calls.map(({ key, name, operation, calls, lastMs }) => [
    ...[key, name, operation, String(calls), timeText(lastMs)],
  ])
  return aligned([['ID', 'NAME', 'OPERATION', 'CALLS', 'LAST'], ...rows])
}
