import { statSync } from 'node:fs'
import { counted } from '../../../../shared/commas.ts'
import { argument, textOf } from '../parameters.ts'
import { ofCommandLine } from '../operation.ts'

export const backupStore = ofCommandLine({
  name: 'store backup',
  because: 'it would take the time of callers, and writes a file of this machine',
  summary: 'Write the store, as it is now, to a new file',
  details:
    'Gateways may serve meanwhile. The file is a store by itself: put it in the place of store.file ' +
    'while no gateway runs, or bring it back with: tollgate store copy --from FILE',
  parameters: {
    file: { ...textOf('FILE', 'the file to write'), ...argument },
  },
  role: 'all',
  run: async (context, { file }) => {
    // With both technologies, which other commands do without.
    const { backupFile, copyStore, requireFree, storeName } = await import('./transfer.ts')
    const { store } = context.config
    requireFree(file)
    if (!store.redis) {
      return backedUp(storeName(store), file, backupFile(store.file, file))
    }
    const to = { ...store, redis: undefined, file }
    const copied = await copyStore(context, { from: store, to, isDryRun: false, isLive: true })
    return backedUp(storeName(store), file, copied.keys)
  },
  text: ({ from, to, keys, bytes }) => {
    const size = `${(bytes / 2 ** 20).toFixed(1)} MiB`
    return `${from} is backed up in ${to}: ${counted(keys, 'key')}, ${size}.`
  },
})

function backedUp(from: string, to: string, keys: number) {
  return { from, to, keys, bytes: statSync(to).size }
}
