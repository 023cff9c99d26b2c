import t from 'tap'
import { shadowReport, type ShadowReport } from '../../../gateway/office/foresight/shadows.ts'
import { shadowOf } from '../../../gateway/front/limits/shadow.ts'
import { dayMs, minuteMs } from '../../../shared/windows.ts'
import { reportText } from '../../../gateway/office/operations/shadow/report.ts'
import { startAdmin } from '../../support/admin.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

t.test('a shadow counts what lower limits would have refused, exactly', async (t) => {
  const { url } = await startRedis(t)
  const upstream = await startUpstream(t)
  const shadow = 'shadow: { perMinute: 40, perDay: 45 }'
  const plans = `plans: { free: { perMinute: 60, perDay: 1000, ${shadow} }, pro: custom }`
  const store = `redis: "${url}"`
  const lines: string[] = []
  const log = { level: 'info', target: { write: (line: string) => void lines.push(line) } }
  // Redis is at the beginning of a minute, so that all requests come in one.
  const lateMs = Date.now() % minuteMs
  const storeClock = () => Date.now() - lateMs
  const start = () => startGateway(t, { store, upstream, more: plans, log, storeClock })
  const gateways = [await start(), await start(), await start(), await start()]
  const [first] = gateways
  if (!first) throw new Error('four were asked for')
  const [one, other] = [await first.key({ account: 'acme' }), await first.key({ account: 'acme' })]
  for (const { call } of gateways) {
    await until(async () => (await call('GET', '/v1/quota', undefined, one.headers)).status === 200)
  }
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
      const found = [...app.front.meters.shadows].filter(([, of]) => of === window)
      return sum + found.reduce((all, [, , count]) => all + count, 0)
    }, 0)
  await until(() => counted('minute') + counted('day') >= 15)
  t.equal(counted('minute'), 10)
  t.equal(counted('day'), 5)
  const flushed = () => Promise.all(gateways.map(({ app }) => app.front.flushCounts()))
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
  t.match(reportText(told as ShadowReport), / +3 +0 +5 +2026-11-20 .*\n\nBY MINUTE, .* OF: all /)
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
  const after = await ask('POST', '/admin/plans/free/preview', { perDay: 2, days: 1 })
  t.match(after.text, 'Grants of points in these days: 1, to keys of any plan.')
})
