import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Caller } from '../../gateway/keys/caller.ts'
import type { TokenUse } from '../../gateway/keys/last-use-store.ts'
import { placeOf } from '../../gateway/keys/line.ts'
import type { CommandContext, Context } from '../../gateway/operations/context.ts'
import { listKeys } from '../../gateway/operations/keys/list.ts'
import { Listed } from '../../gateway/operations/listed.ts'
import { LastUses } from '../../gateway/records/last-uses.ts'
import { startGateway, type Gateway } from '../support/gateway.ts'
import type { RedisSettings, StoreSettings } from '../../gateway/config/config.ts'
import { migrations, openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedTallies } from '../../gateway/stores/embedded/tallies.ts'
import { dayMs } from '../../gateway/limits/step.ts'
import { desksFor } from '../../gateway/operations/desks.ts'
import { deprecatedCall, deprecatedCalls } from '../../gateway/records/deprecated-calls.ts'
import { fleetOfOne } from '../../gateway/fleet/of-one.ts'
import { inForceText, toldApart } from '../../gateway/fleet/in-force.ts'
import { noticeDifferences } from '../../gateway/fleet/notice.ts'
import { Self } from '../../gateway/fleet/self.ts'
import type { FleetNews, SeenMember } from '../../gateway/fleet/store.ts'
import { usage } from '../../gateway/records/usage.ts'
import { copyStore } from '../../gateway/stores/copy.ts'
import { openGoal, openSource } from '../../gateway/stores/open-copy.ts'
import { backupFile } from '../../gateway/stores/embedded/backup.ts'
import { openSqlite } from '../../shared/sqlite.ts'
import { openStores } from '../../gateway/stores/open.ts'
import { newKey } from '../contracts/keys.ts'
import { connect, type Connection } from '../../gateway/stores/redis/connect.ts'
import { embeddedLastUses } from '../../gateway/stores/embedded/last-uses.ts'
import { redisLastUses } from '../../gateway/stores/redis/last-uses.ts'
import { redisFleet, type RedisFleet } from '../../gateway/stores/redis/fleet.ts'
import { redisTallies } from '../../gateway/stores/redis/tallies.ts'
import { embeddedAudit } from '../../gateway/stores/embedded/audit.ts'
import { redisAudit } from '../../gateway/stores/redis/audit.ts'
import { auditStoreContract } from '../contracts/audit.ts'
import { fleetStoreContract, type MovableFleet } from '../contracts/fleet.ts'
import { ledgerContract, type LedgerViews } from '../contracts/ledger.ts'
import { redisQuotas } from '../../gateway/stores/redis/quota.ts'
import { lastUseStoreContract, type LastUseViews } from '../contracts/last-uses.ts'
import { tallyStoreContract } from '../contracts/tallies.ts'
import { startRedis, startCluster } from '../support/redis.ts'
import { until } from '../support/until.ts'

/** Whether names of all slots are answered: a new Cluster may still be settling. */
async function isSettled(connection: Connection): Promise<boolean> {
  const asked = Array.from({ length: 50 }, (_, i) => connection.get(`settled-${i}`))
  return (await Promise.allSettled(asked)).every(({ status }) => status === 'fulfilled')
}

async function redisViews(t: Test, settings: RedisSettings) {
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 2_000 }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  await until(() => connections.every(({ status }) => status === 'ready'))
  for (const each of connections) await until(() => isSettled(each))
  const [first, second] = connections.map((connection) =>
    redisTallies({ connection, prefix: 'test:', timeoutMs: 2_000 }),
  )
  if (!first || !second) throw new Error('two were asked for')
  return { first, second }
}

void tallyStoreContract(t, 'embedded, in a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
  t.teardown(() => [one, two].forEach((database) => database.close()))
  return Promise.resolve({ first: embeddedTallies(one), second: embeddedTallies(two) })
})

void tallyStoreContract(t, 'redis, a single server', async (t) =>
  redisViews(t, { url: (await startRedis(t)).url }),
)

const cluster = startCluster(t)

void tallyStoreContract(t, 'redis, a Cluster', async (t) =>
  redisViews(t, { cluster: (await cluster).nodes }),
)

void lastUseStoreContract(t, 'embedded, in a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
  t.teardown(() => [one, two].forEach((database) => database.close()))
  const [first, second] = [embeddedLastUses(one), embeddedLastUses(two)]
  return Promise.resolve({ first, second, setTime: () => undefined })
})

async function lastUsesIn(t: Test, settings: RedisSettings): Promise<LastUseViews> {
  let now = 0
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 2_000 }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  await until(() => connections.every(({ status }) => status === 'ready'))
  for (const each of connections) await until(() => isSettled(each))
  const [first, second] = connections.map((connection) =>
    redisLastUses({ connection, prefix: 'used:', timeoutMs: 2_000, testClock: () => now }),
  )
  if (!first || !second) throw new Error('two were asked for')
  return { first, second, setTime: (ms) => (now = ms) }
}

void lastUseStoreContract(t, 'redis, a single server', async (t) =>
  lastUsesIn(t, { url: (await startRedis(t)).url }),
)

void lastUseStoreContract(t, 'redis, a Cluster', async (t) =>
  lastUsesIn(t, { cluster: (await cluster).nodes }),
)

const settingsOf = (file: string): StoreSettings => {
  return { file, redis: undefined, prefix: 'l:', timeoutMs: 5_000, whenUnreachable: 'local' }
}

void ledgerContract(t, 'embedded, in a SQLite file', (t) => {
  let now = 0
  const settings = settingsOf(join(t.testdir(), 'gateway.db'))
  const first = openStores(settings, { clock: () => now })
  const second = openStores(settings, { clock: () => now, forCommandLine: true })
  t.teardown(() => Promise.all([first.close(), second.close()]))
  // One process counts in a file; the other one closes days as well.
  const closing = { ...first, ledger: second.ledger }
  return Promise.resolve({ first, second: closing, setTime: (ms) => (now = ms) })
})

async function ledgerIn(t: Test, redis: RedisSettings): Promise<LedgerViews> {
  let now = 0
  const parts = { prefix: 'ledger:', timeoutMs: 2_000 }
  const [first, second] = [0, 1].map(() => {
    const stores = openStores({ ...settingsOf(''), ...parts, redis })
    const connection = connect(redis, { timeoutMs: 2_000 })
    t.teardown(async () => {
      connection.disconnect()
      await stores.close()
    })
    const quota = redisQuotas({ ...parts, connection, testClock: () => now })
    return { connection, stores: { ...stores, quota } }
  })
  if (!first || !second) throw new Error('two were asked for')
  for (const { connection, stores } of [first, second]) {
    await stores.ready()
    await until(() => connection.status === 'ready')
    await until(() => isSettled(connection))
  }
  return { first: first.stores, second: second.stores, setTime: (ms) => (now = ms) }
}

void ledgerContract(t, 'redis, a single server', async (t) =>
  ledgerIn(t, { url: (await startRedis(t)).url }),
)

void ledgerContract(t, 'redis, a Cluster', async (t) =>
  ledgerIn(t, { cluster: (await cluster).nodes }),
)

t.test('times of uses are by Redis’ clock, however late a gateway’s own clock is', async (t) => {
  const { first, setTime } = await lastUsesIn(t, { url: (await startRedis(t)).url })
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
  const options = { store: `file: ${join(t.testdir(), 'used.db')}`, more, clock: () => now }
  const gateway = await startGateway(t, options)
  const lists = operationsOn(gateway, () => now)
  const flush = () => gateway.app.core.tallying.flush()
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
  t.match(await again.text({ unused: day }), /^No key matches\.\n\nUses are known since 20/)
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
  const { url, client } = await startRedis(t)
  const store = `redis: "${url}"`
  const one = await startGateway(t, { store })
  const hour = 3_600_000
  const two = await startGateway(t, { store, clock: () => Date.now() + hour })
  const lists = operationsOn(one, Date.now)
  const flush = async () => {
    await Promise.all([one, two].map(({ app }) => app.core.tallying.flush()))
  }
  const imported = 'imported-token-of-another-system'
  const text = `{"token":"${imported}","plan":"free","name":"Imported"}`
  await one.desk.import(text)
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

t.test('copies and backups take last uses along, and since when they are noted', async (t) => {
  const folder = t.testdir()
  const at = (place: Partial<StoreSettings>): StoreSettings => ({
    ...{ file: '', redis: undefined, prefix: 'copy:', timeoutMs: 2_000, whenUnreachable: 'local' },
    ...place,
  })
  const { url } = await startRedis(t)
  const places = [
    at({ file: join(folder, 'one.db') }),
    at({ redis: { url } }),
    at({ file: join(folder, 'two.db') }),
  ]
  const keys = Array.from({ length: 300 }, () => newKey())
  const beganMs = 1_700_000_000_000
  const uses = keys.map(({ id: key }, i) => ({ key, mark: 'abcdefgh', atMs: beganMs + i }))
  const [first, ...others] = places
  if (!first) throw new Error('three were asked for')
  const filled = openStores(first)
  await filled.keys.add(keys)
  await filled.lastUses.note(uses, beganMs)
  await filled.close()
  let from = first
  for (const to of others) {
    const source = await openSource(from, Date.now)
    const goal = await openGoal(to, Date.now, false)
    const { lastUses } = await copyStore(source, goal, { nowMs: Date.now(), by: 'me' })
    await goal.close()
    await source.close()
    t.equal(lastUses, 300)
    from = to
  }
  backupFile(from.file, join(folder, 'backup.db'))
  for (const place of [...others, at({ file: join(folder, 'backup.db') })]) {
    const stores = openStores(place, { forCommandLine: true })
    const found = await stores.lastUses.of(keys.map(({ id }) => id))
    t.ok(found.every((each, i) => each?.get('abcdefgh') === beganMs + i))
    t.equal(await stores.lastUses.since(), beganMs)
    await stores.close()
  }
})

t.test('a file of the version before the last uses gets their table', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const before = openSqlite(file, {
    migrations: migrations.slice(
      0,
      migrations.findIndex((step) => step.includes('lastUses')),
    ),
    busyTimeoutMs: 100,
  })
  before.close()
  const database = openGatewayFile(file)
  t.teardown(() => database.close())
  const store = embeddedLastUses(database)
  await store.note([{ key: 'a', mark: 'm', atMs: 5 }], 5)
  t.strictSame(await store.of(['a']), [new Map([['m', 5]])])
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

void auditStoreContract(t, 'embedded, in a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
  for (const database of [one, two]) database.pragma('synchronous = OFF')
  t.teardown(() => [one, two].forEach((database) => database.close()))
  return Promise.resolve({ first: embeddedAudit(one), second: embeddedAudit(two) })
})

void auditStoreContract(t, 'redis, a single server', async (t) => {
  const { url } = await startRedis(t)
  const connections = [1, 2].map(() => connect({ url }, { timeoutMs: 2_000 }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  await until(() => connections.every(({ status }) => status === 'ready'))
  for (const each of connections) await until(() => isSettled(each))
  const [first, second] = connections.map((connection) => redisAudit(connection, 'test:'))
  if (!first || !second) throw new Error('two were asked for')
  return { first, second }
})

t.test('a list of the audit reads no further back than its first moment', async (t) => {
  const { url, client } = await startRedis(t)
  const connection = connect({ url }, { timeoutMs: 2_000 })
  t.teardown(() => connection.disconnect())
  const audit = redisAudit(connection, 'test:')
  const change = { by: 'me', what: 'keys.change', subject: 'another', before: null, after: null }
  for (let atMs = 0; atMs < 2_000; atMs++) {
    void client.xadd('test:audit', '*', 'entry', JSON.stringify({ atMs, ...change }))
  }
  const reads = async (fromMs: number): Promise<number> => {
    await client.config('RESETSTAT')
    t.strictSame(await audit.list({ fromMs, limit: 9, subject: 'one' }), [])
    return Number(/xrevrange:calls=(\d+)/.exec(await client.info('commandstats'))?.[1])
  }
  t.equal(await reads(1_900), 1)
  t.ok((await reads(0)) >= 4)
})

async function redisFleets(t: Test, settings: RedisSettings, count = 1) {
  let now = 0
  const open = async (): Promise<RedisFleet> => {
    const connection = connect(settings, { timeoutMs: 2_000 })
    await until(() => connection.status === 'ready')
    const fleet = redisFleet({
      ...{ connection, prefix: 'fleet:', timeoutMs: 2_000 },
      clock: () => now - 3_600_000,
      testClock: () => now,
    })
    t.teardown(async () => {
      await fleet.close()
      connection.disconnect()
    })
    await until(() =>
      fleet.list().then(
        () => true,
        () => false,
      ),
    )
    return fleet
  }
  const fleets = await Promise.all(Array.from({ length: count }, open))
  return { fleets, setTime: (ms: number) => (now = ms) }
}

async function movableFleet(t: Test, settings: RedisSettings): Promise<MovableFleet> {
  const { fleets, setTime } = await redisFleets(t, settings)
  const [fleet] = fleets
  if (!fleet) throw new Error('one was asked for')
  return { fleet, beat: () => fleet.beat(), setTime }
}

void fleetStoreContract(t, 'embedded, of one gateway', () => {
  let now = 0
  const fleet = fleetOfOne(() => now)
  return Promise.resolve({ fleet, beat: () => Promise.resolve(), setTime: (ms) => (now = ms) })
})

void fleetStoreContract(t, 'redis, a single server', async (t) =>
  movableFleet(t, { url: (await startRedis(t)).url }),
)

void fleetStoreContract(t, 'redis, a Cluster', async (t) =>
  movableFleet(t, { cluster: (await cluster).nodes }),
)

t.test(
  'gateways that differ for two minutes are news, once, and so is their agreement',
  async (t) => {
    const { url, client } = await startRedis(t)
    const { fleets, setTime } = await redisFleets(t, { url }, 3)
    const startMs = 1_900_000_000_000
    let now = startMs
    setTime(now)
    const heard: [name: string, news: FleetNews][] = []
    const hashes = ['old', 'old', 'old']
    const selves = fleets.map((fleet, i) => {
      const self = new Self({ name: `edge-${i}`, clock: () => startMs - 3_600_000 })
      const loadedAtMs = startMs - 3_600_000
      self.fileState = () => ({ hash: hashes[i] ?? '', loadedAtMs, mistakes: undefined })
      fleet.join(
        () => self.memberOf('redis'),
        (news) => heard.push([self.name, news]),
      )
      return self
    })
    const [first] = fleets
    if (!first) throw new Error('three were asked for')
    const pass = async (seconds: number, except?: RedisFleet): Promise<void> => {
      for (let s = 0; s < seconds; s += 4) {
        setTime((now += 4_000))
        for (const fleet of fleets) if (fleet !== except) await fleet.beat()
      }
    }
    await pass(8)
    t.equal(first.size, 3)
    t.equal(first.configs, 1)
    t.equal((await first.list()).differSinceMs, undefined)
    const { members } = await first.list()
    t.strictSame(
      members.map(({ sinceMs }) => sinceMs),
      [startMs, startMs, startMs],
      'times are by Redis’ clock, whatever those of the gateways are',
    )

    for (const i of hashes.keys()) {
      hashes[i] = 'new'
      await pass(28)
    }
    t.strictSame(heard, [], 'a rolling change of a minute makes no news')
    t.equal((await first.list()).differSinceMs, undefined)

    hashes[2] = 'other'
    await pass(120)
    t.strictSame(heard, [], 'not yet')
    t.equal(first.configs, 2)
    await pass(8)
    t.equal(heard.length, 1, 'one gateway hears it')
    t.match(heard, [[/^edge-/, 'differ']])
    await pass(40)
    t.equal(heard.length, 1, 'once')
    hashes[2] = 'new'
    await pass(8)
    t.match(
      heard,
      [
        ['', 'differ'],
        [/^edge-/, 'agree'],
      ].map(([, news]) => [/./, news]),
    )
    t.equal(heard.length, 2)
    await pass(8)
    t.equal(heard.length, 2)

    // The third is killed: it beats no more.
    const third = fleets[2]
    await pass(4, third)
    t.equal((await first.list()).members.length, 3, 'after 4 s of silence it may still come')
    await pass(4, third)
    const left = await first.list()
    t.strictSame(left.members.map(({ name }) => name).sort(), ['edge-0', 'edge-1'])
    t.equal(left.silent, 0)

    // A gateway of the former version beats in the one set only, and tells nothing of itself.
    await client.zadd('fleet:gateways', now, 'a-gateway-of-the-former-version')
    t.equal((await first.list()).silent, 1)
    await first.beat()
    t.equal(first.size, 3)
    // A later version writes what this one can't read.
    await client.hset('fleet:{fleet}:lines', 'later', 'abc {"v":2}')
    await client.zadd('fleet:{fleet}:beats', now, 'later')
    await client.zadd('fleet:gateways', now, 'later')
    t.equal((await first.list()).silent, 2)
    t.equal(selves.length, 3)

    const names = (await client.keys('fleet:*')).filter((name) => name.includes('{fleet}'))
    for (const name of names) t.ok((await client.pttl(name)) > 0, `${name} is forgotten one day`)
  },
)

t.test(
  'a difference is a warning in the log and a line in the audit, and so is its end',
  async (t) => {
    const database = openGatewayFile(join(t.testdir(), 'gateway.db'))
    t.teardown(() => database.close())
    const audit = embeddedAudit(database)
    const fleet = fleetOfOne()
    const hashes = ['529981b2c0aa', '1c0f77d2e4ab']
    for (const [i, name] of ['edge-1', 'edge-2'].entries()) {
      const self = new Self({ name })
      self.fileState = () => {
        return { hash: hashes[i] ?? '', loadedAtMs: Date.now(), mistakes: undefined }
      }
      fleet.join(
        () => self.memberOf('a store'),
        () => undefined,
      )
    }
    const lines: [level: string, about: object, message: string][] = []
    const at = (level: string) => (about: object, message: string) =>
      void lines.push([level, about, message])
    const log = { info: at('info'), warn: at('warn'), error: at('error') }
    const tell = noticeDifferences({ fleet, audit, log, clock: Date.now })
    tell('differ')
    await until(async () => (await audit.list({ fromMs: 0, limit: 9 })).length === 1)
    hashes[1] = '529981b2c0aa'
    tell('agree')
    await until(async () => (await audit.list({ fromMs: 0, limit: 9 })).length === 2)
    t.match(lines, [
      ['warn', { notice: 'gateways.differ' }, /different configurations: 1 of 2 goes by /],
      ['info', { notice: 'gateways.agree', inForce: [{ gateways: ['edge-1', 'edge-2'] }] }],
    ])
    const found = await audit.list({ fromMs: 0, limit: 9 })
    t.match(found, [
      { what: 'gateways.agree', by: 'gateway', after: { inForce: [{}] } },
      { what: 'gateways.differ', after: { inForce: [{ gateways: [/^edge-/] }, {}] } },
    ])
    const unreachable = { list: () => Promise.reject(new Error('out of reach')) }
    noticeDifferences({ fleet: unreachable, audit, log, clock: Date.now })('differ')
    await until(() => lines.length === 3)
    t.match(lines[2], ['error', { err: { message: 'out of reach' } }, /could not be told/])
  },
)

t.test('one sentence says which configurations are in force', (t) => {
  const nowMs = 1_900_000_000_000
  const minutes = (count: number): number => nowMs - count * 60_000
  const member = (name: string, hash: string, since: number, refusal?: string): SeenMember => ({
    ...{ id: `${name}-id-of-a-process`, name, host: 'web', pid: 7, version: '1', store: 'r' },
    ...{
      sinceMs: minutes(500),
      seenAtMs: nowMs,
      config: { hash, sinceMs: minutes(since), refusal },
    },
  })
  const text = (...members: SeenMember[]): string => {
    return inForceText(toldApart({ nowMs, members, silent: 0 }))
  }
  const refusal = 'c.yaml:14:22: plans.free.perMinute must be a whole number'
  const [a, b] = ['529981b2c0aa', '1c0f77d2e4ab']
  t.equal(text(), 'No gateway tells of its configuration.')
  t.equal(text(member('x', a, 1)), 'The gateway goes by 5299…')
  t.equal(text(member('x', a, 1), member('y', a, 9)), 'All 2 gateways go by 5299…')
  t.equal(
    text(member('g-1', a, 12), member('g-2', a, 11), member('g-3', b, 300, refusal)),
    '2 of 3 go by 5299…; g-3 by 1c0f… for 12 minutes, and refuses its file: line 14',
  )
  t.equal(
    text(member('g-1', a, 12, refusal), member('g-2', b, 0.5)),
    '1 of 2 goes by 1c0f…; g-1 by 5299… for 30 seconds, and refuses its file: line 14',
    'of equally many the newer one comes first',
  )
  t.equal(
    text(member('g', a, 12, refusal), member('h', a, 3, 'the file is gone')),
    'All 2 gateways go by 5299…; g and h refuse their files',
  )
  t.equal(
    text(member('g', a, 12), member('h', a, 3, 'the file is gone')),
    'All 2 gateways go by 5299…; h refuses its file: the file is gone',
  )
  const alike = { ...member('g', '5299999', 1), id: 'another', pid: 8 }
  t.equal(
    text(member('g', a, 5), member('h', a, 5), alike),
    '2 of 3 go by 52998…; g (web:8) by 52999… for 1 minute',
    'hashes and names that begin alike are told apart',
  )
  t.end()
})

t.test('days that are too old are forgotten', async (t) => {
  const database = openGatewayFile(join(t.testdir(), 'gateway.db'))
  t.teardown(() => database.close())
  const store = embeddedTallies(database)
  const tally = { key: 'a', what: 'x', count: 1, lastMs: 1 }
  for (const day of [100, 189, 190]) await store.add(String(day), [{ day, ...tally }])
  const days: number[] = []
  for await (const { day } of store.list(0, 1_000)) days.push(day)
  t.strictSame(days, [189, 190])

  const { url, client } = await startRedis(t)
  const connection = connect({ url }, { timeoutMs: 2_000 })
  t.teardown(() => connection.disconnect())
  await until(() => connection.status === 'ready')
  await redisTallies({ connection, prefix: 'p:', timeoutMs: 2_000 }).add('1', [
    { day: 1, ...tally },
  ])
  const twice = redisTallies({ connection, prefix: 'p:', timeoutMs: 2_000 })
  await twice.add('1', [{ day: 1, ...tally }])
  t.equal(await client.hget('p:{tallies:1}', 'count a x'), '1', 'a batch that is handed in again')
  const left = await client.ttl('p:{tallies:1}')
  t.ok(left > 90 * 86_400 && left <= 91 * 86_400, `Redis drops a day by itself, after ${left} s`)
})

t.test('reports on 5,000 keys leave Redis to those who decide', async (t) => {
  const { url, client } = await startRedis(t)
  const settings = { file: '', redis: { url }, prefix: 'p:', whenUnreachable: 'local' } as const
  const stores = openStores({ ...settings, timeoutMs: 2_000 })
  t.teardown(() => stores.close())
  await stores.ready()
  const keys = Array.from({ length: 5_000 }, (_, i) => newKey({ name: `Customer ${i}` }))
  await stores.keys.add(keys)
  const [day, nowMs] = [Math.floor(Date.now() / dayMs), Date.now()]
  const called = { day, what: deprecatedCall('GET /x'), count: 1, lastMs: nowMs }
  for (const [i, { id: key }] of keys.entries()) {
    if (i % 1_000 > 0) continue
    const some = keys.slice(i, i + 1_000).flatMap(({ id: key }) => [
      { ...called, key },
      { ...called, key, what: 'admitted 2xx' },
    ])
    await stores.tallies.add(key, some)
  }
  await Promise.all(
    keys.map(({ id }) => client.zadd('p:bans', nowMs + 60_000, JSON.stringify([id, `key:${id}`]))),
  )
  const { quotas } = desksFor({
    ...{ stores, clock: Date.now, by: 'me' },
    plans: new Map(),
  })
  const limits = { perMinute: 1e6, perDay: 1e6 }
  const callsOf = async (command: string) =>
    Number(
      new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await client.info('commandstats'))?.[1] ??
        0,
    )
  const reports = [
    () => usage(stores, { fromDay: day, toDay: day }),
    () => deprecatedCalls(stores, day, day),
    () => quotas.bans(),
  ]
  for (const report of reports) {
    const before = await callsOf('evalsha')
    let [isOver, decided] = [false, 0]
    const told = report().finally(() => (isOver = true))
    while (!isOver) {
      await stores.quota.decide('q', { key: 'k', cost: 1, limits })
      decided++
    }
    const found = await told
    t.equal(found.length, 5_000)
    t.ok(found.every(({ name }) => name.startsWith('Customer ')))
    const calls = (await callsOf('evalsha')) - before - decided
    t.ok(calls > 0 && calls <= 90, `${calls} calls for 5,000 names, with their tallies`)
    t.ok(decided > 0, `${decided} decisions meanwhile`)
  }
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
    const json = (await listKeys.run(context, { ...given })).json()
    return json instanceof Listed ? json.wholeJson() : json
  }
  return {
    list: async (given: object) => (await list(given)) as Shown[],
    text: async (given: object) => {
      if (listKeys.where !== 'anywhere') throw new Error('it is')
      return (await listKeys.run(context, { ...given })).text(context as unknown as CommandContext)
    },
    show: async (id: string) => {
      const { key } = (await stores.keys.get(id)) ?? {}
      if (!key) throw new Error('no such key')
      return (await desks().quotas.describe(key)) as unknown as Shown
    },
    ids: async (given: object) => ((await list(given)) as Shown[]).map(({ id }) => id),
    page: async (given: object, limit: number, cursor?: string) => {
      const after = cursor === undefined ? undefined : placeOf(cursor)
      return (await list({ ...given, limit, after })) as { keys: Shown[]; next: string | null }
    },
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
