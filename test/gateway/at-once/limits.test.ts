import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { explained } from '../../../gateway/office/explain/explained.ts'
import type { FoundRefusals } from '../../../gateway/office/explain/refusals-of.ts'
import { requestsText } from '../../../gateway/office/operations/requests/show.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const { url } = await startRedis(t)

let prefixes = 0

/** A gateway with plans that limit requests under way, in front of a backend that answers when it is told to. */
async function startHolding(t: Test, store: 'embedded' | 'redis', more = '') {
  const waiting: ServerResponse[] = []
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    if (url.includes('fast')) return void response.end('{}')
    if (url.includes('stream')) response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (url.includes('stream')) response.write('data: 1\n\n')
    waiting.push(response)
  })
  const gateway = await startGateway(t, {
    upstream,
    more: `
plans:
  free: { perMinute: 100, perDay: 1000, atOnce: 2 }
  one: { perMinute: 100, perDay: 1000, atOnce: 1 }
  narrow: { perMinute: 2, perDay: 1000, atOnce: 1 }
  open: { perMinute: 100, perDay: 1000 }
  parts:
    perMinute: 100
    perDay: 1000
    operations: { exports: { methods: [ POST ], atOnce: 1 } }
${more}
bans: { strikes: 1, grace: 0s }
`,
    ...(store === 'redis' ? { store: `redis: "${url}", prefix: "once${++prefixes}:"` } : {}),
  })
  const caller = async (plan: string, settings: Parameters<typeof gateway.key>[0] = {}) => {
    const { headers, key } = await gateway.key({ plan, ...settings })
    const call = (method = 'GET', path = '/v1/slow') =>
      gateway.call(method, path, undefined, headers)
    const quota = async () => json(await call('GET', '/v1/quota'))
    return { call, quota, key, headers }
  }
  const answer = (count = waiting.length): void =>
    waiting.splice(0, count).forEach((response) => response.end('{}'))
  const arrived = (count: number) => until(() => waiting.length === count)
  return { gateway, caller, waiting, answer, arrived, upstream }
}

for (const store of ['embedded', 'redis'] as const) {
  t.test(`${store}, a third request is refused until one of two is answered`, async (t) => {
    const { caller, answer, arrived } = await startHolding(t, store)
    const { call, quota } = await caller('free')
    const first = [call(), call()]
    await arrived(2)
    const refused = await call()
    t.match(refused, { status: 429, headers: { 'retry-after': '1' } })
    t.match(json(refused), {
      code: 'too_many_at_once',
      message: '2 of 2 requests are under way. Wait until one of them is answered.',
    })
    t.match(await quota(), { atOnce: { limit: 2, used: 2 }, minute: { remaining: 98 }, strikes: 0 })
    answer(1)
    await Promise.race(first)
    await until(async () => (await quota())['atOnce'] !== undefined)
    await until(async () => JSON.stringify((await quota())['atOnce']) === '{"limit":2,"used":1}')
    const third = call()
    await arrived(2)
    answer()
    t.strictSame(
      (await Promise.all([...first, third])).map(({ status }) => status),
      [200, 200, 200],
    )
    await until(async () => JSON.stringify((await quota())['atOnce']) === '{"limit":2,"used":0}')
    t.equal((await call('GET', '/v1/fast')).status, 200)
  })

  t.test(`${store}, operations have places of their own, and other plans none`, async (t) => {
    const { caller, answer, arrived } = await startHolding(t, store)
    const [parts, open] = [await caller('parts'), await caller('open')]
    const exported = parts.call('POST')
    await arrived(1)
    t.equal(
      json(await parts.call('POST'))['message'],
      '1 of 1 requests of "exports" is under way. Wait until it is answered.',
    )
    t.equal((await parts.call('GET', '/v1/fast')).status, 200)
    t.match(await parts.quota(), { operations: { exports: { atOnce: { limit: 1, used: 1 } } } })
    t.equal((await open.call('GET', '/v1/fast')).status, 200)
    t.equal((await open.quota())['atOnce'], undefined)
    answer()
    t.equal((await exported).status, 200)
  })

  t.test(`${store}, a full window is told before, and a 403 takes no place`, async (t) => {
    const { caller, answer, arrived } = await startHolding(t, store)
    const narrow = await caller('narrow')
    const first = narrow.call()
    await arrived(1)
    t.equal(json(await narrow.call())['code'], 'too_many_at_once')
    answer()
    await first
    await until(async () => (await narrow.call('GET', '/v1/fast')).status === 200)
    t.equal(json(await narrow.call())['code'], 'rate_limit_exceeded')
    const reader = await caller('one', { methods: ['GET'] })
    t.equal((await reader.call('DELETE')).status, 403)
    t.match(await reader.quota(), { atOnce: { used: 0 } })
  })

  t.test(`${store}, places come back whatever ends a request`, async (t) => {
    const { gateway, caller, waiting, arrived } = await startHolding(t, store)
    const { call, quota, headers } = await caller('one')
    const free = () =>
      until(async () => JSON.stringify((await quota())['atOnce']) === '{"limit":1,"used":0}')
    const dropped = call()
    await arrived(1)
    waiting.splice(0).forEach((response) => response.socket?.destroy())
    t.equal((await dropped).status, 502)
    await free()
    const leaving = new AbortController()
    const left = fetch(`${gateway.url}/v1/slow`, { headers, signal: leaving.signal })
    await arrived(1)
    leaving.abort()
    await t.rejects(left)
    await free()
    waiting.length = 0
    const stream = await fetch(`${gateway.url}/v1/stream`, { headers })
    await arrived(1)
    t.match(await call(), { status: 429, headers: { 'retry-after': '5' } }, 'it may last')
    waiting.splice(0).forEach((response) => response.end())
    t.equal(await stream.text(), 'data: 1\n\n')
    await free()
  })

  t.test(`${store}, what is under way stays under way`, async (t) => {
    const { gateway, caller, answer, arrived } = await startHolding(t, store)
    const { call, quota, key } = await caller('free')
    const first = [call(), call()]
    await arrived(2)
    await gateway.desk.edit(key.id, gateway.desk.changing({ plan: 'one' }))
    await until(async () => (await quota())['plan'] === 'one')
    t.match(await quota(), { atOnce: { limit: 1, used: 2 } }, 'more than may be')
    t.equal((await call()).status, 429)
    answer()
    t.strictSame(
      (await Promise.all(first)).map(({ status }) => status),
      [200, 200],
    )
    await until(async () => (await call('GET', '/v1/fast')).status === 200)
  })

  t.test(`${store}, a place may be kept for a while after its caller has left`, async (t) => {
    const { gateway, caller, arrived } = await startHolding(
      t,
      store,
      '  lingering: { perMinute: 100, atOnce: { limit: 1, linger: 1s } }',
    )
    const { call, quota, headers } = await caller('lingering')
    const leaving = new AbortController()
    const left = fetch(`${gateway.url}/v1/slow`, { headers, signal: leaving.signal })
    await arrived(1)
    const leftAtMs = performance.now()
    leaving.abort()
    await t.rejects(left)
    t.equal((await call('GET', '/v1/fast')).status, 429)
    await until(async () => JSON.stringify((await quota())['atOnce']) === '{"limit":1,"used":0}')
    t.ok(performance.now() - leftAtMs >= 950)
  })

  t.test(
    `${store}, its headers tell the policy, and explain whose requests are under way`,
    async (t) => {
      const { gateway, caller, answer, arrived } = await startHolding(
        t,
        store,
        'headers: { ietf: draft-11 }',
      )
      const { call, headers } = await caller('one')
      const first = gateway.call('GET', '/v1/slow', undefined, {
        ...headers,
        'x-request-id': 'first',
      })
      await arrived(1)
      const refused = await gateway.call('GET', '/v1/slow', undefined, {
        ...headers,
        'x-request-id': 'second',
      })
      t.equal(refused.headers['ratelimit'], '"at-once";r=0')
      t.match(refused.headers['ratelimit-policy'], /, "at-once";q=1;qu="concurrent-requests"$/)
      const found = gateway.app.front.recentRefusals.find('second')
      const answers = found.map((each) => explained(each, 'edge-1'))
      const gateways = { asked: 1, answered: 1 }
      t.match(
        requestsText({ answers, gateways, stored: undefined } as unknown as FoundRefusals, 0),
        /\nunder way: +first\n/,
      )
      t.match(found, [
        {
          code: 'too_many_at_once',
          reason: 'at_once',
          underWay: { limit: 1, ids: ['first'], others: 0 },
        },
      ])
      answer()
      const { headers: told } = await first
      t.match(told['ratelimit-policy'], /"at-once"/)
      await until(async () => (await call('GET', '/v1/fast')).status === 200)
    },
  )
}
