import t, { type Test } from 'tap'
import { usage } from '../../../gateway/front/counts/usage.ts'
import { ledgerLines } from '../../../gateway/office/ledger/ledger.ts'
import { dayMs } from '../../../shared/windows.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { logged, said } from '../../support/logs.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const { url } = await startRedis(t)

const meter = (limit: number, upTo: string) => `{ limit: ${limit}, beyond: meter, upTo: ${upTo} }`

let prefixes = 0

/** A gateway with a plan, and a key of it. */
async function startMetered(t: Test, plan: string, store: 'embedded' | 'redis' = 'embedded') {
  const upstream = await startUpstream(t, (request, response) => {
    const cost = request.headers['x-cost']
    if (cost !== undefined) response.setHeader('X-Gateway-Cost', String(cost))
    response.end('{}')
  })
  const { log, output } = logged()
  const gateway = await startGateway(t, {
    upstream,
    log,
    more: `plans: { free: { perMinute: unlimited, ${plan} } }`,
    routes:
      '[ { path: /v1/ask, upstream: animals, cost: { estimate: 1, from: answer } }, { path: /v1/*, upstream: animals } ]',
    ...(store === 'redis' ? { store: `redis: "${url}", prefix: "beyond${++prefixes}:"` } : {}),
  })
  const { headers, key } = await gateway.key({ plan: 'free' })
  const call = (path = '/v1/x', more: Record<string, string> = {}) =>
    gateway.call('GET', path, undefined, { ...headers, ...more })
  const quota = async () => json(await call('/v1/quota'))
  const inLedger = async () => {
    await gateway.app.front.flushCounts()
    const day = Math.floor(Date.now() / dayMs)
    const query = { fromDay: day, toDay: day, by: 'account' } as const
    for await (const { points, beyond } of ledgerLines(gateway.stores, query, Date.now())) {
      return [points, beyond]
    }
    return [0, 0]
  }
  const beyondInLog = () => said(output(), '"beyond":').map(({ beyond }) => beyond)
  return { gateway, key, call, quota, inLedger, beyondInLog }
}

for (const store of ['embedded', 'redis'] as const) {
  t.test(
    `${store}, what lies beyond is let in up to the limit, told and in the ledger`,
    async (t) => {
      const plan = `perDay: unlimited, perMonth: ${meter(4, '150%')}`
      const { call, quota, inLedger, beyondInLog } = await startMetered(t, plan, store)
      for (let used = 1; used <= 4; used++) {
        const answer = await call()
        t.equal(answer.headers['x-ratelimit-limit'], '6')
        t.equal(answer.headers['x-ratelimit-remaining'], String(6 - used))
        const notice = used === 4 ? 'month; used=100' : undefined
        t.equal(answer.headers['x-ratelimit-notice'], notice, `${used} of 4`)
      }
      t.match(await quota(), { month: { limit: 6, remaining: 2, included: 4, beyond: 0 } })
      for (const beyond of [1, 2]) {
        const answer = await call()
        t.equal(answer.status, 200)
        t.equal(answer.headers['x-ratelimit-notice'], `month; beyond=${beyond}`)
      }
      const refused = await call()
      t.match(refused, { status: 429, headers: { 'x-ratelimit-notice': 'month; beyond=2' } })
      t.match(json(refused)['message'], /^6 requests a month are used up\./)
      t.match(await quota(), {
        month: { limit: 6, remaining: 0, included: 4, beyond: 2 },
        notice: { window: 'month', beyond: 2 },
      })
      t.strictSame(await inLedger(), [6, 2])
      await until(() => beyondInLog().length === 2)
      t.strictSame(beyondInLog(), [1, 1])
    },
  )

  t.test(`${store}, an answer that costs more or less moves what lies beyond`, async (t) => {
    const { call, quota, inLedger } = await startMetered(t, `perDay: ${meter(10, '300%')}`, store)
    await call('/v1/ask', { 'x-cost': '8' })
    await until(async () => JSON.stringify(await quota()).includes('"remaining":22'))
    t.strictSame(await inLedger(), [8, 0])
    await call('/v1/ask', { 'x-cost': '7' })
    await until(async () => JSON.stringify(await quota()).includes('"beyond":5'))
    t.strictSame(await inLedger(), [15, 5])
    await call('/v1/ask', { 'x-cost': '0' })
    await until(async () => JSON.stringify(await quota()).includes('"beyond":5'))
    t.strictSame(await inLedger(), [15, 5], 'what was estimated comes off what was beyond')
  })
}

t.test('a grant raises what is included, and the limit, by its points', async (t) => {
  const { gateway, key, call, quota, inLedger } = await startMetered(
    t,
    `perDay: ${meter(2, '200%')}`,
  )
  for (let i = 0; i < 3; i++) await call()
  await gateway.stores.quota.grant(`key:${key.id}`, { perDay: 3, by: 'a' })
  t.match(await quota(), { day: { limit: 7, remaining: 4, included: 5, beyond: 0 } })
  for (let i = 0; i < 4; i++) t.equal((await call()).status, 200)
  t.equal((await call()).status, 429)
  t.strictSame(await inLedger(), [7, 3], 'the first one was beyond when it came')
})

t.test(
  'of two windows the longer one is told, and a point is beyond if it is so in any',
  async (t) => {
    const plan = `perDay: ${meter(2, '500%')}, perMonth: ${meter(4, '500%')}`
    const { call, inLedger } = await startMetered(t, plan)
    const notices: unknown[] = []
    for (let i = 0; i < 6; i++) notices.push((await call()).headers['x-ratelimit-notice'])
    t.strictSame(notices, [
      undefined,
      'day; used=100',
      'day; beyond=1',
      'day; beyond=2',
      'month; beyond=1',
      'month; beyond=2',
    ])
    t.strictSame(await inLedger(), [6, 4])
  },
)

t.test('a limit of a key is plain, unless it says what is beyond', async (t) => {
  const { gateway } = await startMetered(t, `perDay: ${meter(1, '300%')}`)
  const verdicts = async (limits: object) => {
    const { headers } = await gateway.key({ plan: 'free', limits })
    const all: unknown[] = []
    for (let i = 0; i < 5; i++) {
      const { status, headers: told } = await gateway.call('GET', '/v1/x', undefined, headers)
      all.push(`${status} ${String(told['x-ratelimit-notice'] ?? '')}`.trim())
    }
    return all
  }
  t.strictSame(await verdicts({ perDay: 2 }), [
    '200',
    '200 day; used=100',
    ...Array.from({ length: 3 }, () => '429 day; used=100'),
  ])
  t.strictSame(await verdicts({ perDay: { limit: 2, beyond: 'meter', upTo: '175%' } }), [
    '200',
    '200 day; used=100',
    '200 day; beyond=1',
    ...Array.from({ length: 2 }, () => '429 day; beyond=1'),
  ])
})

t.test('usage has what was beyond', async (t) => {
  const { gateway, call } = await startMetered(t, `perDay: ${meter(2, '300%')}`)
  for (let i = 0; i < 5; i++) await call()
  await gateway.app.front.flushCounts()
  const day = Math.floor(Date.now() / dayMs)
  t.match(await usage(gateway.stores, { fromDay: day, toDay: day }), [{ points: 5, beyond: 3 }])
})
