import { deprecatedCalls, type DeprecatedCalls } from '../deprecated-calls.ts'
import { text, UsageError, type Command, type Input } from './command.ts'
import { aligned, timeText } from './table.ts'

const dayMs = 86_400_000

/** The command with which operators find out whom to write to. */
export const deprecationCommands: readonly Command[] = [
  {
    name: 'deprecations report',
    summary: 'Tell which keys still call deprecated operations',
    details: 'Counted when they are called, by day, and remembered for 90 days.',
    options: {
      days: { value: 'N', help: 'how many days back, today included: 1 to 90; 90 unless told' },
      csv: { help: 'print CSV' },
    },
    run: async ({ stores, clock }, input) => {
      const today = Math.floor(clock() / dayMs)
      const calls = await deprecatedCalls(stores(), today - daysFrom(input) + 1, today)
      return {
        text: input.values['csv'] ? csv(calls) : table(calls),
        json: calls.map(({ lastMs, ...call }) => ({
          ...call,
          last: new Date(lastMs).toISOString(),
        })),
      }
    },
  },
]

function daysFrom(input: Input): number {
  const given = text(input, 'days') ?? '90'
  if (/^(?:[1-9]|[1-8]\d|90)$/.test(given)) return Number(given)
  throw new UsageError(`--days must be a whole number from 1 to 90, got "${given}"`)
}

function table(calls: readonly DeprecatedCalls[]): string {
  if (calls.length === 0) return 'No key has called a deprecated operation.'
  const rows = calls.map(({ key, name, operation, calls, lastMs }) => [
    ...[key, name, operation, String(calls), timeText(lastMs)],
  ])
  return aligned([['ID', 'NAME', 'OPERATION', 'CALLS', 'LAST'], ...rows])
}

function csv(calls: readonly DeprecatedCalls[]): string {
  const rows = calls.map(({ key, name, operation, calls, lastMs }) => [
    ...[key, name, operation, String(calls), new Date(lastMs).toISOString()],
  ])
  return [['key', 'name', 'operation', 'calls', 'last'], ...rows]
    .map((row) => row.map(cell).join(','))
    .join('\r\n')
}

/** A field of CSV; one that a spreadsheet would take for a formula is made a text. */
function cell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
