import type { StoreSettings } from '../../../front/config/config.ts'
import { ofCommandLine, WrongInput } from '../operation.ts'
import { aSwitch, textOf } from '../parameters.ts'
import { rowTable } from './dump.ts'

export const copyToStore = ofCommandLine({
  name: 'store copy',
  because: 'it would take the time of callers',
  summary: 'Copy keys, bans, counters, usage and audit to another store',
  details:
    'A store is a FILE (embedded), a redis:// or rediss:// URL with the prefix of this configuration, or ' +
    'config:FILE, the store that another configuration names (Sentinel, Cluster, another prefix). Without ' +
    '--from or --to it is that of this configuration.\n\n' +
    'It is store dump and store load in one: keys keep ids and tokens. For a move stop the gateways, copy, name the new store in the ' +
    'configuration, start them. With --live, gateways may serve from the store that is read; what changes ' +
    'meanwhile may be missing. No gateway may use the file that is written. The admin API has no such operation, ' +
    'because it would take the time of callers.',
  parameters: {
    from: textOf('STORE', 'the store to read'),
    to: textOf('STORE', 'the store to write to; it must be empty'),
    live: aSwitch('copy although gateways serve from the store that is read'),
    dryRun: aSwitch('count and check, and write nothing'),
  },
  changes: true,
  role: 'all',
  run: async (context, { from, to, live = false, dryRun = false }) => {
    const { store } = context.config
    if (from === undefined && to === undefined) {
      throw new WrongInput(
        'name a store with --from, --to or both; the other one is the configuration’s',
      )
    }
    // With both technologies, which other commands do without.
    const { copyStore, isSameStore, storeName } = await import('./transfer.ts')
    const source = from === undefined ? store : await storeAt('--from', from, store)
    const goal = to === undefined ? store : await storeAt('--to', to, store)
    if (isSameStore(source, goal)) {
      throw new WrongInput(`--from and --to are the same store, ${storeName(source)}`)
    }
    const beganAtMs = performance.now()
    const isLive = live || dryRun
    const copied = await copyStore(context, { from: source, to: goal, isDryRun: dryRun, isLive })
    const seconds = (performance.now() - beganAtMs) / 1_000
    const names = { from: storeName(source), to: storeName(goal) }
    return { ...names, dryRun, copied, seconds, leftOut: leftOutOf(source) }
  },
  json: ({ from, to, dryRun, copied, leftOut }) => ({ from, to, dryRun, ...copied, leftOut }),
  text: ({ from, to, dryRun, copied, seconds, leftOut }) => {
    const heading = dryRun
      ? `Would copy from ${from} to ${to}; nothing was written:`
      : `Copied from ${from} to ${to} in ${seconds.toFixed(1)} s:`
    return [heading, rowTable(copied), `Left out: ${leftOut}.`].join('\n')
  },
})

/** The store that an option names. */
async function storeAt(option: string, named: string, own: StoreSettings): Promise<StoreSettings> {
  if (named.startsWith('config:')) {
    const { readConfig } = await import('../../config/load.ts')
    return readConfig(named.slice('config:'.length)).config.store
  }
  if (/^rediss?:/i.test(named)) {
    if (!/^rediss?:\/\/\S+$/i.test(named) || !URL.canParse(named)) {
      throw new WrongInput(`${option} must be a URL such as redis://host:6379`)
    }
    return { ...own, redis: { url: named } }
  }
  if (named === '' || /^\w+:\/\//.test(named) || /^[\w.-]+:\d+$/.test(named)) {
    throw new WrongInput(
      `${option} must be a file, a redis:// or rediss:// URL, or config:FILE, got "${named}"`,
    )
  }
  return { ...own, redis: undefined, file: named }
}

/** The state that no copy has: it soon ends by itself, or gateways hold it in memory only. */
function leftOutOf({ redis }: StoreSettings): string {
  const unwritten = redis ? 'four seconds of usage' : 'half a second of counters, four of usage'
  return (
    'the counters of strangers, by address; why keys were refused, and the refused answers that explain finds; ' +
    'and what gateways that run have not written yet ' +
    `(${unwritten})`
  )
}
