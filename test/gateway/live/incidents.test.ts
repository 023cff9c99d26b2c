import t from 'tap'
import { presentOf, type Snapshot } from '../../../gateway/office/live/snapshot.ts'
import type { Figures, TargetFigures } from '../../../gateway/office/live/figures.ts'
import { startAdmin } from '../../support/admin.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { until } from '../../support/until.ts'

t.test('a backend that has gone is an incident, and its failures are those of none', async (t) => {
  let [status, isGone] = [200, false]
  const upstream = await startUpstream(t, (_request, response) => {
    if (isGone) response.destroy()
    else response.writeHead(status).end('{}')
  })
  const upstreamMore = 'health: { path: /healthz, every: 50ms, unhealthyAfter: 1 }'
  const { ask, gateway } = await startAdmin(t, { upstream, upstreamMore })
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
  const { incidents, lastMinute } = await snapshot()
  t.strictSame(lastMinute.failed, { gateway: 0, noBackend: 1, backend: 1 })
  const [incident] = incidents
  t.match(incident, { upstream: 'animals', cause: /\w/ })
  t.ok(Date.parse(incident?.since ?? '') >= beforeMs - 1_000)
  isGone = false
  status = 200
  await until(async () => (await snapshot()).incidents.length === 0)
})

t.test('the first gateway without a target tells since when, the last target why', (t) => {
  const target = (upstream: string, sinceMs: number, cause: string): TargetFigures => {
    return { upstream, target: `http://${sinceMs}`, healthy: cause === '', sinceMs, cause }
  }
  const seen = (...targets: TargetFigures[]): Figures => {
    const of = { seconds: [], minutes: [], refusals: [], refusedKeys: [], routes: [] }
    const at = { nowMs: 0, second: 0, refusal: 0, isReachable: true, config: null }
    return { id: 'x', name: 'x', ...of, ...at, targets }
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
