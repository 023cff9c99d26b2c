import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { until } from '../../support/until.ts'

const routes =
  '[ { path: /v1/*, upstream: animals, cost: { estimate: 10, from: answer, atMost: 500 } } ]'

t.test('shadow, near limits, peaks and previews go by what answers have told', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.setHeader('X-Gateway-Cost', '450').end('{}')
  })
  const { gateway, ask } = await startAdmin(t, {
    upstream,
    routes,
    clock: () => Date.UTC(2026, 10, 20, 12),
    more: 'plans: { free: { perMinute: 500, perDay: 9000, shadow: { perMinute: 100 } } }',
  })
  const { headers } = await gateway.key({ plan: 'free' })
  const { meters } = gateway.app.front
  for (let i = 0; i < 2; i++) await gateway.call('GET', '/v1/x', undefined, headers)
  await until(() => [...meters.shadows].length > 0)
  t.strictSame([...meters.shadows], [['free', 'minute', 1]])
  t.strictSame([...meters.near], [['free', 'minute', 1]])
  await gateway.app.front.flushCounts()
  const preview = async (perMinute: number) => {
    return json(await ask('POST', '/admin/plans/free/preview', { perMinute }))
  }
  t.match(await preview(460), { hitQuotas: 0 })
  t.match(await preview(459), { hitQuotas: 1 })
})

t.test('an act of a test key costs nothing, and tells no cost', async (t) => {
  const gateway = await startGateway(t, { routes })
  const { headers } = await gateway.key({ plan: 'free', test: true })
  for (const act of ['minute', 'bad_gateway', 'slow=5ms', 'near_limit']) {
    const acting = { ...headers, 'x-gateway-act': act }
    const { headers: answered } = await gateway.call('GET', '/v1/x', undefined, acting)
    t.ok('x-gateway-acted' in answered, act)
  }
  const { minute } = json(await gateway.call('GET', '/v1/quota', undefined, headers))
  const { limit, remaining } = minute as { limit: number; remaining: number }
  t.equal(remaining, limit)
  t.strictSame([...gateway.app.front.meters.answerCosts], [])
})
