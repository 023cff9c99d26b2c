import t, { type Test } from 'tap'
import type { Usage } from '../../../gateway/front/counts/usage.ts'
import type { OwnUsage } from '../../../gateway/front/portal/usage.ts'
import type { LedgerLine } from '../../../gateway/office/ledger/lines.ts'
import { requestsText } from '../../../gateway/office/operations/requests/show.ts'
import { runCommand } from '../../support/command.ts'
import { startAdmin } from '../../support/admin.ts'
import { startCollector } from '../../support/collector.ts'
import { explanationOf } from '../../support/explained.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { tracing } from '../../support/spans.ts'
import { until } from '../../support/until.ts'

/** A backend that answers `/v1/STATUS/COST`. */
const startTelling = (t: Test) =>
  startUpstream(t, ({ url = '' }, response) => {
    const [, status = '', cost] = /^\/v1\/(\d+)(?:\/(\d+))?/.exec(url) ?? []
    response.writeHead(Number(status), cost === undefined ? {} : { 'X-Gateway-Cost': cost })
    response.end('{}')
  })

const routes =
  '[ { path: /v1/500, upstream: animals, cost: 3 }, ' +
  '{ path: /v2/*, upstream: animals, cost: { estimate: 0, from: answer, atMost: 9 } }, ' +
  '{ path: /v1/*, upstream: animals, cost: { estimate: 10, from: answer, atMost: 500 } } ]'

t.test('explain and spans have the estimate and the cost of an answer that tells it', async (t) => {
  const collector = await startCollector(t)
  const { gateway, ask } = await startAdmin(t, {
    upstream: await startTelling(t),
    routes,
    more: `plans: { free: { perMinute: 60, perDay: 600 } }\n${tracing(collector)}`,
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
  const found = {
    ...{ answers: [told], gateways: { asked: 1, answered: 1 } },
    ...{ kept: 1, since: told.time, stored: null },
  }
  t.match(requestsText(found, Date.now()), /cost: +37 points, estimated 10\n/)

  t.equal((await call('/v1/200/9999')).status, 200)
  const refused = await explained('/v1/200')
  t.match(refused, { code: 'rate_limit_exceeded', cost: 10 })
  t.match(refused.sentence, 'and it costs 10')
  t.notOk('estimate' in refused, 'a refused request has no answer that tells')
  const unestimated = await explained('/v2/200')
  t.match(unestimated, { code: 'rate_limit_exceeded', cost: 0 })
  t.notMatch(unestimated.sentence, 'costs')

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

t.test('usage and ledger have the sum of the estimates beside what was told', async (t) => {
  const { gateway, ask, file } = await startAdmin(t, {
    upstream: await startTelling(t),
    more: 'plans: { free: { perMinute: 6000, perDay: 60000 } }',
    routes,
  })
  const { headers, key } = await gateway.key({ plan: 'free', account: 'acme' })
  const { headers: others } = await gateway.key({ plan: 'free' })
  for (const path of ['200/37', '200/9999', '404/0', '200']) {
    t.ok((await gateway.call('GET', `/v1/${path}`, undefined, headers)).status < 500)
  }
  await gateway.call('GET', '/v1/500', undefined, others)
  const figures = { points: 37 + 500 + 0 + 10, estimated: 40 }
  const ofKey = `/admin/usage/${key.id}`
  await until(async () => json(await ask('GET', ofKey)).length === 1)
  t.match(json(await ask('GET', ofKey)), [{ admitted: 4, ...figures }])
  const all = json(await ask('GET', '/admin/usage')) as unknown as Usage[]
  t.strictSame(
    all.map(({ points, estimated }) => [points, estimated]),
    [
      [547, 40],
      [3, undefined],
    ],
  )
  const own = json(await gateway.call('GET', '/v1/usage', undefined, headers))
  t.match(own, { days: [figures] })
  const foreign = json(await gateway.call('GET', '/v1/usage', undefined, others))
  const [day] = (foreign as unknown as OwnUsage).days
  t.notOk('estimated' in (day ?? {}))

  const lines = async (by: string) => json(await ask('GET', `/admin/ledger?by=${by}`))
  const [acme, other] = (await lines('account')) as unknown as LedgerLine[]
  t.match(acme, figures)
  t.notOk('estimated' in (other ?? {}), 'a line without any is as it was')
  for (const by of ['account', 'key', 'plan']) {
    const all = (await lines(by)) as unknown as (LedgerLine & { included: number })[]
    for (const { id, points, included, beyond } of all)
      t.strictSame([included, beyond], [points, 0], `${id}: all is included`)
  }
  t.match(await lines('plan'), [{ points: 550, estimated: 40 }])
  const run = async (...words: string[]) => (await runCommand([...words, '--config', file], {})).out
  t.match(await run('usage'), /POINTS +ESTIMATED +REFUSED[^]* 547 +40 +0 /)
  await until(async () => (await run('usage', 'export')).includes(' 547 '))
  t.match(await run('usage', 'export'), /POINTS +ESTIMATED +REFUSED[^]* 547 +40 +0 /)
  t.match(
    await run('usage', 'export', '--csv'),
    /"final","estimated","included","beyond","names","reference"\r\n.*"547","0","false","40","547","0"/,
  )
})
