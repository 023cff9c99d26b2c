import t from 'tap'
import { presentOf, type Snapshot } from '../../../gateway/office/live/snapshot.ts'
import type { Figures, TargetFigures } from '../../../gateway/office/live/figures.ts'
import { LatestFailures } from '../../../gateway/front/counts/latest-failures.ts'
import type { KeptRefusal } from '../../../gateway/front/counts/kept-refusal.ts'
import type { Reason } from '../../../shared/refusal.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { token } from '../../support/operator.ts'
import { until } from '../../support/until.ts'

/** A gateway that has nothing to tell. */
const figures: Figures = {
  ...{
    id: 'x',
    name: 'x',
    nowMs: 0,
    sinceMs: 0,
    second: 0,
    refusal: 0,
    isReachable: true,
    config: null,
  },
  ...{ seconds: [], minutes: [], refusals: [], refusedKeys: [], routes: [], failures: [] },
  targets: [],
}

t.test('a backend that has gone is an incident, and its failures are those of none', async (t) => {
  let [status, isGone] = [200, false]
  const upstream = await startUpstream(t, (_request, response) => {
    if (isGone) response.destroy()
    else response.writeHead(status).end('{}')
  })
  const upstreamMore = 'health: { path: /healthz, every: 50ms, unhealthyAfter: 1 }'
  const { ask, gateway, url, file, write } = await startAdmin(t, { upstream, upstreamMore })
  const { headers } = await gateway.key()
  const call = () => gateway.call('GET', '/v1/pets', undefined, headers)
  const snapshot = async () => json(await ask('GET', '/admin/live')) as Snapshot
  await call()
  t.strictSame((await snapshot()).incidents, [])
  status = 500
  t.equal((await call()).status, 500)
  const beforeMs = Date.now()
  isGone = true
  await until(async () => (await snapshot()).incidents.length > 0)
  t.equal((await call()).status, 503)
  await until(async () => (await snapshot()).lastMinute.requests === 3)
  await call()
  await until(async () => (await snapshot()).lastMinute.requests === 4)
  const { incidents, lastMinute, failures } = await snapshot()
  t.strictSame(lastMinute.failed, { gateway: 0, noBackend: 2, backend: 1 })
  const of = { upstream: 'animals' }
  t.match(failures, [
    { ...of, side: 'noBackend', reason: 'none_healthy', status: 503, count: 2 },
    { ...of, side: 'backend', reason: 'backend', status: 500, count: 1 },
  ])
  t.equal(failures[0]?.sentence, 'No target of the upstream animals was healthy.')
  t.match(failures[1]?.sentence, /animals answered 500 itself/)
  write((text) =>
    text.replace(/^admin: .*$/m, `admin: { host: 127.0.0.1, port: ${new URL(url).port} }`),
  )
  const { stdout: text } = await runCommand(['now', '--config', file], { ADMIN_TOKEN: token })
  t.match(text, /^no backend +2 +\S+ \S+ +No target of the upstream animals was healthy\.$/m)
  t.match(text, /^backend +1 /m)
  const [incident] = incidents
  t.match(incident, { upstream: 'animals', cause: /\w/ })
  t.ok(Date.parse(incident?.since ?? '') >= beforeMs - 1_000)
  isGone = false
  status = 200
  await until(async () => (await snapshot()).incidents.length === 0)
})

t.test(
  'failures are told for 15 minutes by cause, most first, those of all gateways together',
  (t) => {
    const failures = new LatestFailures()
    const fail = (atMs: number, upstream: string, status = 500, reason?: Reason): void => {
      const of = { upstream, status, reason, code: reason && 'service_unavailable', atMs }
      failures.count({ ...of, id: `${atMs}`, windows: {} } as KeptRefusal)
    }
    const told = (nowMs: number, most = 9) =>
      failures
        .top(most, nowMs)
        .map(({ newest, count }) => `${newest.upstream} ${newest.id} ${count}`)
    fail(0, 'a', 499)
    t.strictSame(told(0), [], 'a refusal')
    fail(0, 'a')
    fail(59_999, 'a')
    fail(60_000, 'a', 503, 'overloaded')
    for (const atMs of [60_000, 70_000, 80_000]) fail(atMs, 'b')
    t.strictSame(told(80_000), ['b 80000 3', 'a 59999 2', 'a 60000 1'])
    t.strictSame(told(80_000, 1), ['b 80000 3'])
    t.strictSame(told(15 * 60_000), ['b 80000 3', 'a 60000 1'], 'the first minute is over')
    for (let minute = 2; minute < 60; minute++) fail(minute * 60_000, 'b')
    t.strictSame(told(59 * 60_000), ['b 3540000 15'])
    for (let i = 0; i < 1_000; i++) fail(59 * 60_000, `upstream-${i}`)
    t.equal(told(59 * 60_000, 1_000).length, 200, 'the oldest are forgotten')

    const seen = (count: number, last: string, sentence: string): Figures => {
      const cause = { side: 'backend', upstream: 'a', reason: 'backend', status: 500 } as const
      return { ...figures, failures: [{ ...cause, count, last, id: last, sentence }] }
    }
    const [sum, ...others] = presentOf([seen(2, '2', 'two'), seen(3, '1', 'one')]).failures
    t.match(sum, { count: 5, last: '2', id: '2', sentence: 'two' })
    t.strictSame(others, [])
    t.end()
  },
)

t.test('the first gateway without a target tells since when, the last target why', (t) => {
  const target = (upstream: string, sinceMs: number, cause: string): TargetFigures => {
    return { upstream, target: `http://${sinceMs}`, healthy: cause === '', sinceMs, cause }
  }
  const seen = (...targets: TargetFigures[]): Figures => {
    return { ...figures, targets }
  }
  const { incidents } = presentOf([
    seen(target('a', 2_000, 'one'), target('a', 9_000, 'two'), target('b', 1_000, '')),
    seen(target('a', 3_000, 'three'), target('a', 4_000, 'four'), target('b', 1_000, 'gone')),
    seen(target('a', 1_000, 'five'), target('a', 1_000, '')),
  ])
  t.strictSame(incidents, [
    { upstream: 'a', since: new Date(4_000).toISOString(), cause: 'four' },
    { upstream: 'b', since: new Date(1_000).toISOString(), cause: 'gone' },
  ])
  t.end()
})
