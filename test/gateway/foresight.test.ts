import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Config, RedisSettings } from '../../gateway/config/config.ts'
import { configOf } from '../../gateway/config/load.ts'
import { Peaks } from '../../gateway/foresight/peaks.ts'
import { previewPlan, type PlanPreview } from '../../gateway/foresight/preview.ts'
import { costsBy } from '../../gateway/foresight/replay/route-costs.ts'
import { simulation } from '../../gateway/foresight/replay/simulation.ts'
import type { SimulationView } from '../../gateway/foresight/replay/simulation-view.ts'
import { shadowReport, type ShadowReport } from '../../gateway/foresight/shadows.ts'
import { Caller } from '../../gateway/keys/caller.ts'
import { Quotas } from '../../gateway/limits/quotas.ts'
import { shadowOf, wouldRefuse } from '../../gateway/limits/shadow.ts'
import { dayMs, minuteMs } from '../../gateway/limits/step.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedPeaks } from '../../gateway/stores/embedded/peaks.ts'
import { redisAudit } from '../../gateway/stores/redis/audit.ts'
import { connect, type Connection } from '../../gateway/stores/redis/connect.ts'
import { redisKeys } from '../../gateway/stores/redis/keys.ts'
import { redisPeaks } from '../../gateway/stores/redis/peaks.ts'
import { redisQuotas } from '../../gateway/stores/redis/quota.ts'
import { newKey } from '../contracts/keys.ts'
import { peakStoreContract } from '../contracts/peaks.ts'
import { startAdmin } from '../support/admin.ts'
import { runCommand } from '../support/command.ts'
import { configFor, startGateway, startUpstream } from '../support/gateway.ts'
import { startProcess } from '../support/process.ts'
import { appOfCosts } from '../support/routes.ts'
import { startRedis, startCluster } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { seeded } from '../support/seeded.ts'

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
    redisPeaks({ connection, prefix: 'test:', timeoutMs: 2_000 }),
  )
  if (!first || !second) throw new Error('two were asked for')
  return { first, second }
}

void peakStoreContract(t, 'embedded, in a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
  for (const database of [one, two]) database.pragma('synchronous = OFF')
  t.teardown(() => [one, two].forEach((database) => database.close()))
  return Promise.resolve({ first: embeddedPeaks(one), second: embeddedPeaks(two) })
})
void peakStoreContract(t, 'redis, a single server', async (t) =>
  redisViews(t, { url: (await startRedis(t)).url }),
)
void peakStoreContract(t, 'redis, a Cluster', async (t) =>
  redisViews(t, { cluster: (await startCluster(t)).nodes }),
)

/** A request: its caller, its cost, and the names of the minute and the day of its quota. */
type Sent = Readonly<{ caller: Caller; atMs: number; cost: number; minute: string; day: string }>
type Pair = Readonly<{ perMinute: number; perDay: number }>

/** Whether limits admit each of the requests sent: by counting, without any of the gateway. */
function admittedBy(sent: readonly Sent[], { perMinute, perDay }: Pair): boolean[] {
  const used = new Map<string, number>()
  return sent.map(({ minute, day, cost }) => {
    const [ofMinute, ofDay] = [used.get(minute) ?? 0, used.get(day) ?? 0]
    if (ofMinute + cost > perMinute || ofDay + cost > perDay) return false
    used.set(minute, ofMinute + cost)
    used.set(day, ofDay + cost)
    return true
  })
}

/** The quotas and days on which limits refuse something of what was sent. */
function bruteForce(sent: readonly Sent[], limits: Pair): string[] {
  const admitted = admittedBy(sent, limits)
  return [...new Set(sent.filter((_one, i) => !admitted[i]).map(({ day }) => day))].sort()
}

t.test('a preview names the quotas and days that brute force names', async (t) => {
  const random = seeded(18)
  t.testdir({})
  let now = Date.UTC(2026, 10, 7)
  const redis = await startRedis(t)
  const plan = { name: 'free', limits: { perMinute: 12, perDay: 60 }, bans: false }
  const options = { timeoutMs: 5_000, prefix: 'test:' }
  const connection = connect({ url: redis.url }, { timeoutMs: 5_000 })
  t.teardown(() => connection.disconnect())
  await until(() => connection.status === 'ready')
  const keys = redisKeys({ ...options, connection, clock: () => now })
  t.teardown(() => keys.close())
  const audit = redisAudit(connection, options.prefix)
  const callers = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      const account = i < 15 ? { account: `account ${i % 5}` } : {}
      const more = {
        ...account,
        ...(i === 49 ? { limits: { perMinute: 1_000, perDay: 1_000 } } : {}),
      }
      const key = newKey({ name: `Key ${i}`, ...more })
      await keys.add([key])
      return new Caller(`tg_${i}`, { key, version: 1 })
    }),
  )
  const gateways = Array.from({ length: 4 }, () => {
    const quota = redisQuotas({ ...options, connection, testClock: () => now })
    const quotas = new Quotas({ store: quota, whenUnreachable: 'local', clock: () => now })
    t.teardown(() => quotas.close())
    return { quota, quotas, peaks: new Peaks(redisPeaks({ ...options, connection })) }
  })
  const [first] = gateways
  if (!first) throw new Error('four were asked for')

  const sent: Sent[] = []
  const shadow = shadowOf('free', { perMinute: 7, perDay: Infinity })
  const shadowDays = new Set<string>()
  for (let day = 0; day < 14; day++) {
    const ofDay = callers.slice(0, 49).flatMap((caller) => {
      const minutes = Array.from({ length: random(5) }, () => random(1_440))
      return minutes.flatMap((minute) =>
        Array.from({ length: random(15) }, () => ({
          ...{ caller, cost: random(20) === 0 ? 3 : 1 },
          atMs: now + minute * minuteMs + random(60_000),
        })),
      )
    })
    const beganMs = now
    for (const one of ofDay.sort((a, b) => a.atMs - b.atMs)) {
      now = one.atMs
      const { quotas, peaks } = gateways[random(4)] ?? first
      const limits = { limits: plan.limits, bans: undefined }
      const decision = await quotas.decide(one.caller, limits, one.cost)
      const isRefused = decision.verdict === 'refused'
      const isMinute = decision.minuteUsed + one.cost > plan.limits.perMinute
      peaks.note(one.caller, decision, isRefused ? (isMinute ? 'minute' : 'day') : undefined)
      const date = `${one.caller.quota} ${new Date(now).toISOString().slice(0, 10)}`
      if (wouldRefuse(shadow, decision)) shadowDays.add(date)
      sent.push({ ...one, day: date, minute: `${date} ${Math.floor(now / minuteMs)}` })
    }
    for (const { peaks } of gateways) await peaks.write()
    now = beganMs + dayMs
  }
  const stores = { keys, audit, quota: first.quota, peaks: redisPeaks({ ...options, connection }) }
  const today = Math.floor(now / dayMs)
  const range = { fromDay: today - 14, toDay: today, nowMs: now, limit: 1_000 }
  const preview = (limits: Pair) =>
    previewPlan(stores, { name: 'free', now: plan, then: { ...plan, limits }, ...range })
  const named = ({ hit }: PlanPreview): string[] =>
    hit.flatMap(({ quota, daysHit }) => daysHit.map((day) => `${quota} ${day}`)).sort()

  let hits = 0
  for (let i = 0; i < 200; i++) {
    const lower = { perMinute: 1 + random(11), perDay: 1 + random(59) }
    const told = await preview(lower)
    const expected = bruteForce(sent, lower)
    hits += expected.length
    t.strictSame(named(told), expected, JSON.stringify(lower))
    t.equal(told.bound, 'exact')
    t.equal(told.hitDays, expected.length)
  }
  t.ok(hits > 10_000, `${hits} quota-days were refused`)
  for (let i = 0; i < 20; i++) {
    const raised = { perMinute: 12 + random(20), perDay: 61 + random(100) }
    const told = await preview(raised)
    const expected = new Set(bruteForce(sent, raised))
    t.equal(told.bound, 'lower')
    t.strictSame(
      named(told).filter((day) => !expected.has(day)),
      [],
      JSON.stringify(raised),
    )
  }
  const refused = await preview({ perMinute: 13, perDay: 60 })
  const byMinute = bruteForce(sent, { perMinute: 12, perDay: Infinity })
  const days = refused.refused.flatMap(({ daysRefused }) => daysRefused)
  t.ok(days.length > 0 && days.length <= byMinute.length, 'a raise tells who was refused')
  const ofAccounts = (await preview({ perMinute: 1, perDay: 1 })).hit.filter(
    ({ account }) => account,
  )
  t.strictSame(
    ofAccounts.map(({ quota, keys }) => `${quota} ${keys}`).sort(),
    [0, 1, 2, 3, 4].map((i) => `account:account ${i} 3`),
    'the keys of an account are one line',
  )

  const log = join(t.testdirName, 'traffic.csv')
  const row = ({ atMs, caller, cost }: Sent) =>
    `${new Date(atMs).toISOString()},${caller.id},${cost}`
  writeFileSync(log, ['time,key,cost', ...sent.map(row)].join('\n'))
  const own = configOf({ store: { file: 'unused.db' }, plans: { free: 'custom' }, routes: [] })
  for (const limits of [{ perMinute: 7, perDay: 60 }, { perMinute: 4, perDay: 9 }, plan.limits]) {
    const rules = { ...own, plans: new Map([['free', { ...plan, limits }]]) }
    const files = { logs: [log], columns: {}, against: undefined, plan: undefined }
    const { replay, requests, late } = await simulation({ ...files, rules, keys })
    t.strictSame([requests, late], [sent.length, 0])
    const admitted = admittedBy(sent, limits)
    for (const { id } of callers) {
      const { admitted: of = 0, minute = 0, day = 0 } = replay.keys.get(id) ?? {}
      const ofKey = admitted.filter((_isIn, i) => sent[i]?.caller.id === id)
      t.strictSame([of, of + minute + day], [ofKey.filter(Boolean).length, ofKey.length])
    }
    const refusedKeys = [...replay.keys].filter(([, { minute, day }]) => minute + day > 0)
    const quotaOfKey = new Map(callers.map(({ id, quota }) => [id, quota]))
    if (limits === plan.limits) continue
    t.strictSame(
      [...new Set(refusedKeys.map(([id]) => quotaOfKey.get(id)))].sort(),
      (await preview(limits)).hit.map(({ quota }) => quota).sort(),
      'a replay and a preview name the same quotas',
    )
  }
  t.strictSame(
    [...shadowDays].sort(),
    named(await preview({ perMinute: 7, perDay: 60 })),
    'a shadow and a preview name the same days',
  )
  t.match(refused.unsaid.join(' '), /limits of their own are left out: 1\./)
  t.match(refused.unsaid.join(' '), /lower bound/)
})

const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>

t.test('config diff tells whom changed limits would have refused', async (t) => {
  const dir = t.testdir()
  const [old, changed] = ['old.yaml', 'new.yaml'].map((name) => join(dir, name))
  const store = `file: ${join(dir, 'gateway.db')}`
  const { app, call, key } = await startGateway(t, { store })
  const acme = await key({ name: 'Acme', account: 'acme' })
  const quiet = await key({ name: 'Quiet' })
  for (let i = 0; i < 5; i++) await call('GET', '/v1/pets', undefined, acme.headers)
  await call('GET', '/v1/pets', undefined, quiet.headers)
  await until(async () => {
    await app.core.tallying.flush()
    for await (const some of app.core.stores.peaks.list(0, 50_000)) if (some.length > 1) return true
    return false
  })
  const text = (plans: string, more = '') => `store: { ${store} }\n${plans}\nroutes: []\n${more}`
  writeFileSync(old ?? '', text('plans:\n  free: { perMinute: 60, perDay: 1000 }\n  pro: custom'))
  const run = (...args: string[]) =>
    runCommand(['config', 'diff', changed ?? '', '--against', old ?? '', ...args], {})
  const write = (...plans: string[]) => {
    writeFileSync(changed ?? '', text(['plans:', ...plans].join('\n  '), 'drain: 5s'))
  }

  write('pro: custom', 'free:', '  perMinute: 2', '  perDay: 1000')
  const told = json((await run('--json', '--impact')).stdout)
  t.match(told, {
    differences: [
      { place: 'plans.free.perMinute', before: 60, after: 2, beforeLine: 3, afterLine: 5 },
      { place: 'drain', before: '3s', after: '5s', afterLine: 8 },
    ],
    impact: [
      {
        ...{ plan: 'free', bound: 'exact', quotas: 2, days: 2, hitQuotas: 1, hitDays: 1 },
        now: { perMinute: 60, perDay: 1000 },
        then: { perMinute: 2, perDay: 1000 },
        hit: [{ quota: 'account:acme', key: acme.key.id, name: 'Acme', peakDay: 5, days: 1 }],
      },
    ],
  })
  t.notHas((told['differences'] as object[])[1], { beforeLine: 3 })
  const people = await run('--impact', '--fail-if-hit')
  t.equal(people.code, 1)
  t.match(people.stdout, /free 60 → 2 a minute: 1 of 2 quotas, on 1 of 2 days/)
  t.match(people.stdout, /plans\.free\.perMinute +60 +2 +3 → 5\n/)
  t.match(people.stdout, /Acme +free +account:acme +1 +1 +5 +5/)
  t.equal((await run('--impact')).code, 0, 'without --fail-if-hit it tells, and no more')
  t.equal((await run('--fail-if-hit')).code, 2)

  write('free: { perMinute: 5, perDay: 5 }', 'pro: custom')
  const fine = await run('--impact', '--fail-if-hit')
  t.equal(fine.code, 0, 'the exact limit refuses nothing')
  t.match(fine.stdout, 'free 60 → 5 a minute, 1,000 → 5 a day: 0 of 2 quotas, on 0 of 2 days.')
  write('free: { perMinute: 60, perDay: 4 }')
  // An embedded gateway saves its counters every half second.
  await until(async () => {
    const [taken] = json((await run('--impact', '--json')).stdout)['impact'] as PlanPreview[]
    return taken?.hitNow === 1 && taken.hit[0]?.refusedNow === true
  })
  write('gold: custom')
  const shut = await run('--impact')
  t.match(shut.stdout, 'free taken away: 2 of 2 quotas, on 2 of 2 days; 2 of them right now.')

  const preview = (...args: string[]) =>
    runCommand(['plans', 'preview', ...args, '--config', old ?? ''], {})
  t.match((await preview('free', '--per-minute', '4')).stdout, '60 → 4 a minute: 1 of 2 quotas')
  t.match((await preview('free', '--per-day', 'unlimited')).stdout, /at least 0 of 2 quotas/)
  t.match((await preview('free', '--per-day', '4', '--csv')).stdout, /"free","account:acme",/)
  t.match((await preview('free')).out, 'name a limit')
  t.match((await preview('pro', '--per-day', '4')).out, 'has no limits')
  t.match(
    (await preview('fre', '--per-day', '4')).out,
    'there is no plan "fre"; there are free, pro',
  )
  const demand = await runCommand(['plans', 'demand', 'free', '--config', old ?? ''], {})
  t.match(demand.stdout, /minute +2 +1 +5 +5 +5 +0 +0\n +day +2 +1 +5 +5 +5 +0 +0/)
  t.equal((await runCommand(['plans', 'demand', 'pro', '--config', old ?? ''], {})).code, 0)
})

t.test('a shadow counts what lower limits would have refused, exactly', async (t) => {
  const { url } = await startRedis(t)
  const upstream = await startUpstream(t)
  const shadow = 'shadow: { perMinute: 40, perDay: 45 }'
  const plans = `plans: { free: { perMinute: 60, perDay: 1000, ${shadow} }, pro: custom }`
  const store = `redis: "${url}"`
  const lines: string[] = []
  const log = { level: 'info', target: { write: (line: string) => void lines.push(line) } }
  const start = () => startGateway(t, { store, upstream, more: plans, log })
  const gateways = [await start(), await start(), await start(), await start()]
  const [first] = gateways
  if (!first) throw new Error('four were asked for')
  const [one, other] = [await first.key({ account: 'acme' }), await first.key({ account: 'acme' })]
  for (const { call } of gateways) {
    await until(async () => (await call('GET', '/v1/quota', undefined, one.headers)).status === 200)
  }
  await until(() => Date.now() % minuteMs < 50_000)
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      const { headers } = i % 2 === 0 ? one : other
      return (gateways[i % 4] ?? first).call('GET', '/v1/pets', undefined, headers)
    }),
  )
  t.ok(answers.every(({ status }) => status === 200))
  t.ok(answers.every(({ headers }) => headers['x-ratelimit-limit'] === '60'))
  const counted = (window: string): number =>
    gateways.reduce((sum, { app }) => {
      const found = [...app.core.meters.shadows].filter(([, of]) => of === window)
      return sum + found.reduce((all, [, , count]) => all + count, 0)
    }, 0)
  await until(() => counted('minute') + counted('day') >= 15)
  t.equal(counted('minute'), 10)
  t.equal(counted('day'), 5)
  const flushed = () => Promise.all(gateways.map(({ app }) => app.core.tallying.flush()))
  const today = Math.floor(Date.now() / dayMs)
  const range = { fromDay: today - 1, toDay: today }
  const report = async () => {
    await flushed()
    return shadowReport(first.stores, [...first.app.config.plans.values()], range)
  }
  const told = await report()
  const sum = (of: (key: ShadowReport['keys'][number]) => number): number =>
    told.keys.reduce((all, key) => all + of(key), 0)
  t.equal(
    sum(({ refused }) => refused.minute),
    10,
  )
  t.equal(
    sum(({ refused }) => refused.day),
    5,
  )
  t.match(told.shadows, [{ plan: 'free', shadow: { perMinute: 40, perDay: 45 } }])
  t.ok(
    told.keys.every(
      ({ key, account }) =>
        account === 'acme' && [one, other].some(({ key: { id } }) => id === key),
    ),
  )
  await until(() => lines.filter((line) => line.includes('"shadow":"minute')).length === 10)
  t.equal(lines.filter((line) => line.includes('"shadow":"minute day"')).length, 5)

  const free = first.app.config.plans.get('free')
  if (free?.limits === undefined || free.limits === 'custom') throw new Error('free has limits')
  const later = { ...free, shadow: shadowOf('free', { perMinute: 50, perDay: Infinity }) }
  await first.app.change({ ...first.app.config, plans: new Map([['free', later]]) })
  const next = await first.call('GET', '/v1/pets', undefined, one.headers)
  t.equal(next.status, 200)
  const isSameMinute = next.headers['x-ratelimit-remaining'] === '9'
  await until(async () => (await report()).keys.length === (isSameMinute ? 1 : 0))
  t.match(
    (await report()).keys,
    isSameMinute ? [{ key: one.key.id, refused: { minute: 1, day: 0 } }] : [],
  )
})

t.test('a shadow in a file, of keys with limits of their own, and for people', async (t) => {
  const more =
    'plans: { free: { perMinute: 60, perDay: 1000, shadow: { perMinute: 2 } }, pro: custom }'
  const now = Date.UTC(2026, 10, 20, 9, 30)
  const { gateway, ask } = await startAdmin(t, { more, clock: () => now })
  const usual = await gateway.key({ name: '=Usual' })
  const own = await gateway.key({ name: 'Own', limits: { perMinute: 100 } })
  for (const { headers } of [usual, own]) {
    for (let i = 0; i < 5; i++) await gateway.call('GET', '/v1/pets', undefined, headers)
  }
  await until(async () => {
    const { text } = await ask('GET', '/admin/usage')
    return [...text.matchAll(/"admitted":5/g)].length === 2
  })
  const told = json((await ask('GET', '/admin/shadow?plan=free&days=1')).text)
  t.match(told, {
    keys: [{ key: usual.key.id, refused: { minute: 3, day: 0 }, of: 5, first: '2026-11-20' }],
  })
  t.equal((told['keys'] as object[]).length, 1)
  t.match(
    (await ask('GET', '/admin/shadow?days=1', undefined, { accept: 'text/csv' })).text,
    `"'=Usual"`,
  )
  t.equal((await ask('GET', '/admin/shadow?plan=gone')).status, 404)
  t.match(
    (await ask('GET', '/metrics')).text,
    'tollgate_shadow_refusals_total{plan="free",window="minute"} 3',
  )
  const before = await ask('POST', '/admin/plans/free/preview', { perMinute: 2, days: 1 })
  t.match(json(before.text), { hitQuotas: 1, hit: [{ key: usual.key.id, peakMinute: 5 }] })
  const demand = json((await ask('GET', '/admin/plans/free/demand?days=1')).text)
  t.match(
    demand,
    {
      ...{ quotas: 2, curves: { quotas: { minute: [[5, 1]], day: [[5, 2]] } } },
      byDay: [{ minute: { quotas: 1 }, day: { quotas: 2 } }],
    },
    'the curve leaves a limit of a key’s own out, as the preview does',
  )
  await ask('POST', `/admin/quota/${own.key.id}/grant`, { perDay: 5, note: 'more' })
  const end = new Date(now + dayMs).toISOString()
  await ask('PATCH', `/admin/keys/${own.key.id}`, { limits: { perDay: 9 }, until: end })
  const after = await ask('POST', '/admin/plans/free/preview', { perDay: 2, days: 1 })
  t.match(after.text, 'Keys with a plan or limits for a time: 1.')
  t.match(after.text, 'Grants of points in these days: 1, to keys of any plan.')
})

t.test('a replay of a run agrees with all of its decisions', async (t) => {
  const { url } = await startRedis(t)
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url === '/v1/broken') response.destroy()
    else response.end('{}')
  })
  const free = (perMinute: number) => `free: { perMinute: ${perMinute}, perDay: 100 }`
  const plansOf = (perMinute: number) =>
    `plans: { ${free(perMinute)}, calm: { perMinute: 8, perDay: 40, bans: off }, enterprise: custom }`
  const bans = 'bans: { strikes: 4, within: 1m, grace: 1s, for: 2m, factor: 2 }'
  const more = `${plansOf(12)}\n${bans}`
  const routes =
    '[{ path: /v1/dear, upstream: animals, cost: 3 }, { path: /v1/free, upstream: animals, cost: 0 }, ' +
    '{ path: /v1/vast, upstream: animals, cost: 500 }, { path: /v1/*, upstream: animals }]'
  const store = `redis: "${url}"`
  let now = (Math.floor(Date.now() / dayMs) + 2) * dayMs - 15 * minuteMs
  const storeClock = () => now
  const logs = await Promise.all(
    [0, 1].map(async () => {
      const lines: string[] = []
      const log = { level: 'info', target: { write: (line: string) => void lines.push(line) } }
      const options = { store, upstream, routes, more, log, storeClock }
      return { lines, ...(await startGateway(t, options)) }
    }),
  )
  const [first] = logs
  if (!first) throw new Error('two were asked for')
  const unlimited = { perMinute: 'unlimited', perDay: 'unlimited' } as const
  const keys = await Promise.all(
    [
      ...[{ account: 'acme' }, { account: 'acme' }, {}, { plan: 'calm' }],
      { limits: { perMinute: 5 } },
      { plan: 'enterprise', limits: { perMinute: 3, perDay: 20 } },
    ].map((each) => first.key(each)),
  )
  const ticking = await first.key({ name: 'Ticking', limits: unlimited })
  const unlucky = await first.key({ name: 'Unlucky', limits: { perDay: 3 } })
  const get = ({ call }: (typeof logs)[number], path: string, headers = ticking.headers) =>
    call('GET', path, undefined, headers)
  for (const gateway of logs) {
    for (const { headers } of [...keys, ticking, unlucky]) {
      await until(async () => (await get(gateway, '/v1/quota', headers)).status === 200)
    }
  }
  const random = seeded(183)
  const paths = ['pets', 'pets', 'pets', 'pets', 'dear', 'free', 'vast', 'quota'].map(
    (name) => `/v1/${name}`,
  )
  for (let batch = 0; batch < 90; batch++) {
    now += [200, 900, 1_500, 25_000, 70_000][random(5)] ?? 0
    // The clock has jumped: each gateway hears of it, as it does with each answer of the store.
    for (const gateway of logs) await get(gateway, '/v1/pets')
    await Promise.all(
      keys.flatMap(({ headers }) =>
        Array.from({ length: random(7) }, () =>
          get(logs[random(2)] ?? first, paths[random(paths.length)] ?? '', headers),
        ),
      ),
    )
  }
  for (let i = 0; i < 5; i++) {
    await get(first, i < 2 ? '/v1/broken' : '/v1/pets', unlucky.headers)
    const left = i < 2 ? 3 : Math.max(0, 4 - i)
    const remaining = async () =>
      (await get(first, '/v1/quota', unlucky.headers)).headers['x-ratelimit-remaining']
    await until(async () => Number(await remaining()) === left)
  }
  await first.call('GET', '/v1/pets')
  await until(() => first.lines.some((line) => line.includes('missing_api_key')))

  const others = { dear: 1, free: 2, vast: 4 }
  const otherRoutes = Object.entries(others).map(([name, cost]) => {
    return `{ path: /v1/${name}, upstream: animals, cost: ${cost} }`
  })
  /** A line whose cost is that of the other routes, and that doesn't tell by what. */
  const costing = (line: string): string => {
    const told = JSON.parse(line) as Record<string, unknown>
    const { path } = told
    const rest: Record<string, unknown> = { ...told, method: undefined, path: undefined }
    const isFreed = rest['cost'] === 0 && rest['decision'] === 'key_banned'
    if (typeof rest['decidedAt'] !== 'number' || isFreed || path === '/v1/quota') {
      return JSON.stringify(rest)
    }
    const name = String(path).slice('/v1/'.length) as keyof typeof others
    return JSON.stringify({ ...rest, cost: others[name] ?? 2 })
  }
  const dir = t.testdir({
    'own.yaml': configFor(upstream.url, store, { more, routes }),
    'costs.yaml': configFor(upstream.url, store, {
      more,
      routes: `[{ path: /v1/*, upstream: animals, cost: 9 }, ${otherRoutes.join(', ')}, { path: '/v1/{name}', upstream: animals, cost: 2 }]`,
    }),
    'costing.log': logs.flatMap(({ lines }) => lines.map(costing)).join('\n'),
    'lower.yaml': configFor(upstream.url, store, { more: `${plansOf(6)}\n${bans}`, routes }),
    'a.log': logs[0]?.lines.join('') ?? '',
    'b.log': logs[1]?.lines.join('') ?? '',
  })
  const inDir = (name: string) => join(dir, name)
  const files = [inDir('a.log'), inDir('b.log')]
  const replayed = async (config: string, ...args: string[]) =>
    (await runCommand(['simulate', ...files, '--config', inDir(config), ...args], {})).stdout
  const told = json(await replayed('own.yaml', '--json')) as unknown as SimulationView
  t.match(told.agrees, { config: { first: null }, against: null })
  t.equal(told.agrees.config?.same, told.agrees.config?.of)
  const sums = told.plans.map(({ config }) => config)
  const sum = (of: (each: (typeof sums)[number]) => number) =>
    sums.reduce((all, each) => all + of(each), 0)
  t.ok(sum(({ bans }) => bans) >= 3, 'keys were banned')
  for (const why of ['minute', 'day', 'ban'] as const) {
    t.ok(sum(({ refused }) => refused[why]) > 10, why)
  }
  const people = await replayed('lower.yaml', '--against', inDir('own.yaml'))
  t.match(people, /own\.yaml agrees with 100 % of what was logged \([\d,]+ of [\d,]+\)\.\n/)
  t.match(
    people,
    /lower\.yaml agrees with \d+(?:\.\d+)? % of .*; first not with \w+ at .*: logged admitted, /,
  )
  t.match(people, /\nfree +[\d,]+ → [\d,]+ /)
  const dearer = json(await replayed('costs.yaml', '--json')) as unknown as SimulationView
  const costed = await runCommand(
    ['simulate', inDir('costing.log'), '--config', inDir('costs.yaml'), '--json'],
    {},
  )
  t.strictSame(dearer, json(costed.stdout), 'as if the log had said what the new routes cost')
  t.ok(dearer.requests > told.requests, 'also what cost nothing before')
  t.ok(dearer.agrees.config?.first)
  const alone = json(
    await replayed('own.yaml', '--json', '--without-store'),
  ) as unknown as SimulationView
  t.ok(alone.agrees.config?.first, 'without the store, accounts and limits of keys are unknown')
})

t.test('a replay finds the cost of a request where the router finds it', async (t) => {
  const random = seeded(5)
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item
  let compared = 0
  for (let table = 0; table < 15; table++) {
    const written = Array.from({ length: 1 + random(7) }, (_, i) => {
      const parts = Array.from({ length: 1 + random(3) }, () =>
        pick(['a', 'b', 'a', 'a@b', '{x}', '{y}']),
      )
      const path = `/${parts.join('/')}${pick(['', '', '/*'])}`
      const methods = pick([undefined, undefined, ['GET'], ['POST', 'PUT']])
      return { path, upstream: 'u', cost: i, ...(methods ? { methods } : {}) }
    })
    const file = { store: { file: 'unused.db' }, plans: { free: 'custom' as const } }
    let config: Config
    try {
      config = configOf({
        ...{ ...file, upstreams: { u: { targets: ['http://127.0.0.1:1'] } } },
        routes: table % 3 === 0 ? [...written, { path: '/*', upstream: 'u', cost: 50 }] : written,
      })
    } catch {
      // Two routes for the same requests.
      continue
    }
    const apps = [await appOfCosts(t, config, true), await appOfCosts(t, config, false)]
    const costOf = costsBy(config)
    for (let i = 0; i < 80; i++) {
      const path = pick([
        ...Array.from({ length: 5 }, () =>
          Array.from(
            { length: 1 + random(4) },
            () => `/${pick(['a', 'b', 'c', 'x%20y', 'a@b', 'a%40b'])}`,
          ).join(''),
        ),
        ...['/', '/a/', '/v1/quota', '/v1/usage'],
      ])
      const method = pick(['GET', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'] as const)
      const called = `${method} ${path}: ${JSON.stringify(written)}`
      for (const app of apps.filter(({ supportedMethods }) => supportedMethods.includes(method))) {
        const { body } = await app.inject({ method, url: path })
        const cost = String(costOf(method, path))
        if (body !== cost) t.equal(cost, body, called)
        compared++
      }
    }
  }
  t.ok(compared > 500, `${compared} requests`)
})

t.test('logs of another system are replayed by named columns, and wrong lines named', async (t) => {
  const plans = 'free: { perMinute: 2, perDay: 1000 }\n  dear: { perMinute: 1, perDay: 1000 }'
  const dir = t.testdir({
    'a.yaml': `store: { file: gateway.db }\nplans:\n  ${plans}\nroutes: []`,
    'gone.yaml': 'store: { file: gateway.db }\nplans: { dear: custom }\nroutes: []',
    'rows.csv':
      '\ufeffwhen,client,points,more\r\n1790000000,zoo,1,"a, b"\r\n1790000001.5,zoo,,x\r\n\r\n' +
      '2026-09-21T14:13:22Z,zoo,1,x\n1790000003000,zoo,0,x\n1790000004,,1,x\n1790000005,ant,3,x',
    'more.jsonl': '{"when":1790000000.5,"client":"zoo"}\n{"when":1790000050,"client":7}\n',
    'bad.csv': 'time,key\n1790000000,zoo\nyesterday,zoo\n',
    'short.csv': 'time,key\n1790000000\n',
    'own.log': '{"level":30,"time":1790000000000,"msg":"listening"}\n{"level":30,"time":1\n',
    'late.jsonl': [200, 100, 0].map((s) => `{"time":${1_790_000_000 + s},"key":"zoo"}`).join('\n'),
  })
  const names = ['--time', 'when', '--key', 'client', '--cost', 'points']
  const run = (...args: string[]) => {
    const inDir = args.map((each) => (/\.\w+$/.test(each) ? join(dir, each) : each))
    return runCommand(
      ['simulate', ...inDir, '--without-store', '--config', join(dir, 'a.yaml')],
      {},
    )
  }
  const two = ['rows.csv', 'more.jsonl', '--plan', 'free', ...names]
  const told = json((await run(...two, '--json')).stdout) as unknown as SimulationView
  t.match(told, {
    ...{ lines: 8, requests: 6, allKeys: 3, refusedKeys: 2, from: '2026-09-21T14:13:20.000Z' },
    leftOut: { keyless: 1, free: 1, undecided: 0, others: 0, planless: 0 },
    agrees: { config: null, against: null },
    plans: [{ plan: 'free', config: { admitted: 3, refused: { minute: 2, forbidden: 1 } } }],
    keys: [{ key: 'zoo', config: { firstRefusal: '2026-09-21T14:13:21.500Z' } }, { key: 'ant' }],
  })
  const gone = json((await run(...two, '--json', '--against', 'gone.yaml')).stdout)
  t.match(gone, { plans: [{ against: { admitted: 0, refused: { forbidden: 6 } } }] })
  t.match(
    (await run(...two)).stdout,
    /8 lines, 6 requests of 3 keys, .*; 1 without a key, 1 that cost nothing\./,
  )
  const late = await run('late.jsonl', '--plan', 'free')
  t.match(late.stdout, 'No key is refused.')
  const planless = (await run('late.jsonl')).stdout
  t.match(planless, /Left out: 3 requests of 1 keys without a plan/)
  for (const [args, sentence] of [
    [['bad.csv', '--plan', 'free'], /bad\.csv:3: "time" must be a time with its zone/],
    [['short.csv'], /short\.csv:2: it has 1 fields, but the first line names 2/],
    [['own.log'], /own\.log:2: this isn’t a valid JSON object/],
    [['bad.csv', '--key', 'who'], /bad\.csv:1: there is no column "who"; there are time, key/],
    [['none.csv'], /none\.csv can't be read: ENOENT/],
    [['bad.csv', '--plan', 'gold'], /there is no plan "gold"/],
    [[], /"simulate" takes LOG…, got ""/],
    [['-', '-'], /- is given twice/],
  ] as const) {
    const { code, out, stdout } = await run(...args)
    t.ok(code > 0 && stdout === '', sentence.source)
    t.match(out, sentence)
  }
  const piped = await startProcess(t, 'gateway/cli/main.ts', {
    args: ['simulate', '-', '--plan', 'free', '--without-store', '--config', join(dir, 'a.yaml')],
    shell: `exec < ${join(dir, 'late.jsonl')}`,
  }).ended
  t.equal(piped.code, 0, 'standard input is a log, too')
})
