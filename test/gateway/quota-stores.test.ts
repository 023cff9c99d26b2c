import { Redis } from 'ioredis'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/config/config.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { CachedQuotas } from '../../gateway/stores/embedded/cached-quotas.ts'
import { dayMs, minuteMs, newQuota, type Ask, type Seen } from '../../gateway/limits/step.ts'
import { EmbeddedQuotas } from '../../gateway/stores/embedded/quota.ts'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { mostGrants } from '../../gateway/limits/grants.ts'
import { QuotaLimiter } from '../../gateway/limits/limiter.ts'
import { Self } from '../../gateway/fleet/self.ts'
import { redisQuotas } from '../../gateway/stores/redis/quota.ts'
import { keyedScript } from '../../gateway/stores/redis/script.ts'
import { openStores } from '../../gateway/stores/open.ts'
import type { QuotaStore } from '../../gateway/limits/store.ts'
import { quotaStoreContract, type MovableStore } from '../contracts/quota.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { json } from '../support/http.ts'
import { root, startProcess } from '../support/process.ts'
import { bound } from '../support/promises.ts'
import { startRedis, startCluster, startSentinel, type RedisServer } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { seeded } from '../support/seeded.ts'

const at = (url: string) => {
  return { redis: { url }, prefix: 'test:', timeoutMs: 5_000, whenUnreachable: 'local' } as const
}

/** Whether names of all slots are answered: the nodes of a new Cluster may still send one to another. */
async function isSettled(store: QuotaStore): Promise<boolean> {
  const limits = { perMinute: 1, perDay: 1 }
  const asked = Array.from({ length: 50 }, async (_, i) =>
    store.decide(`settled-${i}`, { key: 'k', cost: 0, limits }),
  )
  return (await Promise.allSettled(asked)).every(({ status }) => status === 'fulfilled')
}

async function inRedis(t: Test, settings: RedisSettings): Promise<MovableStore> {
  let now = 0
  const open = async () => {
    const connection = connect(settings, { timeoutMs: 2_000 })
    await until(() => connection.status === 'ready')
    const store = redisQuotas({
      connection,
      prefix: 'test:',
      timeoutMs: 2_000,
      testClock: () => now,
    })
    t.teardown(async () => {
      await store.close()
      connection.disconnect()
    })
    await until(() => isSettled(store))
    return store
  }
  return { store: await open(), setTime: (ms) => (now = ms), reopen: open }
}

quotaStoreContract(t, 'embedded, in memory and a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  let now = 0
  const open = () => new EmbeddedQuotas(openGatewayFile(file), { clock: () => now })
  let store = open()
  t.teardown(() => store.close())
  const reopen = async () => {
    await store.close()
    return (store = open())
  }
  return { store, setTime: (ms) => (now = ms), reopen }
})

t.test('embedded, a stop amid a saving of many counters leaves none behind', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const limits = { perMinute: 1_000, perDay: 1_000 }
  const store = new EmbeddedQuotas(openGatewayFile(file))
  const quotas = Array.from({ length: 5_000 }, (_, i) => `q${i}`)
  for (const quota of quotas) store.decide(quota, { key: 'k', cost: 1, limits })
  // A reset saves, in the background, and the stop comes in the midst of it.
  const reset = store.reset('q1')
  await store.close()
  await reset
  const again = new EmbeddedQuotas(openGatewayFile(file))
  t.teardown(() => again.close())
  const used = quotas.map((quota) => again.decide(quota, { key: 'k', cost: 0, limits }).dayUsed)
  t.equal(
    used.reduce((sum, each) => sum + each),
    4_999,
    'all but the one that was reset',
  )
})

t.test('embedded, a damaged row is a quota that begins anew, and hurts no other', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const store = new EmbeddedQuotas(openGatewayFile(file))
  for (const quota of ['good', 'bad', 'worse']) store.decide(quota, { key: 'k', cost: 3, limits })
  await store.close()
  const database = openGatewayFile(file)
  database.prepare(`UPDATE quotas SET state = 'garbage' WHERE quota = 'bad'`).run()
  database
    .prepare(`UPDATE quotas SET state = '{"day":"x","conducts":[]}' WHERE quota = 'worse'`)
    .run()
  database.close()
  const again = new EmbeddedQuotas(openGatewayFile(file))
  t.teardown(() => again.close())
  const used = (quota: string) => again.decide(quota, { key: 'k', cost: 0, limits }).dayUsed
  t.strictSame([used('good'), used('bad'), used('worse')], [3, 0, 0])
  await again.ban('bad', 'k', Date.now() + 60_000)
  t.match(await again.bans(), [{ quota: 'bad' }])
})

t.test('embedded, a stop waits for who has the file locked', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const store = new EmbeddedQuotas(openGatewayFile(file))
  const other = openGatewayFile(file)
  other.exec('BEGIN IMMEDIATE')
  store.decide('q', { key: 'k', cost: 3, limits })
  setTimeout(() => other.exec('ROLLBACK'), 300)
  await store.close()
  other.close()
  const again = new EmbeddedQuotas(openGatewayFile(file))
  t.teardown(() => again.close())
  t.equal(again.decide('q', { key: 'k', cost: 0, limits }).dayUsed, 3)
})

t.test('embedded, what pauses leaves memory, but not what the file lacks', async (t) => {
  const written = newQuota()
  written.dayUsed = 7
  const held = new CachedQuotas((quota) => (quota === 'key:5' ? written : undefined))
  for (let i = 0; i < 100_003; i++) held.get(`key:${i}`)
  t.match(held.get('key:5'), written, 'read from the file')
  const [slot, other] = [{}, {}]
  const left = held.getVia(other, 'key:6')
  held.evictIdle(2 * minuteMs - 1)
  t.equal(held.all.length, 100_003, 'what was asked for lately stays')
  const used = held.getVia(slot, 'key:1')
  used.minute = 1
  const unsaved = held.all.find(({ quota }) => quota === 'key:2')
  const journaled = held.all.find(({ quota }) => quota === 'key:3')
  if (!unsaved || !journaled) return t.fail('it is not held')
  unsaved.isUnsaved = true
  journaled.isJournaled = true
  held.evictIdle(2 * minuteMs)
  t.strictSame(new Set(held.all), new Set([used, unsaved, journaled]))
  t.equal(held.getVia(slot, 'key:1'), used)
  t.not(held.getVia(other, 'key:6'), left, 'what has left is asked for anew')
  t.equal(held.getVia(other, 'key:6'), held.get('key:6'), 'and there is one of it')
  t.equal(held.getVia(other, 'key:1'), used, 'a slot that was taken along to another quota')
  t.equal(held.get('key:1'), used)
  t.match(held.get('key:5'), written, 'what has left is read again')
  held.get('key:10')
  held.get('key:4')
  await held.sort()
  t.strictSame(
    held.all.map(({ quota }) => quota),
    ['key:1', 'key:10', 'key:2', 'key:3', 'key:4', 'key:5', 'key:6'],
  )
})

t.test('embedded, thousands of quotas come through a stop and a crash', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const names = Array.from({ length: 2_003 }, (_, i) => `key:${i}`)
  const ask = (store: EmbeddedQuotas, cost: number) =>
    names.map((name) => store.decide(name, { key: name, cost, limits }).dayUsed)
  const first = new EmbeddedQuotas(openGatewayFile(file))
  ask(first, 1)
  await first.close()
  const database = openGatewayFile(file)
  t.equal(database.prepare('SELECT count(*) FROM quotas').pluck().get(), 2_003, 'all in place')
  t.equal(database.prepare('SELECT count(*) FROM journal').pluck().get(), 0, 'and none in between')
  const second = new EmbeddedQuotas(openGatewayFile(file))
  t.teardown(() => second.close())
  ask(second, 1)
  await until(() => database.prepare('SELECT count(*) FROM journal').pluck().get() === 9)
  database.close()
  // The running one counts as killed: counters that it hasn't written are lost.
  const third = new EmbeddedQuotas(openGatewayFile(file))
  t.teardown(() => third.close())
  t.ok(ask(third, 0).every((used) => used === 2))
})

t.test('embedded, a save in the middle of placing loses nothing to a crash', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const placing = startProcess(t, 'test/support/placing.ts', { args: [file] })
  t.equal((await placing.ended).code, 0, placing.output())
  t.strictSame(json(placing.stdout()), { quotas: 102_001, lost: 0 })
})

t.test('embedded, after a crash a name in the journal is a name and nothing else', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const now = Date.UTC(2026, 5, 15, 12)
  const open = () => {
    const store = new EmbeddedQuotas(openGatewayFile(file), { clock: () => now })
    t.teardown(() => store.close())
    return store
  }
  const numbers = (used: number) =>
    `${now / minuteMs},${used},${Math.floor(now / dayMs)},${used},0,0`
  const names = [
    `mallory\nkey:VICTIM\t${numbers(60)}\nx`,
    ...['"key:VICTIM"', 'key:VICTIM', 'a\tb', '"', '\\"\n', 'plain', ''],
  ]
  const limits = { perMinute: 10, perDay: 10 }
  const limiter = new QuotaLimiter(open(), { limits })
  const first = open()
  for (const name of names) await limiter.consume(name)
  // As an app might count that has the store itself.
  for (const name of names.slice(3)) first.decide(name, { key: 'k', cost: 2, limits })
  const database = openGatewayFile(file)
  t.teardown(() => database.close())
  const entries = () => database.prepare('SELECT states FROM journal ORDER BY seq').pluck().all()
  await until(() => entries().length === 2)
  t.match(entries().join('\n'), `\nplain\t${numbers(2)}\n`, 'an older version reads plain names')

  // The ones that still run are as good as dead: this one has the journal alone.
  const again = open()
  const used = (store: EmbeddedQuotas, quota: string) =>
    store.decide(quota, { key: 'k', cost: 0, limits }).minuteUsed
  t.equal(used(again, 'key:VICTIM'), 0)
  t.strictSame(
    names.map((name) => used(again, `limiter:${name}`)),
    names.map(() => 1),
  )
  t.strictSame(
    names.slice(3).map((name) => used(again, name)),
    names.slice(3).map(() => 2),
  )

  const older = [`key:A1\t${numbers(3)}`, `account:B b "c\t${numbers(4)}`, `"odd\t${numbers(5)}`]
  database.prepare('INSERT INTO journal (states) VALUES (?)').run(older.join('\n'))
  const upgraded = open()
  t.strictSame(
    ['key:A1', 'account:B b "c', '"odd'].map((quota) => used(upgraded, quota)),
    [3, 4, 5],
    'what a version before has left in the journal is read',
  )
})

t.test('redis, gateways of the version before are understood, and nothing is forged', async (t) => {
  const { url, client } = await startRedis(t)
  const { store } = await quotasAt(t, url)
  const heard: unknown[] = []
  t.teardown(store.watch({ banned: (ban) => heard.push(ban), forgiven: () => heard.push('') }))
  const channel = 'test:bans:told'
  await until(async () => Number((await client.pubsub('NUMSUB', channel))[1]) === 1)
  const messages: string[] = []
  const other = client.duplicate()
  t.teardown(() => other.disconnect())
  await other.subscribe(channel)
  other.on('message', (_channel, message) => messages.push(message))
  const untilMs = Date.now() + 60_000
  // As a gateway of the version before tells of a ban, or of a name that an app has given.
  for (const message of [`${untilMs} VICTIM is my name`, `${untilMs} k key:k`, '[1', '{}', '[]'])
    await client.publish(channel, message)
  const name = 'VICTIM is my name'
  await store.ban(name, name, untilMs)
  await until(() => heard.length === 2)
  t.strictSame(heard, ['', { key: name, quota: name, untilMs }])
  // A gateway of the version before reads a time up to the first space.
  t.notOk(messages.slice(5).some((message) => message && Number(message.split(' ')[0]) > 0))
  t.match(await store.bans(), [{ key: name, quota: name, untilMs }])
})

/** A script of the former version, on the hash of a quota. */
function formerScript({ client }: RedisServer, file: string) {
  const source = readFileSync(join(root, 'test/gateway/former', file), 'utf8')
  return (quota: string, ...args: readonly (string | number)[]) =>
    client.eval(source, 1, `test:quota:${quota}`, ...args)
}

t.test('redis, grants and the former version’s scripts go together in one hash', async (t) => {
  const server = await startRedis(t)
  const startMs = Date.UTC(2026, 5, 15, 12)
  const connection = connect({ url: server.url }, { timeoutMs: 2_000 })
  const store = redisQuotas({
    ...{ connection, prefix: 'test:', timeoutMs: 2_000 },
    testClock: () => startMs,
  })
  t.teardown(async () => {
    await store.close()
    connection.disconnect()
  })
  await until(() => connection.status === 'ready')
  const decide = formerScript(server, 'quota.lua')
  const edit = formerScript(server, 'quota-edit.lua')
  const limits = { perMinute: 1_000, perDay: 20 }
  const random = seeded(24)
  let [used, granted, ban] = [0, 0, false]
  let seen: Seen | undefined
  const acts: Record<string, () => Promise<unknown>> = {
    async former() {
      const answers = await decide('q', startMs, `;;0;1,${limits.perMinute},20,;0;;k`)
      const [, , , dayUsed, , , verdict = 0] = String((answers as string[])[1])
        .split(',')
        .map(Number)
      const expected = ban ? 2 : used < limits.perDay ? 0 : 1
      if (expected === 0) used++
      return [dayUsed, verdict, used, expected]
    },
    async ours() {
      const decision = await store.decide('q', { key: 'k', cost: 1, limits, seen })
      // Another gateway of ours has seen nothing yet.
      seen = random(3) === 0 ? undefined : decision.seen
      const expected = ban ? 'banned' : used < limits.perDay + granted ? 'admitted' : 'refused'
      if (expected === 'admitted') used++
      const { dayUsed, verdict } = decision
      return [...[dayUsed, verdict, decision.granted?.perDay ?? 0], ...[used, expected, granted]]
    },
    async grant() {
      await store.grant('q', { perMinute: 0, perDay: 3, by: 'a' })
      granted += 3
    },
    async reset() {
      await edit('q', 'reset', startMs)
      used = 0
    },
    async ban() {
      await edit('q', 'ban', 'k', startMs + 60_000, startMs)
      ban = true
    },
    async lift() {
      await edit('q', 'lift', 'k', startMs)
      ban = false
    },
    async giveBack() {
      await edit('q', 'giveBack', 0, Math.floor(startMs / dayMs), startMs)
    },
  }
  const requests = ['former', 'ours', 'ours', 'former', 'ours', 'former']
  const others = ['grant', 'reset', 'ban', 'lift', 'lift', 'giveBack']
  const outcomes = new Set<string>()
  for (let i = 0; i < 800 && granted < 3 * mostGrants; i++) {
    const some = random(6) === 0 ? others : requests
    const name = some[random(some.length)] ?? 'ours'
    const result = (await acts[name]?.()) as unknown[] | undefined
    if (!result) continue
    const half = result.length / 2
    outcomes.add(`${name} ${String(result[half + 1])}`)
    if (!isDeepStrictEqual(result.slice(0, half), result.slice(half))) {
      return t.fail(`step ${i}, ${name}: ${result.join()}`)
    }
  }
  t.equal(outcomes.size, 6, 'both have admitted, refused and banned')
  t.equal((await store.grants('q')).length, granted / 3)
})

t.test('redis, what was given up is not done after all', async (t) => {
  const { url } = await startRedis(t)
  const connection = new Redis(url)
  t.teardown(() => connection.disconnect())
  const run = keyedScript({ connection, timeoutMs: 50, file: 'quota.lua' })
  const ask = () => run('q', '', ';;0;1,10,10,;0;;k')
  // It has lost its scripts, and says so only after the time limit.
  await connection.call('CLIENT', 'PAUSE', '200', 'ALL')
  await t.rejects(ask(), /did not answer within 50 ms/)
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.equal(await connection.exists('q'), 0, 'it is not counted later')
  t.match(await ask(), [/^\d+,\d+$/, /,1,\d+,1,0,0$/], 'and the next one is')
})

t.test('redis, a gateway that is late itself takes no answer for late', async (t) => {
  const { url, child } = await startRedis(t)
  const [connection, other] = [new Redis(url), new Redis(url)]
  t.teardown(() => [connection, other].forEach((each) => each.disconnect()))
  const run = keyedScript({ connection, timeoutMs: 50, file: 'quota.lua' })
  const ask = () => run('q', '', ';;0;1,100,100,;0;;k')
  await ask()
  let isBusy = false
  /** A loop that comes to look for answers every 60 ms. */
  const turn = (): void => {
    for (const end = performance.now() + 60; performance.now() < end;);
    if (isBusy) setImmediate(turn)
  }
  const busy = (is: boolean): void => {
    isBusy = is
    if (is) setImmediate(turn)
  }
  const wait = async () => {
    const began = performance.now()
    const outcome = await ask().then(
      () => 'answered',
      (error: Error) => error.message,
    )
    return { outcome, ms: performance.now() - began }
  }
  const lateBy = (milliseconds: number) => other.call('CLIENT', 'PAUSE', milliseconds, 'ALL')
  const givenUp = 'Redis did not answer within 50 ms'
  await lateBy(200)
  const idle = await wait()
  t.equal(idle.outcome, givenUp, 'the control: it is not busy')
  t.ok(idle.ms >= 49 && idle.ms < bound(70), `${idle.ms} ms`)
  await other.ping()
  await lateBy(200)
  busy(true)
  t.equal((await wait()).outcome, 'answered')
  child().kill('SIGSTOP')
  const hung = await wait()
  busy(false)
  child().kill('SIGCONT')
  t.equal(hung.outcome, givenUp, 'one that hangs is given up nevertheless')
  t.ok(hung.ms < 7_000, `${hung.ms} ms`)
})

/** Quotas with the same limit for a minute and a day, by Redis' own clock. */
async function quotasAt(t: Test, url: string, limit = 10) {
  const connection = connect({ url }, { timeoutMs: 2_000 })
  const store = redisQuotas({ connection, prefix: 'test:', timeoutMs: 2_000 })
  t.teardown(async () => {
    await store.close()
    connection.disconnect()
  })
  await until(() => connection.status === 'ready')
  const limits = { perMinute: limit, perDay: limit }
  const ask = async (quota: string) => store.decide(quota, { key: 'k', cost: 1, limits })
  return { store, ask }
}

t.test('redis, a damaged quota hurts none that are asked with it', async (t) => {
  const { url, client } = await startRedis(t)
  const { ask } = await quotasAt(t, url)
  const calls = async () => {
    const found = /cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))
    return Number(found?.[1] ?? 0)
  }
  await ask('before')
  await client.set('test:quota:string', 'x')
  await client.hset('test:quota:nonsense', 'c', 'x')
  const before = await calls()
  const names = ['sound', 'string', 'nonsense', 'sound', 'other']
  const answers = await Promise.allSettled(names.map(ask))
  t.equal(await calls(), before + 1, 'all in one call')
  t.match(answers, [
    { value: { dayUsed: 1 } },
    { reason: /WRONGTYPE/ },
    { reason: /arithmetic/ },
    { value: { dayUsed: 2 } },
    { value: { dayUsed: 1 } },
  ])
  await client.config('SET', 'maxmemory', '1')
  const full = await Promise.allSettled(names.map(ask))
  t.match(full, Array(5).fill({ reason: /^ReplyError: OOM|OOM command not allowed/ }))
  await client.config('SET', 'maxmemory', '0')
  t.match(await ask('other'), { dayUsed: 2 }, 'what was refused as a whole counts nothing')
  const many = await Promise.all(Array.from({ length: 200 }, () => ask('many')))
  t.equal(
    many.filter(({ verdict }) => verdict === 'admitted').length,
    10,
    'more than one call takes',
  )
})

t.test('redis, what can’t be asked hurts none that are asked with it', async (t) => {
  const { url, client } = await startRedis(t)
  const { store, ask } = await quotasAt(t, url)
  // As an app that is not written in TypeScript might.
  const bad = async () => store.decide('bad', json('{"key":"k","cost":1}') as unknown as Ask)
  await t.rejects(bad())
  const [first, refused, second, other] = await Promise.allSettled([
    ...[ask('alice'), bad(), ask('alice'), ask('bob')],
  ])
  t.match(
    [first, second, other],
    [{ value: { dayUsed: 1 } }, { value: { dayUsed: 2 } }, { value: { dayUsed: 1 } }],
  )
  t.match(refused, { status: 'rejected' })
  t.strictSame((await client.keys('test:quota:*')).sort(), ['test:quota:alice', 'test:quota:bob'])
})

t.test('redis, a server of a Cluster that is not named as one', async (t) => {
  const { url, client } = await startRedis(t, '--cluster-enabled', 'yes')
  await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await until(async () =>
    ((await client.call('CLUSTER', 'INFO')) as string).includes('cluster_state:ok'),
  )
  const { ask } = await quotasAt(t, url)
  for (const used of [1, 2]) {
    const decisions = await Promise.all(['a', 'b', 'c'].map(ask))
    t.strictSame(
      decisions.map(({ dayUsed }) => dayUsed),
      [used, used, used],
    )
  }
})

t.test('redis is asked in one piece for all that comes at once', async (t) => {
  const { port } = await startRedis(t)
  const wire = await startFaultProxy(t, port)
  const { ask } = await quotasAt(t, `redis://127.0.0.1:${wire.port}`, 1_000)
  await ask('q')
  const before = wire.pieces()
  const decisions = await Promise.all(Array.from({ length: 64 }, () => ask('q')))
  t.equal(new Set(decisions.map(({ dayUsed }) => dayUsed)).size, 64)
  // Besides, a gateway tells that it is there.
  t.ok(wire.pieces() - before <= 4, `${wire.pieces() - before} pieces`)
})

quotaStoreContract(t, 'redis, a single server', async (t) =>
  inRedis(t, { url: (await startRedis(t)).url }),
)

quotaStoreContract(t, 'redis, found by Sentinel', async (t) => {
  const { sentinel, name } = await startSentinel(t)
  return inRedis(t, { sentinels: [sentinel], name })
})

quotaStoreContract(t, 'redis, a Cluster', async (t) =>
  inRedis(t, { cluster: (await startCluster(t)).nodes }),
)

t.test('redis, a gateway that stops is gone from the fleet at once', async (t) => {
  const { url, client } = await startRedis(t)
  const settings = { ...at(url), file: '' }
  const [one, other] = [openStores(settings), openStores(settings)]
  t.teardown(() => other.close())
  for (const { fleet, ready } of [one, other]) {
    await ready()
    const self = new Self()
    fleet.join(
      () => self.memberOf('redis'),
      () => undefined,
    )
  }
  await until(async () => (await client.zcard('test:gateways')) === 2)
  await until(() => other.fleet.size === 2)
  await one.close()
  t.equal(await client.zcard('test:gateways'), 1)
  t.equal((await other.fleet.list()).members.length, 1)
  await t.rejects(Promise.resolve(one.keys.get('x')), 'and its connection is closed')
})

t.test('who only looks leaves no quota behind', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const store = new EmbeddedQuotas(openGatewayFile(file))
  store.decide('nobody', { key: 'nobody', cost: 0, limits })
  store.decide('q', { key: 'q', cost: 1, limits })
  await store.close()
  const database = openGatewayFile(file)
  t.teardown(() => database.close())
  t.strictSame(database.prepare('SELECT quota FROM quotas').pluck().all(), ['q'])
})

t.test('embedded, bans among very many quotas are found bit by bit', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const database = openGatewayFile(file)
  const day = Math.floor(Date.now() / dayMs)
  const put = database.prepare('INSERT INTO quotas VALUES (?, ?, ?)')
  const banned = JSON.stringify([
    ['k', { refusedAtMs: 0, strikesMs: [], bannedUntilMs: Date.now() + 60_000, bans: 0 }],
  ])
  database.transaction(() => {
    for (let i = 0; i < 20_000; i++) {
      const more = i % 4_000 === 1_999 ? `,${banned}` : ''
      put.run(`q${String(i).padStart(5, '0')}`, (day + 1) * dayMs, `1,0,${day},1,0,0${more}`)
    }
  })()
  database.close()
  const store = new EmbeddedQuotas(openGatewayFile(file))
  t.teardown(() => store.close())
  let turns = 0
  const timer = setInterval(() => undefined, 1_000)
  const count = (): void => {
    turns++
    if (timer.hasRef()) setImmediate(count)
  }
  setImmediate(count)
  const names = (await store.bans()).map(({ quota }) => quota)
  t.ok(turns >= 10, `${turns} turns of the loop meanwhile`)
  t.strictSame(names, ['q01999', 'q05999', 'q09999', 'q13999', 'q17999'])
  t.equal(await store.lift('q05999', 'k'), true)
  t.equal(await store.lift('q05999', 'k'), false)
  t.equal((await store.bans()).length, 4, 'a ban that is lifted in memory is none of the table')
  clearInterval(timer)
  timer.unref()
})
