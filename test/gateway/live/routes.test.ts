import t from 'tap'
import type { RequestRecord } from '../../../gateway/front/request-record.ts'
import { LiveCounts } from '../../../gateway/front/counts/live-counts.ts'
import { Meters } from '../../../gateway/front/counts/meters.ts'
import type { Snapshot } from '../../../gateway/office/live/snapshot.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { token } from '../../support/operator.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const startMs = Date.UTC(2026, 5, 15, 12, 0, 30)

/** Counts by a clock that the test moves; `routes` are added when they are first asked. */
function movedCounts() {
  let ticks = 0
  const meters = new Meters()
  const options = { clock: () => startMs, ticks: () => ticks, routes: meters.routes }
  const counts = new LiveCounts(options)
  const record = { beganAtMs: 0, sentAtMs: 0, answeredAtMs: 0 } as RequestRecord
  const count = (path: string, status = 200, times = 1): void => {
    const meter = meters.route(path)
    for (let i = 0; i < times; i++) {
      counts.count({ record, route: { meter }, status, endedAtMs: ticks })
      meter.durations.add(20)
    }
  }
  const told = (most = 50) =>
    counts.byRoute
      .top(most, counts.sums.close() + 1)
      .map(({ route, failed, times }) => `${route} ${times.reduce((a, b) => a + b)} ${failed}`)
  return { count, told, move: (seconds: number) => (ticks += seconds * 1_000) }
}

t.test('routes are told for 15 minutes, those that fail first, then the busiest', (t) => {
  const { count, told, move } = movedCounts()
  t.strictSame(told(), [])
  count('/busy', 200, 9)
  count('/calm', 200, 2)
  count('/broken', 503)
  t.strictSame(told(), ['/broken 1 1', '/busy 9 0', '/calm 2 0'])
  t.strictSame(told(2), ['/broken 1 1', '/busy 9 0'])
  move(29)
  count('/calm')
  move(1)
  // This one begins a minute, and isn't part of the one before.
  count('/busy')
  move(14 * 60 - 1)
  t.strictSame(told(), ['/broken 1 1', '/busy 10 0', '/calm 3 0'], 'all of 15 minutes')
  move(1)
  t.strictSame(told(), ['/busy 1 0'], 'the first minute is over')
  count('/late', 500, 2)
  move(60)
  t.strictSame(told(), ['/late 2 2'])
  move(3_600)
  t.strictSame(told(), [], 'nothing was asked for an hour')
  count('/busy', 200, 3)
  t.strictSame(told(), ['/busy 3 0'])
  t.end()
})

t.test('the requests of each route are told, of all gateways together', async (t) => {
  const redis = await startRedis(t)
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    response.writeHead(url.includes('broken') ? 500 : 200).end('{}')
  })
  const options = {
    ...{ upstream, store: `redis: "${redis.url}"`, clock: () => startMs },
    storeClock: () => startMs,
    routes: '[ { path: /v1/*, upstream: animals }, { path: /v2/*, upstream: animals } ]',
    more: 'plans: { free: { perMinute: 7, perDay: 1000 } }',
  }
  const one = await startAdmin(t, options)
  const other = await startAdmin(t, options)
  const { headers } = await one.gateway.key()
  await until(() => one.gateway.stores.fleet.size === 2)
  const send = async ({ gateway }: typeof one, ...paths: string[]): Promise<void> => {
    for (const path of paths) await gateway.call('GET', path, undefined, headers)
  }
  await send(one, '/v1/x', '/v2/x', '/v2/x', '/nowhere')
  await send(other, '/v1/broken', '/v1/x', '/v2/x', '/v2/x')
  const snapshot = async (): Promise<Snapshot> =>
    json(await one.ask('GET', '/admin/live')) as Snapshot
  const sum = (routes: Snapshot['routes']) => routes.reduce((all, each) => all + each.requests, 0)
  await until(async () => (await snapshot()).lastMinute.requests === 8)
  const { routes } = await snapshot()
  t.match(routes, [
    { route: '/v1/*', requests: 3, refused: 0, failed: 1, p50: Number, p99: Number },
    { route: '/v2/*', requests: 4, refused: 1, failed: 0 },
    { route: 'none', requests: 1, refused: 1, failed: 0 },
  ])
  t.equal(sum(routes), 8)

  one.write((text) =>
    text.replace(/^admin: .*$/m, `admin: { host: 127.0.0.1, port: ${new URL(one.url).port} }`),
  )
  const { stdout } = await runCommand(['now', '--config', one.file], { ADMIN_TOKEN: token })
  t.match(stdout, /ROUTE +REQUESTS IN 15 MINUTES +REFUSED +FAILED +P50, P99\n/)
  t.match(stdout, /\n\/v2\/\* +4 +1 +0 +[\d.]+, [\d.]+ ms\n/)
})
