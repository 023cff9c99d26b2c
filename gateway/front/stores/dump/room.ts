import { withCommas } from '../../../../shared/commas.ts'
import { dayMs } from '../../../../shared/windows.ts'
import { rememberedDays } from '../../counts/tally-store.ts'
import { ledgerDays } from '../../records/ledger-store.ts'
import { damaged, type ReadStore } from './store.ts'

/** The keys that a refusal names. */
const namedKeys = 3

/** Throws a sentence that says whose a store is, unless it has no keys, quotas, counts and closed days. */
export async function requireRoom(
  store: ReadStore,
  mayServe: boolean,
  nowMs: number,
): Promise<void> {
  const gateways = await store.gateways()
  if (!mayServe && gateways.length > 0) {
    throw new Error(`a gateway counts in ${store.name}: stop it first. Nothing was written`)
  }
  const keys = await store.keys.names()
  const contents = await contentsOf(store, keys, nowMs)
  if (contents.length === 0) return
  const serve = gateways.length === 1 ? 'serves' : 'serve'
  throw new Error(
    [
      `${store.name} isn't empty: it has ${contents.join(', ')}`,
      ...(gateways.length > 0 ? [`, and ${gateways.join(', ')} ${serve} from it`] : []),
      '. Nothing was written. ',
      keys.length > 0
        ? 'Name an empty store; keys alone are added to one in use by tollgate keys import'
        : 'It has no keys: if a load was broken off there, empty it first',
    ].join(''),
  )
}

async function contentsOf(
  store: ReadStore,
  keys: readonly string[],
  nowMs: number,
): Promise<string[]> {
  const today = Math.floor(nowMs / dayMs)
  const firstDay = today - rememberedDays + 1
  const quotas = await store.quotas.names()
  return [
    ...counted(keys.length, 'key', await someOf(store, keys)),
    ...counted(quotas.length, 'quota'),
    ...((await hasAny(store.tallies.list(firstDay, today))) ? ['usage'] : []),
    ...((await hasAny(store.peaks.list(firstDay, today))) ? ['peaks'] : []),
    ...((await hasClosed(store, today)) ? ['closed days of the ledger'] : []),
  ]
}

/** The names of some keys, by which operators know whose they are. */
async function someOf({ keys }: ReadStore, ids: readonly string[]): Promise<string> {
  const some = await keys.of(ids.slice(0, namedKeys))
  const names = some.flatMap((key) => (key && key !== damaged ? [key.name] : []))
  const more = ids.length > names.length ? ', …' : ''
  return names.length > 0 ? ` (${names.join(', ')}${more})` : ''
}

function counted(count: number, noun: string, more = ''): string[] {
  return count > 0 ? [`${withCommas(count)} ${noun}${count === 1 ? '' : 's'}${more}`] : []
}

async function hasAny(items: AsyncIterable<unknown>): Promise<boolean> {
  for await (const item of items) if (!Array.isArray(item) || item.length > 0) return true
  return false
}

async function hasClosed({ ledger }: ReadStore, today: number): Promise<boolean> {
  for (let day = today - ledgerDays; day < today; day++) {
    if (await ledger.isClosed(day)) return true
  }
  return false
}
