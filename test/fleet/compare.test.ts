import t from 'tap'
import { Pool } from 'undici'
import type { ComparisonView } from '../../gateway/office/compare/comparison-view.ts'
import { mostFailures } from '../../gateway/office/compare/mirror.ts'
import { startAdmin } from '../support/admin.ts'
import { allRequests, compare, path } from '../support/comparison.ts'
import { startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { startAsProcess as start, unlimited } from '../support/operator.ts'
import { heldQuick, usualWait } from '../support/promises.ts'
import { startRedis } from '../support/redis.ts'
import { startTraffic } from '../support/traffic.ts'
import { until } from '../support/until.ts'

t.test(
  'a backend that hangs costs callers nothing, and is left alone after 20 requests',
  async (t) => {
    const present = await startUpstream(t)
    const wouldBe = await startUpstream(t, () => undefined)
    const { admin, url, key } = await start(t, {
      upstream: present.url,
      upstreamMore: 'timeout: { connect: 5s, response: 1s }',
    })
    const traffic = startTraffic(t, url, await key(), { connections: 4 })
    await until(() => traffic.asked.length > 100)
    const fromMs = performance.now()
    const { over } = await compare(t, admin, { url: wouldBe.url, for: '1m', share: allRequests })
    const view = await over
    const [before, during] = [traffic.between(0, fromMs), traffic.between(fromMs)]
    t.match(view, {
      fit: false,
      ended: 'failures',
      routes: [{ breaks: [{ what: 'it does not answer in time' }] }],
    })
    t.match(
      view?.summary,
      /ended early: 20 requests in a row failed, the last one with: no answer began within 1000 ms/,
    )
    t.equal(view?.requests.compared, mostFailures)
    t.ok(view && view.requests.busy > 0, 'at most ten are asked at a time')
    t.ok(wouldBe.seen.length <= mostFailures + 10, `${wouldBe.seen.length} have arrived`)
    t.strictSame(new Set(during.map(({ status }) => status)), new Set(['200']))
    heldQuick(t, 'a hanging would-be backend costs callers nothing', during, {
      usual: usualWait(before),
      most: 1,
    })
  },
)

t.test('a share of the requests is drawn', async (t) => {
  const { gateway, url: admin, ask: operate, write } = await startAdmin(t, { more: unlimited })
  const wouldBe = await startUpstream(t)
  const { headers } = await gateway.key({ plan: 'p' })
  const pool = new Pool(gateway.url, { connections: 16, pipelining: 1 })
  t.teardown(() => pool.close())
  const drawn = async (): Promise<number> => {
    const { over, latest } = await compare(t, admin, { url: wouldBe.url, for: '10m', share: '25%' })
    const soFar = wouldBe.seen.length
    let left = 2_000
    const ask = async (): Promise<void> => {
      while (left-- > 0)
        await (await pool.request({ method: 'GET', path: '/v1/x', headers })).body.dump()
    }
    await Promise.all(Array.from({ length: 16 }, ask))
    const asked = () => wouldBe.seen.length - soFar
    await until(() => asked() === latest().requests.compared)
    // Another configuration ends it.
    write((text) => text.replace('perDay: 1000000', `perDay: ${1_000_000 + asked()}`))
    await operate('POST', '/admin/config/reload')
    const view = await over
    t.match(view, { ended: 'reload', fit: false, requests: { compared: asked() } })
    return asked() + (view?.requests.busy ?? 0)
  }
  const isNear = (count: number): boolean => Math.abs(count - 500) <= 60
  // Chance has it otherwise once in 500 times.
  const first = await drawn()
  t.ok(isNear(first) || isNear(await drawn()), `${first} of 2,000`)
})

t.test('all workers take part, and one comparison runs in a fleet at a time', async (t) => {
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}"`
  const present = await startUpstream(t)
  const wouldBe = await startUpstream(t)
  const common = { upstream: present.url, store }
  const crew = await start(t, { ...common, more: `name: crew\nworkers: 2\n${unlimited}` })
  const other = await start(t, { ...common, more: `name: other\n${unlimited}` })
  const settings = { url: wouldBe.url, for: '10m', share: allRequests }
  const first = await compare(t, crew.admin, settings)
  const isWhole = ({ fleet, gateways }: ComparisonView): boolean =>
    fleet === 3 && gateways.length === 2
  await until(() => isWhole(first.latest()))
  const headers = await crew.key()
  // Each connection may come to either worker.
  for (let i = 0; i < 40; i++) {
    const pool = new Pool(crew.url, { connections: 1 })
    await (await pool.request({ method: 'GET', path: '/v1/x', headers })).body.dump()
    await pool.close()
  }
  await until(() => first.latest().requests.compared === 40)
  t.match(first.latest(), { gateways: ['crew/1', 'crew/2'], requests: { same: 40, busy: 0 } })
  t.match(json(await other.ask('POST', path, settings)), {
    status: 409,
    message: /^One comparison at a time: admin compares http:\S+ at crew\/\d since /,
  })

  first.leave()
  await t.rejects(first.over)
  const free = async (): Promise<boolean> =>
    (await other.ask('POST', path, { ...settings, for: '1s' })).status === 200
  await until(free)
  const seen = wouldBe.seen.length
  const second = await compare(t, other.admin, settings)
  t.match(json(await crew.ask('POST', path, settings)), { status: 409 })
  other.gateway.signal('SIGKILL')
  await t.rejects(second.over)
  const inherits = async (): Promise<boolean> =>
    (await crew.ask('POST', path, { ...settings, for: '1s' })).status === 200
  await until(inherits)
  const third = await compare(t, crew.admin, settings)
  crew.gateway.signal('SIGTERM')
  t.match(await third.over, { ended: 'stop', fit: false, gateways: ['crew/1'] })
  t.equal(wouldBe.seen.length, seen, 'without requests none is made')
})
