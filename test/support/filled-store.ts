import { countedIn, unanswered } from '../../gateway/front/limits/counters.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { RedisSettings, StoreSettings } from '../../gateway/front/config/config.ts'
import type { QuotaDay } from '../../gateway/front/counts/peak-store.ts'
import type { Ask } from '../../gateway/front/limits/step.ts'
import { dayMs, dayWindow, windowOf } from '../../shared/windows.ts'
import { noLimits } from '../../gateway/front/limits/limits.ts'
import { deprecatedCall } from '../../gateway/front/counts/deprecated-calls.ts'
import { openToRead } from '../../gateway/front/stores/dump/open.ts'
import { damaged } from '../../gateway/front/stores/dump/store.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import type { Stores } from '../../gateway/front/stores/stores.ts'
import type { CommandContext } from '../../gateway/office/operations/context.ts'
import {
  copyStore,
  dumpPieces,
  readingAt,
  type Copied,
} from '../../gateway/office/operations/store/transfer.ts'
import { newKey } from '../contracts/keys.ts'
import { until } from './until.ts'

/** The settings of a store in a file or a Redis. */
export function storeAt(place: string | RedisSettings, prefix = 'test:'): StoreSettings {
  const [file, redis] = typeof place === 'string' ? [place, undefined] : ['', place]
  return { file, redis, prefix, timeoutMs: 5_000, whenUnreachable: 'local' }
}

/** The rules of bans by which a filled store has strikes and no ban of its own. */
export const bans = {
  ...{ strikes: 50, withinMs: 60_000, graceMs: 0, forMs: 300_000, factor: 2 },
  ...{ atMostMs: 3_600_000, memoryMs: dayMs },
}

/** The limits of all who ask a filled store. */
export const limits = { perMinute: 5, perDay: 100 }

/** Opens a store until the end of a test, once it answers. */
export async function open(t: Test, settings: StoreSettings): Promise<Stores> {
  const stores = await openStores(settings)
  t.teardown(() => stores.close().catch(() => undefined))
  await stores.ready()
  // A gateway begins without a store that is slow to come, as a Cluster may be on a busy machine.
  await until(() => stores.quota.bans().then(Boolean, () => false))
  return stores
}

/** The context of a command on a store. */
export function contextOf(store: StoreSettings): CommandContext {
  const progress = () => () => undefined
  return { config: { store }, clock: Date.now, by: 'me', progress } as unknown as CommandContext
}

/** Copies a store to another, as the command does with `--live`. */
export function copy(from: StoreSettings, to: StoreSettings, isDryRun = false): Promise<Copied> {
  return copyStore(contextOf(from), { from, to, isDryRun, isLive: true })
}

/** The text of a store's dump. */
export async function dumpText(store: StoreSettings): Promise<string> {
  let text = ''
  const context = contextOf(store)
  for await (const piece of dumpPieces(context, readingAt(context))) text += piece
  return `${text}\n`
}

/**
 * The rows of a store's dump in one order for all technologies, without the lines of its audit about copies. Its first and its
 * last line are left out.
 */
export async function dump(store: StoreSettings): Promise<string[]> {
  const lines = (await dumpText(store)).trimEnd().split('\n').slice(1, -1)
  return lines.filter((line) => !/"what":"store\.(?:copy|load)"/.test(line)).sort()
}

/** The points that the quotas of a store have used on their present days. */
export async function dayUsed(store: StoreSettings): Promise<number[]> {
  const source = await openToRead(store, Date.now)
  try {
    const found = await source.quotas.of((await source.quotas.names()).sort())
    return found.flatMap((state) =>
      state && state !== damaged ? [countedIn(state, dayWindow)] : [],
    )
  } finally {
    await source.close()
  }
}

/** A day of a quota that hardly used it. */
export function peak(quota: string, more: Partial<QuotaDay>): QuotaDay {
  return { quota, day: 0, most: { minute: 0, day: 0 }, refused: {}, ...more }
}

/** A store with something of everything, which a gateway has open and has not put in order. */
export async function filled(t: Test, settings: StoreSettings) {
  const stores = await open(t, settings)
  const now = Date.now()
  const restricted = { methods: ['GET'], paths: ['/v1/pets/*'], addresses: ['10.0.0.0/8'] }
  const keys = [
    newKey({ name: 'plain' }),
    newKey({
      name: 'Ünï "quoted"',
      account: 'acme',
      limits: { perMinute: 5, perDay: 'unlimited' },
    }),
    newKey({ name: 'expiring', expiresAtMs: now + dayMs, note: 'soon', ...restricted }),
    newKey({ name: 'disabled', disabled: true }),
    newKey({ name: 'revoked', revokedAtMs: now - 5 }),
    newKey({ secrets: [{ hash: `new${now}` }, { hash: `old${now}`, untilMs: now + 3_600_000 }] }),
  ]
  await stores.keys.add(keys)
  const [plain, ofAccount, expiring, disabled] = keys.map(({ id }) => id)
  if (!plain || !ofAccount || !expiring || !disabled) throw new Error('they were made')
  const changed = await stores.keys.get(plain)
  await stores.keys.replace(
    { ...keys[0], ...changed?.key, name: 'changed' } as never,
    changed?.version ?? 0,
  )
  const ask = (key: string, more: Partial<Ask> = {}): Ask => ({
    key,
    cost: 1,
    limits,
    bans,
    ...more,
  })
  const decide = (quota: string, one: Ask) => stores.quota.decide(quota, one)
  await decide(`key:${plain}`, ask(plain, { cost: 3 }))
  const { seen } = await decide(`key:${plain}`, ask(plain, { cost: 2 }))
  await stores.quota.adjust(`key:${plain}`, unanswered(1), { counters: seen })
  await stores.quota.setMonthFrom('account:acme', 15)
  // Some strikes, and no ban.
  for (let i = 0; i < 8; i++) await decide('account:acme', ask(ofAccount))
  await sleep(5)
  for (let i = 0; i < 2; i++) await decide('account:acme', ask(ofAccount))
  // One of its points is bought.
  await stores.quota.topUp('account:acme', { id: 'first', points: 50, by: 'me', note: 'a "job"' })
  const included = { ...noLimits, perDay: 1 }
  const prepaid = { bans: undefined, limits: noLimits, included, prepaid: windowOf('day') }
  await decide('account:acme', ask(ofAccount, prepaid))
  // Its points are past, for the ledger.
  await decide(`key:${expiring}`, ask(expiring, { cost: 2 }))
  await stores.quota.reset(`key:${expiring}`)
  await stores.quota.ban(`key:${expiring}`, expiring, now + 3_600_000)
  await stores.quota.grant(`key:${plain}`, {
    perDay: 500,
    by: 'ops',
    note: 'a "job"',
  })
  const today = Math.floor(now / dayMs)
  const tally = { day: today, key: plain, what: 'admitted 2xx', count: 7, lastMs: 0 }
  await stores.tallies.add({
    by: 'one',
    number: 1,
    lines: [
      tally,
      { ...tally, day: today - 89, count: 1 },
      { ...tally, what: deprecatedCall('GET /v1/pets/{petId}'), lastMs: now },
    ],
  })
  await stores.peaks.add({
    ...{ by: 'one', number: 1 },
    lines: [
      peak(`key:${plain}`, { day: today - 89, most: { minute: 3, day: 30 } }),
      peak(`key:${plain}`, {
        day: today,
        most: { minute: 5, day: 50, month: 70 },
        refused: { month: 2 },
      }),
      peak('account:acme', { day: today - 4, most: { minute: 9, day: 90 }, refused: { day: 1 } }),
    ],
  })
  await stores.ledger.begin(today - 9)
  await stores.ledger.close({ day: today - 2, chunks: [] })
  const chunks = [Buffer.from([0, 10, 255]), Buffer.from('x')]
  await stores.ledger.close({ day: today - 1, chunks })
  for (let i = 0; i < 3; i++) {
    const entry = { atMs: now - 3_000 + i, by: 'ops', subject: plain, before: null, after: { i } }
    await stores.audit.add({ what: 'keys.change', ...entry })
  }
  return { stores, keys, plain, ofAccount, expiring, disabled }
}
