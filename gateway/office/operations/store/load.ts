import { ofCommandLine } from '../operation.ts'
import { textOf } from '../parameters.ts'
import { rowTable } from './row-table.ts'

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
