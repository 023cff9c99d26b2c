import { join } from 'node:path'
import t from 'tap'
import { Caller } from '../../../gateway/front/keys/caller.ts'
import type { TokenUse } from '../../../gateway/front/keys/last-use-store.ts'
import type { CommandContext, Context } from '../../../gateway/office/operations/context.ts'
import { desksFor } from '../../../gateway/office/operations/desks.ts'
import { listKeys } from '../../../gateway/office/operations/keys/list.ts'
import { placeIn } from '../../../gateway/office/operations/keys/place.ts'
import { Listed } from '../../../gateway/office/operations/listed.ts'
import { forPrograms } from '../../../gateway/office/operations/operation.ts'
import { LastUses } from '../../../gateway/front/counts/last-uses.ts'
import { newKey } from '../../contracts/keys.ts'
import { startGateway, type Gateway } from '../../support/gateway.ts'
import { lastUseViews } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const { url, client } = await startRedis(t)

t.test('times of uses are by Redis’ clock, however late a gateway’s own clock is', async (t) => {
  const { first, setTime } = await lastUseViews(t, { url })
  setTime(1_900_000_000_000)
  const hour = 3_600_000
  const late = 1_900_000_000_000 - hour
  await first.note([{ key: 'a', mark: 'm', atMs: late - 3_000 }], late)
  const [uses] = await first.of(['a'])
  t.equal(uses?.get('m'), 1_900_000_000_000 - 3_000)
})

t.test('a key tells when it and its old token were used last', async (t) => {
  // At the beginning of a minute, because some steps stay in one.
  let now = Math.floor(Date.now() / 60_000) * 60_000
  const more = `
plans: { free: { perMinute: 1, perDay: 1000, bans: off }, gone: { perMinute: 1, perDay: 1 } }
deprecations: [ { operation: GET /v1/old, since: 2020-01-01, sunset: 2020-02-01 } ]`
  const options = { store: `file: ${join(folderOf(t), 'used.db')}`, more, clock: () => now }
  const gateway = await startGateway(t, options)
  const lists = operationsOn(gateway, () => now)
  const flush = () => gateway.app.front.flushCounts()
  const ask = async (headers: Readonly<Record<string, string>>, path = '/v1/x') =>
    (await gateway.call('GET', path, undefined, headers)).status
  await flush()

  const { key, headers: old } = await gateway.key({ name: 'Rotated' })
  const idle = await gateway.key({ name: 'Idle' })
  t.match(await lists.show(key.id), { lastUsedAt: null })
  const firstMs = now
  t.equal(await ask(old), 200)
  await flush()
  t.equal((await lists.show(key.id)).lastUsedAt, iso(firstMs))
  const { token } = await gateway.desk.rotate(key.id, 3_600_000)
  const fresh = { authorization: `Bearer ${token}` }
  t.match((await lists.show(key.id)).oldToken, { lastUsedAt: iso(firstMs) })
  const last = { old: 0, fresh: 0 }
  for (const which of ['fresh', 'old', 'old', 'fresh'] as const) {
    now += 60_000
    last[which] = now
    t.equal(await ask(which === 'old' ? old : fresh), 200)
    if (which === 'old') await flush()
  }
  await flush()
  const shown = await lists.show(key.id)
  t.equal(shown.lastUsedAt, iso(last.fresh))
  t.equal(shown.oldToken?.lastUsedAt, iso(last.old))
  t.strictSame(await lists.ids({ oldTokenUsed: 3_600_000 }), [key.id])
  t.strictSame(await lists.ids({ oldTokenUsed: 60_000 }), [key.id])
  t.strictSame(await lists.ids({ oldTokenUsed: 59_999 }), [])

  const restricted = await gateway.key({ name: 'Paths', paths: ['/v1/only'] })
  const planless = await gateway.key({ name: 'Planless', plan: 'gone' })
  const [limited, sunset] = [await gateway.key(), await gateway.key()]
  const [quota, revoked] = [await gateway.key(), await gateway.key()]
  await ask(limited.headers)
  await flush()
  now += 5_000
  t.equal(await ask(limited.headers), 429)
  t.equal(await ask(restricted.headers), 403)
  t.equal(await ask(sunset.headers, '/v1/old'), 410)
  t.equal(await ask(quota.headers, '/v1/quota'), 200)
  t.equal(await ask(revoked.headers), 200)
  const config = { ...gateway.config, plans: new Map([...gateway.config.plans].slice(0, 1)) }
  await gateway.app.change(config)
  t.equal(await ask(planless.headers), 403, 'its plan is gone')
  await flush()
  const usedMs = now
  await gateway.desk.edit(revoked.key.id, gateway.desk.revoking())
  now += 60_000
  await until(async () => (await ask(revoked.headers)) === 401)
  await flush()
  for (const { key } of [limited, restricted, sunset, quota, planless, revoked]) {
    t.equal((await lists.show(key.id)).lastUsedAt, iso(usedMs), 'whatever it was answered')
  }
  await gateway.app.close()

  const again = operationsOn(await startGateway(t, options), () => now)
  t.equal((await again.show(key.id)).oldToken?.lastUsedAt, iso(last.old), 'after a restart')
  t.strictSame(await again.ids({ neverUsed: true }), [idle.key.id])
  const day = 86_400_000
  t.strictSame(await again.ids({ unused: day }), [], 'nobody is that old')
  t.match(await again.text({ unused: day }), /^No key matches\.\n\nUse is recorded since 20/)
  now += day
  const unused = await again.ids({ unused: day })
  t.equal(unused.length, 7, 'a revoked key is not among them')
  t.strictSame(await again.ids({ unused: day, neverUsed: true }), [idle.key.id])
  const page = await again.page({ unused: day }, 4)
  const rest = await again.page({ unused: day }, 4, String(page.next))
  t.equal(page.keys.length, 4)
  t.equal(rest.next, null)
  t.ok(page.keys.every(({ lastUsedAt }) => lastUsedAt !== undefined))
  const paged = [...page.keys, ...rest.keys].map(({ id }) => id)
  t.strictSame(paged.sort(), unused.sort(), 'pages have each key once')
  t.match(await again.text({ search: 'rotated' }), /LAST USED/)
})

t.test('two gateways on one Redis note both tokens, by its clock', async (t) => {
  const store = `redis: "${url}"`
  const one = await startGateway(t, { store })
  const hour = 3_600_000
  const two = await startGateway(t, { store, clock: () => Date.now() + hour })
  const lists = operationsOn(one, Date.now)
  const flush = async () => {
    await Promise.all([one, two].map(({ app }) => app.front.flushCounts()))
  }
  const imported = 'imported-token-of-another-system'
  const text = `{"token":"${imported}","plan":"free","name":"Imported"}`
  await one.desk.import([text])
  const { key, headers: old } = await one.key()
  const { token } = await one.desk.rotate(key.id, 3 * hour)
  const fresh = { authorization: `Bearer ${token}` }
  const times: number[] = []
  for (const [gateway, headers] of [
    [one, fresh],
    [two, old],
    [one, { authorization: `Bearer ${imported}` }],
    [one, old],
    [two, fresh],
  ] as const) {
    await until(async () => (await gateway.call('GET', '/v1/x', undefined, headers)).status === 200)
    times.push(Date.now())
    await flush()
  }
  const { lastUsedAt, oldToken } = await lists.show(key.id)
  const off = [Date.parse(lastUsedAt ?? '') - (times[4] ?? 0)]
  off.push(Date.parse(oldToken?.lastUsedAt ?? '') - (times[3] ?? 0))
  t.ok(
    off.every((ms) => Math.abs(ms) < 10_000),
    `right to ${off.join(' and ')} ms`,
  )
  const [other] = await lists.list({ name: 'imported' })
  t.ok(Math.abs(Date.parse(other?.lastUsedAt ?? '') - (times[2] ?? 0)) < 10_000)
  t.equal(await client.hlen('tollgate:{keys}:used'), 3, 'one value a key, and the beginning')

  // Many requests of a key between two flushes are one write, and none is none.
  const writes = async () =>
    Number(/cmdstat_hset:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
  await flush()
  await client.config('RESETSTAT')
  for (let i = 0; i < 40; i++) await one.call('GET', '/v1/quota', undefined, fresh)
  await flush()
  const once = await writes()
  await flush()
  t.equal(await writes(), once)
  t.ok(once <= 4, `${once} writes of hashes, those of the fleet's beats among them`)
})

t.test('uses of an outage are kept until the store is back, the latest of each', async (t) => {
  let now = 1_900_000_000_000
  const noted: TokenUse[][] = []
  const failing = { on: true, meanwhile: () => undefined as unknown }
  const lastUses = new LastUses({
    clock: () => now,
    store: {
      note: (uses) => {
        failing.meanwhile()
        if (failing.on) return Promise.reject(new Error('out of reach'))
        noted.push([...uses])
        return Promise.resolve()
      },
      of: () => Promise.resolve([]),
      since: () => Promise.resolve(undefined),
    },
  })
  const callers = Array.from({ length: 600 }, (_, i) => {
    const key = newKey({ name: `Customer ${i}` })
    return new Caller(`token-${i}`, { key, version: 1 })
  })
  for (const caller of callers) lastUses.add(caller, now)
  for (let i = 0; i < 3; i++) await t.rejects(lastUses.write(), { message: 'out of reach' })
  now += 5_000
  for (const caller of callers.slice(0, 10)) lastUses.add(caller, now)
  failing.on = false
  let batches = 0
  // The store goes away in the middle, and a caller is used while it does.
  failing.meanwhile = () => {
    if (++batches === 3) {
      failing.on = true
      for (const caller of callers) lastUses.add(caller, now + 1)
    }
  }
  await t.rejects(lastUses.write())
  failing.meanwhile = () => undefined
  failing.on = false
  await lastUses.write()
  const byKey = new Map<string, number>()
  for (const { key, atMs } of noted.flat()) byKey.set(key, Math.max(atMs, byKey.get(key) ?? 0))
  t.equal(byKey.size, callers.length)
  t.ok(
    [...byKey.values()].every((atMs) => atMs === now + 1),
    'the latest of each',
  )
  t.ok(
    noted.every((batch) => batch.length <= 250),
    'one note for 250 keys',
  )
  const before = noted.length
  await lastUses.write()
  t.equal(noted.length, before, 'and nothing if none was used')
})

type Shown = Readonly<{
  id: string
  lastUsedAt: string | null
  oldToken?: Readonly<{ until: string; lastUsedAt: string | null }>
}>

/** The operations on keys of a gateway, as the command line and the admin API run them. */
function operationsOn({ config, stores }: Gateway, clock: () => number) {
  const desks = () => desksFor({ ...config, stores, clock, by: 'me' })
  const context = { config, stores: () => stores, desks, clock } as unknown as Context
  const list = async (given: object): Promise<unknown> => {
    if (listKeys.where !== 'anywhere') throw new Error('it is')
    const json = forPrograms(listKeys, await listKeys.run(context, { ...given }), context)
    return json instanceof Listed ? json.wholeJson() : json
  }
  return {
    list: async (given: object) => (await list(given)) as Shown[],
    text: async (given: object) => {
      if (listKeys.where !== 'anywhere') throw new Error('it is')
      const listing = await listKeys.run(context, { ...given })
      return listKeys.text(listing, context as unknown as CommandContext)
    },
    show: async (id: string) => {
      const { key } = (await stores.keys.get(id)) ?? {}
      if (!key) throw new Error('no such key')
      return (await desks().quotas.describe(key)) as unknown as Shown
    },
    ids: async (given: object) => ((await list(given)) as Shown[]).map(({ id }) => id),
    page: async (given: object, limit: number, cursor?: string) => {
      const after = cursor === undefined ? undefined : placeIn(cursor)
      return (await list({ ...given, limit, after })) as { keys: Shown[]; next: string | null }
    },
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
