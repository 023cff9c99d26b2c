import { withCommas } from '../../../../shared/commas.ts'
import { ofCommandLine } from '../operation.ts'
import { textOf } from '../parameters.ts'

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
