import { spawn } from 'node:child_process'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { Pool } from 'undici'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { redisQuotas } from '../../gateway/stores/redis/quota.ts'
import type { Clock } from '../../shared/clock.ts'
import { CachedRefusals, type DecisiveTerms } from '../../gateway/limits/cached-refusals.ts'
import { Quotas } from '../../gateway/limits/quotas.ts'
import type { QuotaStore } from '../../gateway/limits/store.ts'
import { startFleet as startGateways, type Fleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import {
  startRedis,
  startCluster,
  startSentinel,
  type RedisServer,
  type RedisCluster,
} from '../support/redis.ts'
import { until } from '../support/until.ts'

/** How often each is stormed; `EXACT_RUNS=20` for a proof. */
const runs = Number(process.env['EXACT_RUNS'] ?? 1)
const isProof = runs > 1

/** Plans that are named by what they allow a minute: p60 and so on. */
const plans = `plans: { ${[60, 300, 1_000]
  .map((limit) => `p${limit}: { perMinute: ${limit}, perDay: 100000, bans: off }`)
  .join(', ')} }`

/** Gateways on one store, in front of one upstream. */
async function startFleet(
  t: Test,
  store: string,
  environments: readonly Record<string, string>[],
): Promise<Fleet> {
  const { url } = await startUpstream(t)
  return startGateways(t, { upstream: url, store, more: plans, environments })
}

type Quota = Readonly<Record<'minute' | 'day', { limit: number; remaining: number; reset: number }>>

/** Sends many requests over many connections, and counts the answers by status and window. */
async function storm(
  { urls }: Fleet,
  headers: { authorization: string },
  { requests, connections }: Readonly<{ requests: number; connections: number }>,
) {
  const statuses: Record<number, number> = {}
  const admitted = new Map<number, number>()
  const pools = urls.map((url) => new Pool(url, { connections, pipelining: 1 }))
  await Promise.all(
    Array.from({ length: requests }, async (_, i) => {
      const pool = pools[i % pools.length]
      if (!pool) return
      const {
        statusCode,
        headers: got,
        body,
      } = await pool.request({ method: 'GET', path: '/v1/pets', headers })
      await body.dump()
      statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
      const reset = Number(got['x-ratelimit-reset'])
      if (statusCode === 200) admitted.set(reset, (admitted.get(reset) ?? 0) + 1)
    }),
  )
  await Promise.all(pools.map((pool) => pool.close()))
  const quota = json(await caller(urls[0] ?? '')('GET', '/v1/quota', undefined, headers))
  return { statuses, admitted, quota: quota as Quota }
}

/** A minute has begun, and enough of it is left: what follows happens within one window. */
async function earlyInAMinute(leftMs: number): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000)
  if (left < leftMs) await new Promise((go) => setTimeout(go, left + 100))
}

async function isExact(t: Test, fleet: Fleet, limit: number, requests: number): Promise<void> {
  const headers = await fleet.key({ plan: `p${limit}` })
  // The first requests fill the window; those after them may come after its end.
  await earlyInAMinute(5_000)
  const { statuses, admitted, quota } = await storm(fleet, headers, { requests, connections: 64 })
  const counts = [...admitted.values()]
  const all = counts.reduce((sum, count) => sum + count, 0)
  t.strictSame(statuses, { 200: all, 429: requests - all })
  t.equal(counts[0], limit)
  t.match(quota, { minute: { limit }, day: { remaining: 100_000 - all } })
  // Where the end of the minute comes in between, each admits its own.
  if (counts.length === 1 && admitted.has(quota.minute.reset)) t.equal(quota.minute.remaining, 0)
  t.ok(counts.length <= 2 && counts.every((count) => count <= limit), counts.join(' + '))
}

t.test('four gateways × 64 connections on one Redis', async (t) => {
  const redis = await startRedis(t)
  const fleet = await startFleet(t, `redis: "${redis.url}"`, [{}, {}, {}, {}])
  for (const limit of [60, 300, 1_000]) {
    await t.test(`admit exactly ${limit}`, (t) => isExact(t, fleet, limit, isProof ? 8_000 : 4_000))
  }
  await t.test('admit exactly 300 while the scripts are flushed every 20 ms', async (t) => {
    const flushing = setInterval(() => void redis.client.script('FLUSH'), 20)
    t.teardown(() => clearInterval(flushing))
    await isExact(t, fleet, 300, 4_000)
  })
})

const library = process.env['LIBFAKETIME']
t.test(
  'the same with the clocks of two gateways an hour off',
  { skip: !library && 'there is no libfaketime on this machine, and none could be fetched' },
  async (t) => {
    const { url } = await startRedis(t)
    const off = (by: string) => ({
      LD_PRELOAD: library ?? '',
      FAKETIME: by,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    })
    const fleet = await startFleet(t, `redis: "${url}"`, [{}, off('+1h'), off('-1h')])
    await isExact(t, fleet, 300, 3_000)
    const headers = await fleet.key()
    const resets = await Promise.all(
      fleet.urls.map(async (url) =>
        Number(
          (await caller(url)('GET', '/v1/pets', undefined, headers)).headers['x-ratelimit-reset'],
        ),
      ),
    )
    t.ok(
      Math.max(...resets) - Math.min(...resets) <= 60,
      `they agree when the minute ends: ${resets.join()}`,
    )
  },
)

t.test('one embedded gateway × 64 connections', async (t) => {
  await isExact(t, await startFleet(t, 'file: $DIR/gateway.db', [{}]), 300, 4_000)
})

t.test('over the edge of a minute no window admits more than its limit, nor fewer', async (t) => {
  const { url } = await startRedis(t)
  let now = Date.UTC(2026, 5, 15, 12, 0, 59)
  const stores = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const connection = connect({ url }, { timeoutMs: 5_000 })
      await until(() => connection.status === 'ready')
      const store = redisQuotas({
        connection,
        prefix: 'edge:',
        timeoutMs: 5_000,
        testClock: () => now,
      })
      t.teardown(() => connection.disconnect())
      return store
    }),
  )
  const admitted = new Map<number, number>()
  const limits = { perMinute: 100, perDay: 100_000 }
  for (let round = 0; round < 40; round++) {
    now += 97
    await Promise.all(
      Array.from({ length: 64 }, async (_, i) => {
        const decision = await stores[i % 4]?.decide('q', { key: 'k', cost: 1, limits })
        if (decision?.verdict !== 'admitted') return
        admitted.set(decision.seen.minute, (admitted.get(decision.seen.minute) ?? 0) + 1)
      }),
    )
  }
  t.strictSame([...admitted.values()], [100, 100])
})

/**
 * Hands the slot of a name from one node of a Cluster to the next, with what is in it, as an operator
 * would, again and again; gives what ends that and tells how often it was done.
 */
async function moveSlot(
  { nodes, clients }: RedisCluster,
  name: string,
): Promise<() => Promise<number>> {
  const slot = Number(await clients[0]?.call('CLUSTER', 'KEYSLOT', name))
  const ids = await Promise.all(
    clients.map(async (client) => String(await client.call('CLUSTER', 'MYID'))),
  )
  let isMoving = true
  let moves = 0
  const setSlot = async (at: number, ...what: string[]) =>
    clients[at]?.call('CLUSTER', 'SETSLOT', slot, ...what)
  const owners = () => Promise.all(clients.map((client) => ownerOf(client, slot)))
  const move = async (): Promise<void> => {
    while (isMoving) {
      await new Promise((go) => setTimeout(go, 20))
      const [owner = '', ...others] = await owners()
      // Not before all have heard of the last move.
      if (others.some((other) => other !== owner)) continue
      const from = ids.indexOf(owner)
      const to = (from + 1) % nodes.length
      const next = ids[to] ?? ''
      await setSlot(to, 'IMPORTING', owner)
      await setSlot(from, 'MIGRATING', next)
      const [host = '', port = ''] = (nodes[to] ?? '').split(':')
      await clients[from]?.call('MIGRATE', host, port, name, 0, 5_000, 'REPLACE')
      for (const at of [to, from]) await setSlot(at, 'NODE', next)
      moves++
    }
  }
  const moved = move()
  moved.catch(() => undefined)
  return async () => {
    isMoving = false
    await moved
    return moves
  }
}

/** Whose a slot is, as one node has it. */
async function ownerOf(client: Redis, slot: number): Promise<string> {
  const ranges = (await client.call('CLUSTER', 'SLOTS')) as [
    number,
    number,
    [string, number, string],
  ][]
  const range = ranges.find(([first, last]) => first <= slot && slot <= last)
  return range?.[2][2] ?? ''
}

const kinds: Record<string, (t: Test) => Promise<{ store: string; cluster?: RedisCluster }>> = {
  'one Redis': async (t) => ({ store: `redis: "${(await startRedis(t)).url}"` }),
  Sentinel: async (t) => {
    const { sentinel, name } = await startSentinel(t)
    // It is busy, too, and would take the master for gone.
    const client = new Redis(Number(sentinel.split(':')[1]))
    await client.call('SENTINEL', 'SET', name, 'down-after-milliseconds', '60000')
    client.disconnect()
    return { store: `redis: { sentinels: [ "${sentinel}" ], name: ${name} }` }
  },
  'a Cluster': async (t) => {
    const cluster = await startCluster(t)
    return { store: `redis: { cluster: ${JSON.stringify(cluster.nodes)} }`, cluster }
  },
}

/** Keeps the processors busy besides. */
function keepBusy(t: Test, processes: number): void {
  for (let i = 0; i < processes; i++) {
    const busy = spawn(process.execPath, [
      '-e',
      'for (const e = Date.now() + 9e5; Date.now() < e;);',
    ])
    t.teardown(() => busy.kill('SIGKILL'))
  }
}

/** Storms gateways that have little time for their store, until all is exact, or as often as is asked for. */
async function isExactWhileBusy(t: Test, fleet: Fleet, cluster?: RedisCluster): Promise<void> {
  const limit = 300
  const requests = isProof ? 2_000 : 1_000
  let exact = 0
  for (let run = 0; run < (isProof ? runs : 3) && (isProof || exact === 0); run++) {
    await earlyInAMinute(isProof ? 25_000 : 8_000)
    const headers = await fleet.key({ plan: `p${limit}` })
    // A gateway may serve before it has found all nodes of a Cluster, and refuses until then with 503.
    for (const call of fleet.urls.map(caller)) {
      await until(async () => (await call('GET', '/v1/quota', undefined, headers)).status === 200)
    }
    const id = /tg_(\w+)_/.exec(headers.authorization)?.[1] ?? ''
    const stop = cluster && (await moveSlot(cluster, `tollgate:quota:key:${id}`))
    const { statuses, admitted, quota } = await storm(fleet, headers, { requests, connections: 64 })
    if (stop) t.comment(`${await stop()} moves`)
    // Where the machine stalls, a backend may be late as well: that was let in, and gets its day's point back.
    const { 502: bad = 0, 504: late = 0, 503: unsaid = 0, 429: refused = 0 } = statuses
    const { minute, day } = quota
    const seen = [admitted.size, unsaid, requests - refused, minute.remaining, day.remaining]
    const due = [1, 0, limit, 0, 100_000 - (limit - bad - late)]
    if (String(seen) === String(due)) exact++
    else
      t.comment(`minutes, 503s, let in, left of minute and day: ${seen.join()} for ${due.join()}`)
  }
  // Beside other programs a machine may stall for seconds: then it is tried again. EXACT_RUNS=20 wants all of them.
  t.ok(isProof ? exact === runs : exact > 0, `${exact} exact`)
}

for (const [kind, start] of Object.entries(kinds)) {
  t.test(`a machine that is busy, and a store that has 50 ms: ${kind}`, async (t) => {
    const { store, cluster } = await start(t)
    // Four that start are seconds of work: two show as well that none counts by itself.
    const environments = isProof ? [{}, {}, {}, {}] : [{}, {}]
    const fleet = await startFleet(t, `${store}, timeout: 50ms`, environments)
    keepBusy(t, isProof ? 2 : 1)
    await t.test('admits exactly 300', (t) => isExactWhileBusy(t, fleet))
    if (cluster)
      await t.test('and while its slots move', (t) => isExactWhileBusy(t, fleet, cluster))
  })
}

t.test('while slots of a Cluster move nothing is admitted twice', async (t) => {
  const noon = Date.UTC(2026, 5, 15, 12)
  const { nodes, clients } = await startCluster(t)
  const connections = [1, 2].map(() => connect({ cluster: nodes }, { timeoutMs: 2_000 }))
  await until(() => connections.every(({ status }) => status === 'ready'))
  const stores = connections.map((connection) =>
    redisQuotas({ connection, prefix: 'move:', timeoutMs: 2_000, testClock: () => noon }),
  )
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  const stop = await moveSlot({ nodes, clients }, 'move:quota:q')
  const limits = { perMinute: 1_000, perDay: 100_000 }
  let [admitted, failed] = [0, 0]
  for (let round = 0; round < 120; round++) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        try {
          const decision = await stores[i % 2]?.decide('q', { key: 'k', cost: 1, limits })
          if (decision?.verdict === 'admitted') admitted++
        } catch {
          failed++
        }
      }),
    )
  }
  const moves = await stop()
  const after = await stores[0]?.decide('q', { key: 'k', cost: 0, limits })
  t.comment(`${moves} moves, ${admitted} of 6,000 admitted, ${failed} without an answer`)
  t.ok(moves >= 5, 'slots did move')
  t.equal(after?.minuteUsed, 1_000)
  t.ok(admitted <= 1_000 && admitted >= 1_000 - failed, 'what was counted was admitted')
  t.ok(failed <= 60)
})

const usualBans = {
  ...{ strikes: 2, withinMs: 60_000, graceMs: 100, forMs: 300_000 },
  ...{ factor: 2, atMostMs: 3_600_000, memoryMs: 1 },
}

t.test(
  'a Redis that has lost everything costs one request a gateway at most, and no ban',
  async (t) => {
    const redis: RedisServer = await startRedis(t)
    let now = Date.UTC(2026, 5, 15, 12, 0, 10)
    const terms = { limits: { perMinute: 60, perDay: 1_000 }, bans: usualBans }
    const gateways = await twoGateways(t, redis, () => now)
    const ask = async (i: number) => {
      const decision = await gateways[i % 2]?.decide(asker, terms, 1)
      return decision?.verdict
    }
    let admitted = 0
    for (let i = 0; i < 80; i++) {
      if (i === 31) await redis.client.flushall()
      if ((await ask(i)) === 'admitted') admitted++
    }
    t.comment(`${admitted} of 60 were admitted by two gateways`)
    t.ok(admitted >= 60 && admitted <= 61)
    now += 200
    await ask(0)
    t.equal(await ask(0), 'banned')
    await redis.client.flushall()
    await until(async () => (await ask(1)) === 'banned', 1_000)
    t.equal(await ask(0), 'banned', 'every gateway knows of the ban')
  },
)

t.test(
  'a minute that is used up is refused without a question, where it is no strike',
  async (t) => {
    const redis: RedisServer = await startRedis(t)
    const minute = Date.UTC(2026, 5, 15, 12)
    let now = minute + 10_000
    const terms = { limits: { perMinute: 3, perDay: 1_000 }, bans: undefined }
    const [one, two] = await twoGateways(t, redis, () => now)
    const raised = { ...terms, limits: { perMinute: 4, perDay: 1_000 } }
    const ask = async (gateway: Quotas | undefined, by: DecisiveTerms = terms, cost = 1) =>
      gateway?.decide(asker, by, cost)
    const questions = async () => {
      const found = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.client.info('commandstats'))
      return Number(found?.[1])
    }
    const verdicts: unknown[] = []
    for (let i = 0; i < 4; i++) verdicts.push((await ask(i % 2 ? one : two))?.verdict)
    t.strictSame(verdicts, ['admitted', 'admitted', 'admitted', 'refused'])

    const before = await questions()
    for (let i = 0; i < 50; i++) {
      const decision = await ask(one)
      t.match(decision, { verdict: 'refused', nowMs: now, minuteUsed: 3, dayUsed: 3, bans: false })
      now += 900
    }
    t.equal(await questions(), before, 'fifty refusals, and nobody was asked')
    t.equal((await ask(one, { ...terms, bans: usualBans }))?.verdict, 'refused')
    t.equal(await questions(), before + 1, 'what may be a strike is asked')
    t.equal((await ask(one, terms, 0))?.verdict, 'admitted', 'what costs nothing is let in')
    t.equal((await ask(one, raised))?.verdict, 'admitted', 'a limit that was raised has room')
    t.equal((await ask(one))?.verdict, 'refused')

    now = minute + 59_999
    t.equal((await ask(one))?.verdict, 'refused', 'the last millisecond is of the minute')
    now = minute + 60_000
    t.equal((await ask(one))?.verdict, 'admitted', 'the next is not')
    for (let i = 0; i < 3; i++) await ask(one)
    t.equal((await ask(one))?.verdict, 'refused')
    const operator = await storeOf(t, redis, () => now)
    await operator.reset('q')
    await until(async () => (await ask(one))?.verdict === 'admitted', 1_000)

    const cached = new CachedRefusals(1)
    const lower = { ...terms, limits: { perMinute: 1, perDay: 9 } }
    const refused = await two?.decide(asker, lower, 1)
    if (!refused) throw new Error('there are two')
    cached.note(asker, terms, { ...refused, seen: { ...refused.seen, minuteUsed: 3 } })
    const at = (lagMs: number) =>
      cached.forFullMinute(asker, terms, 1, () => ({ nowMs: minute + 117_000, lagMs }))?.verdict
    t.equal(at(2_999), 'refused', 'the store may be later by as much as its answer took')
    t.equal(at(3_000), undefined, 'so the minute may be over there')
  },
)

const asker = { id: 'k', quota: 'q' }

async function twoGateways(t: Test, redis: RedisServer, clock: Clock): Promise<Quotas[]> {
  const gateways = await Promise.all(
    [1, 2].map(async () => {
      const store = await storeOf(t, redis, clock)
      return new Quotas({ store, whenUnreachable: 'local', clock, ticks: clock })
    }),
  )
  t.teardown(() => gateways.forEach((gateway) => gateway.close()))
  const told = async () => Number((await redis.client.pubsub('NUMSUB', 'lost:bans:told'))[1])
  await until(async () => (await told()) === gateways.length)
  return gateways
}

async function storeOf(t: Test, redis: RedisServer, testClock: Clock): Promise<QuotaStore> {
  const connection = connect({ url: redis.url }, { timeoutMs: 2_000 })
  await until(() => connection.status === 'ready')
  const store = redisQuotas({ connection, prefix: 'lost:', timeoutMs: 2_000, testClock })
  t.teardown(async () => {
    await store.close()
    connection.disconnect()
  })
  return store
}
