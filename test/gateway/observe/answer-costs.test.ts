import t from 'tap'
import { requestsText } from '../../../gateway/office/operations/requests/show.ts'
import { startAdmin } from '../../support/admin.ts'
import { startCollector } from '../../support/collector.ts'
import { explanationOf } from '../../support/explained.ts'
import { startUpstream } from '../../support/gateway.ts'
import { tracing } from '../../support/spans.ts'
import { until } from '../../support/until.ts'

t.test('explain and spans have the estimate and the cost of an answer that tells it', async (t) => {
  const collector = await startCollector(t)
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    const [, status = '', cost] = /^\/v1\/(\d+)(?:\/(\d+))?/.exec(url) ?? []
    response.writeHead(Number(status), cost === undefined ? {} : { 'X-Gateway-Cost': cost })
    response.end('{}')
  })
  const { gateway, ask } = await startAdmin(t, {
    upstream,
    more: `plans: { free: { perMinute: 60, perDay: 600 } }\n${tracing(collector)}`,
    routes:
      '[ { path: /v1/500, upstream: animals, cost: 3 }, ' +
      '{ path: /v1/*, upstream: animals, cost: { estimate: 10, from: answer, atMost: 500 } } ]',
  })
  const { headers } = await gateway.key({ plan: 'free' })
  const call = (path: string) => gateway.call('GET', path, undefined, headers)
  const explained = async (path: string) => explanationOf(ask, await call(path))

  const told = await explained('/v1/500/37')
  t.match(told, { reason: 'backend', estimate: 10, cost: 37 })
  t.match(await explained('/v1/503'), { estimate: 10, cost: 10 }, 'a missing cost is the estimate')
  const plain = await explained('/v1/500')
  t.match(plain, { cost: 3 })
  t.notOk('estimate' in plain, 'a cost that no answer tells has no estimate')
  const found = { answers: [told], gateways: { asked: 1, answered: 1 }, kept: 1, since: told.time }
  t.match(requestsText(found, Date.now()), /cost: +37 points, estimated 10\n/)

  t.equal((await call('/v1/200/9999')).status, 200)
  const refused = await explained('/v1/200')
  t.match(refused, { code: 'rate_limit_exceeded', cost: 10 })
  t.match(refused.sentence, 'and it costs 10')
  t.notOk('estimate' in refused, 'a refused request has no answer that tells')

  const costs = () =>
    collector.spans
      .filter(({ kind, attributes }) => kind === 'server' && 'tollgate.cost' in attributes)
      .map(({ attributes }) => [attributes['tollgate.estimate'], attributes['tollgate.cost']])
  await until(() => costs().length >= 3)
  t.strictSame(costs().sort(), [
    [10, 10],
    [10, 37],
    [10, 500],
  ])
})
