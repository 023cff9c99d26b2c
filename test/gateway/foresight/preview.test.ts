import { withUsed } from '../../../gateway/contracts/counters.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { peaksOn } from '../../../gateway/front/counts/peak-store.ts'
import { Peaks } from '../../../gateway/front/counts/peaks.ts'
import { previewPlan, type PlanPreview } from '../../../gateway/office/foresight/preview.ts'
import { Caller } from '../../../gateway/front/keys/caller.ts'
import { Quotas } from '../../../gateway/front/limits/quotas.ts'
import { shadowOf, wouldRefuse } from '../../../gateway/front/limits/shadow.ts'
import { dayMs, minuteMs } from '../../../shared/windows.ts'
import { auditOn } from '../../../gateway/front/records/audit-list.ts'
import { redisLists } from '../../../gateway/front/stores/redis/lists.ts'
import { redisKeys } from '../../../gateway/front/stores/redis/keys.ts'
import { redisCounts } from '../../../gateway/front/stores/redis/counts.ts'
import { redisQuotas } from '../../../gateway/front/stores/redis/quota.ts'
import { newKey } from '../../contracts/keys.ts'
import { runCommand } from '../../support/command.ts'
import { startGateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'
import { seeded } from '../../support/seeded.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

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
  let now = Date.UTC(2026, 10, 7)
  const redis = await startRedis(t)
  const plan = { name: 'free', limits: { perMinute: 12, perDay: 60 }, bans: false }
  const options = { timeoutMs: 5_000, prefix: 'test:' }
  const connection = await connectionTo(t, { url: redis.url })
  const keys = redisKeys({ ...options, connection, clock: () => now })
  t.teardown(() => keys.close())
  const audit = auditOn(redisLists({ ...options, connection }))
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
    return { quota, quotas, peaks: new Peaks(peaksOn(redisCounts({ ...options, connection }))) }
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
      const isMinute = withUsed(decision).minuteUsed + one.cost > plan.limits.perMinute
      const refusedBy = isRefused ? (isMinute ? 'minute' : 'day') : undefined
      const standing = { decision, ...limits }
      peaks.count({
        caller: one.caller,
        record: { terms: undefined, refusal: undefined },
        standing,
        refusedBy,
      })
      const date = `${one.caller.quota} ${new Date(now).toISOString().slice(0, 10)}`
      if (wouldRefuse(shadow, decision).length > 0) shadowDays.add(date)
      sent.push({ ...one, day: date, minute: `${date} ${Math.floor(now / minuteMs)}` })
    }
    for (const { peaks } of gateways) await peaks.write()
    now = beganMs + dayMs
  }
  const stores = {
    keys,
    audit,
    quota: first.quota,
    peaks: peaksOn(redisCounts({ ...options, connection })),
  }
  const today = Math.floor(now / dayMs)
  const range = { fromDay: today - 14, toDay: today, nowMs: now, limit: 1_000 }
  const preview = (limits: Pair) =>
    previewPlan(stores, { name: 'free', now: plan, then: { ...plan, limits }, ...range })
  const named = ({ hit }: PlanPreview): string[] =>
    hit.flatMap(({ quota, daysHit }) => daysHit.map((day) => `${quota} ${day}`)).sort()

  let hits = 0
  for (let i = 0; i < 50; i++) {
    const lower = { perMinute: 1 + random(11), perDay: 1 + random(59) }
    const told = await preview(lower)
    const expected = bruteForce(sent, lower)
    hits += expected.length
    t.strictSame(named(told), expected, JSON.stringify(lower))
    t.equal(told.bound, 'exact')
    t.equal(told.hitDays, expected.length)
  }
  t.ok(hits > 10_000, `${hits} quota-days were refused`)
  for (let i = 0; i < 10; i++) {
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
  t.strictSame(
    [...shadowDays].sort(),
    named(await preview({ perMinute: 7, perDay: 60 })),
    'a shadow and a preview name the same days',
  )
  t.match(refused.unsaid.join(' '), /custom limits are left out: 1\./)
  t.match(refused.unsaid.join(' '), /lower bound/)
})

t.test('config diff tells whom changed limits would have refused', async (t) => {
  const dir = folderOf(t)
  const [old, changed] = ['old.yaml', 'new.yaml'].map((name) => join(dir, name))
  const store = `file: ${join(dir, 'gateway.db')}`
  const { app, call, key } = await startGateway(t, { store })
  const acme = await key({ name: 'Acme', account: 'acme' })
  const quiet = await key({ name: 'Quiet' })
  for (let i = 0; i < 5; i++) await call('GET', '/v1/pets', undefined, acme.headers)
  await call('GET', '/v1/pets', undefined, quiet.headers)
  await until(async () => {
    await app.front.flushCounts()
    for await (const some of app.front.stores.peaks.list(0, 50_000))
      if (some.length > 1) return true
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
      { place: 'plans.free.perMinute', before: 60, after: 2 },
      { place: 'drain', before: '3s', after: '5s' },
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
  const people = await run('--impact', '--fail-if-hit')
  t.equal(people.code, 1)
  t.match(people.stdout, /free 60 → 2 a minute: 1 of 2 quotas, on 1 of 2 days/)
  t.match(people.stdout, /plans\.free\.perMinute +60 +2\n/)
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
  t.match(shut.stdout, 'free removed: 2 of 2 quotas, on 2 of 2 days; 2 of them right now.')

  const preview = (...args: string[]) =>
    runCommand(['plans', 'preview', ...args, '--config', old ?? ''], {})
  t.match((await preview('free', '--per-minute', '4')).stdout, '60 → 4 a minute: 1 of 2 quotas')
  t.match((await preview('free', '--per-day', 'unlimited')).stdout, /at least 0 of 2 quotas/)
  t.match((await preview('free', '--per-day', '4', '--csv')).stdout, /"free","account:acme",/)
  t.match(
    (await preview('free')).out,
    /give at least one of --per-second, --per-minute, --per-hour, --per-day, --per-week, --per-month/,
  )
  t.match((await preview('pro', '--per-day', '4')).out, 'has no limits')
  t.match(
    (await preview('fre', '--per-day', '4')).out,
    'there is no plan "fre"; there are free, pro',
  )
  const demand = await runCommand(['plans', 'demand', 'free', '--config', old ?? ''], {})
  t.match(
    demand.stdout,
    /minute +2 +1 +5 +5 +5 +0 +0\n +day +2 +1 +5 +5 +5 +0 +0\n\nHIGHEST: .* NEAR: quotas at 80 %/,
  )
  t.equal((await runCommand(['plans', 'demand', 'pro', '--config', old ?? ''], {})).code, 0)
})
