import { statSync } from 'node:fs'
import type { StoreSettings } from '../config/config.ts'
import { readConfig } from '../config/load.ts'
import { copyStore, type Copied } from '../stores/copy.ts'
import { backupFile } from '../stores/embedded/backup.ts'
import { requireFree } from '../stores/embedded/new-file.ts'
import { keysIn } from '../stores/left-behind.ts'
import { isSameStore, openGoal, openSource, storeName } from '../stores/places.ts'
import { text, UsageError, type Command, type Context, type Input } from './command.ts'
import { aligned } from './table.ts'

/** The commands with which operators move a store, or keep a copy of it. */
export const storeCommands: readonly Command[] = [
  {
    name: 'store copy',
    changes: true,
    summary: 'Copy keys, bans, counters, usage and audit to another store',
    details:
      'A store is a FILE (embedded), a redis:// or rediss:// URL with the prefix of this configuration, or\n' +
      'config:FILE, the store that another configuration names (Sentinel, Cluster, another prefix). Without\n' +
      '--from or --to it is that of this configuration.\n\n' +
      'Keys keep ids, tokens and versions. Gateways may serve from the store that is read; a file that is\n' +
      'written must be nobody’s. What changes while it is copied may be missing: for an exact move stop the\n' +
      'gateways, copy, name the new store in the configuration, start them. The admin API has no such\n' +
      'operation, because it would take the time of callers.',
    options: {
      from: { value: 'STORE', help: 'which store is read' },
      to: { value: 'STORE', help: 'which store is written; it must be empty' },
      'into-non-empty': {
        help: 'add to a store that has something: keys that are there with the same id and version stay as they are, others must be new',
      },
      'dry-run': { help: 'count and check, and write nothing' },
    },
    run: copy,
  },
  {
    name: 'store backup',
    args: ['FILE'],
    summary: 'Write the store, as it is now, to a new file',
    details:
      'Gateways may serve meanwhile. The file is a store by itself: put it in the place of store.file\n' +
      'while no gateway runs, or bring it back with: tollgate store copy --from FILE',
    run: async (context, { args: [file = ''] }) => {
      const { config } = context
      requireFree(file)
      if (config.store.redis) {
        const to = { ...config.store, redis: undefined, file }
        const settings = { from: config.store, to, isDryRun: false, intoNonEmpty: false }
        const copied = await transfer(context, settings)
        return backedUp(config.store, file, copied.keys)
      }
      backupFile(config.store.file, file)
      return backedUp(config.store, file, keysIn(file))
    },
  },
]

type Transfer = Readonly<{
  from: StoreSettings
  to: StoreSettings
  isDryRun: boolean
  intoNonEmpty: boolean
}>

async function copy(context: Context, input: Input) {
  const { store } = context.config
  const [from, to] = [text(input, 'from'), text(input, 'to')]
  if (from === undefined && to === undefined) {
    throw new UsageError(
      'name a store with --from, --to or both; the other one is the configuration’s',
    )
  }
  const settings: Transfer = {
    from: from === undefined ? store : storeAt('--from', from, store),
    to: to === undefined ? store : storeAt('--to', to, store),
    isDryRun: input.values['dry-run'] === true,
    intoNonEmpty: input.values['into-non-empty'] === true,
  }
  if (isSameStore(settings.from, settings.to)) {
    throw new UsageError(`--from and --to are the same store, ${storeName(settings.from)}`)
  }
  const began = performance.now()
  const copied = await transfer(context, settings)
  const seconds = (performance.now() - began) / 1_000
  const [source, goal] = [storeName(settings.from), storeName(settings.to)]
  const heading = settings.isDryRun
    ? `Would copy from ${source} to ${goal}; nothing was written:`
    : `Copied from ${source} to ${goal} in ${seconds.toFixed(1)} s:`
  const leftOut = leftOutOf(settings.from)
  return {
    text: [heading, tableOf(copied), `Left out: ${leftOut}.`].join('\n'),
    json: { from: source, to: goal, dryRun: settings.isDryRun, ...copied, leftOut },
  }
}

/** Opens both, copies, and closes both, whatever happens. */
async function transfer(
  { clock, progress, by }: Context,
  { from, to, isDryRun, intoNonEmpty }: Transfer,
): Promise<Copied> {
  const source = await openSource(from, clock)
  try {
    const goal = await openGoal(to, clock, isDryRun)
    try {
      let current = ''
      let draw: (done: number) => void = () => undefined
      return await copyStore(source, goal, {
        ...{ isDryRun, intoNonEmpty, nowMs: clock(), by },
        told: (what, done, total) => {
          if (what !== current) draw = progress(what, total)
          current = what
          draw(done)
        },
      })
    } finally {
      await goal.close()
    }
  } finally {
    await source.close()
  }
}

function backedUp(from: StoreSettings, file: string, keys: number) {
  const bytes = statSync(file).size
  const size = `${(bytes / 2 ** 20).toFixed(1)} MiB`
  const count = `${keys.toLocaleString('en')} ${keys === 1 ? 'key' : 'keys'}`
  return {
    text: `${storeName(from)} is backed up in ${file}: ${count}, ${size}.`,
    json: { from: storeName(from), to: file, keys, bytes },
  }
}

/** The store that an option names. */
function storeAt(option: string, named: string, own: StoreSettings): StoreSettings {
  if (named.startsWith('config:')) return readConfig(named.slice('config:'.length)).config.store
  if (/^rediss?:/i.test(named)) {
    if (!/^rediss?:\/\/\S+$/i.test(named) || !URL.canParse(named)) {
      throw new UsageError(`${option} must be a URL such as redis://host:6379`)
    }
    return { ...own, redis: { url: named } }
  }
  if (named === '' || /^\w+:\/\//.test(named) || /^[\w.-]+:\d+$/.test(named)) {
    throw new UsageError(
      `${option} must be a file, a redis:// or rediss:// URL, or config:FILE, got "${named}"`,
    )
  }
  return { ...own, redis: undefined, file: named }
}

function tableOf(copied: Copied): string {
  const { keys, alreadyThere, quotas, bans, usage, deprecatedCalls, audit, damaged } = copied
  const rows: [number, string][] = [
    [keys, 'keys'],
    ...(alreadyThere > 0
      ? [[alreadyThere, 'keys that were there already'] as [number, string]]
      : []),
    [quotas, `quotas: counters and strikes; bans that run: ${bans.toLocaleString('en')}`],
    [usage, 'tallies of usage, by key and day'],
    [deprecatedCalls, 'tallies of deprecated calls'],
    [audit, 'lines of audit'],
    ...(damaged > 0 ? [[damaged, 'damaged entries left out'] as [number, string]] : []),
  ]
  const numbers = rows.map(([count]) => count.toLocaleString('en'))
  const width = Math.max(...numbers.map(({ length }) => length))
  return aligned(
    rows.map(([, what], place) => [`  ${(numbers[place] ?? '').padStart(width)}`, what]),
  )
}

/** What no copy has, because gateways hold it in memory only. */
function leftOutOf({ redis }: StoreSettings): string {
  const unwritten = redis ? 'four seconds of usage' : 'half a second of counters, four of usage'
  return (
    'what gateways have in memory only: counters of strangers, by address; and of those that run, ' +
    `what they have not written yet (${unwritten})`
  )
}
