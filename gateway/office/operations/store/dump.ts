import { withCommas } from '../../../../shared/commas.ts'
import { ofCommandLine } from '../operation.ts'
import { textOf } from '../parameters.ts'
import type { Copied } from './transfer.ts'
import { aligned } from '../table.ts'

export const dumpStore = ofCommandLine({
  name: 'store dump',
  because: 'it would take the time of callers',
  summary: 'Write all of the store as JSON lines, for store load',
  details:
    'Gateways may serve meanwhile: each key and each quota is of one moment. The file is new, and its owner alone may ' +
    'read it: it holds hashes of tokens, names and the audit. Two dumps of a store that nobody changes differ in the first line alone.',
  parameters: {
    to: textOf('FILE', 'the file to write; by default standard output'),
  },
  role: 'all',
  run: async (context, { to }) => {
    // With both technologies, which other commands do without.
    const { dumpPieces, readingAt, storeName, writeDump } = await import('./transfer.ts')
    const reading = readingAt(context)
    const store = storeName(context.config.store)
    return to === undefined
      ? { store, reading, pieces: dumpPieces(context, reading) }
      : { store, reading, to, bytes: await writeDump(context, reading, to) }
  },
  pieces: ({ pieces }) => pieces,
  json: ({ store, to, bytes, reading }) => ({ store, to, bytes, damaged: reading.damaged }),
  text: ({ store, to, bytes = 0 }) => {
    return `${store} is dumped in ${to}: ${(bytes / 2 ** 20).toFixed(1)} MiB.`
  },
  warnings: ({ reading: { damaged } }) =>
    damaged > 0 ? [`${withCommas(damaged)} damaged keys or quotas were left out`] : [],
})

export const loadStore = ofCommandLine({
  name: 'store load',
  because: 'it would take the time of callers',
  summary: 'Load what store dump has written into the store, which must be empty',
  details:
    'The store has no keys, quotas, counts and closed days of the ledger. Keys come last: whatever ends a load before, ' +
    'none works. A FILE is looked at whole before anything is written. No gateway may use the file that is loaded.',
  parameters: {
    file: { ...textOf('FILE', 'the dump; by default standard input'), isArgument: true },
  },
  changes: true,
  role: 'all',
  run: async (context, { file }) => {
    // With both technologies, which other commands do without.
    const { loadDump, storeName } = await import('./transfer.ts')
    const to = storeName(context.config.store)
    return { to, loaded: await loadDump(context, file) }
  },
  json: ({ to, loaded }) => ({ to, ...loaded }),
  text: ({ to, loaded }) => `Loaded into ${to}:\n${rowTable(loaded)}`,
})

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
