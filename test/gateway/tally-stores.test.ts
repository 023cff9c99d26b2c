import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/config/config.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedTallies } from '../../gateway/stores/embedded/tallies.ts'
import { dayMs } from '../../gateway/limits/step.ts'
import { desksFor } from '../../gateway/operations/desks.ts'
import { deprecatedCall, deprecatedCalls } from '../../gateway/records/deprecated-calls.ts'
import { fleetOfOne } from '../../gateway/fleet/of-one.ts'
import { inForceText, toldApart } from '../../gateway/fleet/in-force.ts'
import { Self } from '../../gateway/fleet/self.ts'
import type { FleetNews, SeenMember } from '../../gateway/fleet/store.ts'
import { usage } from '../../gateway/records/usage.ts'
import { openStores } from '../../gateway/stores/open.ts'
import { newKey } from '../contracts/keys.ts'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { redisFleet, type RedisFleet } from '../../gateway/stores/redis/fleet.ts'
import { redisTallies } from '../../gateway/stores/redis/tallies.ts'
import { embeddedAudit } from '../../gateway/stores/embedded/audit.ts'
import { redisAudit } from '../../gateway/stores/redis/audit.ts'
import { auditStoreContract } from '../contracts/audit.ts'
import { fleetStoreContract, type MovableFleet } from '../contracts/fleet.ts'
import { tallyStoreContract } from '../contracts/tallies.ts'
import { startCluster, startRedis, until } from '../support/redis.ts'

async function redisViews(t: Test, settings: RedisSettings) {
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 2_000 }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  await until(() => connections.every(({ status }) => status === 'ready'))
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
  const [first, second] = connections.map((connection) => redisAudit(connection, 'test:'))
  if (!first || !second) throw new Error('two were asked for')
  return { first, second }
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
    await pass(4)
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
  const { quotas } = desksFor({ stores, plans: new Map(), clock: Date.now, by: 'me' })
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
    const before = (await callsOf('evalsha')) + (await callsOf('hmget'))
    let [isOver, decided] = [false, 0]
    const told = report().finally(() => (isOver = true))
    while (!isOver) {
      await stores.quota.decide('q', { key: 'k', cost: 1, limits })
      decided++
    }
    const found = await told
    t.equal(found.length, 5_000)
    t.ok(found.every(({ name }) => name.startsWith('Customer ')))
    const calls = (await callsOf('evalsha')) + (await callsOf('hmget')) - before - decided
    t.ok(calls > 0 && calls <= 90, `${calls} calls for 5,000 names, with their tallies`)
    t.ok(decided > 0, `${decided} decisions meanwhile`)
  }
})
