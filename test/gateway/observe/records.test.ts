import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { EarnedBans } from '../../../gateway/front/records/earned-bans.ts'
import { usage } from '../../../gateway/front/counts/usage.ts'
import { dayMs } from '../../../shared/windows.ts'
import { plans, startGateway, startUpstream } from '../../support/gateway.ts'
import { caller, json } from '../../support/http.ts'
import { logged, said } from '../../support/logs.ts'
import { start } from '../../support/operator.ts'
import { startProcess } from '../../support/process.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

t.test(
  'usage is right to the request, also of those who leave before they are answered',
  async (t) => {
    let hold = false
    const upstream = await startUpstream(t, ({ url = '' }, response) => {
      if (hold) return
      response.writeHead(Number(url.slice('/v1/'.length)) || 200).end()
    })
    const now = Date.UTC(2026, 10, 20, 12)
    const more = `${plans}\nbans: { strikes: 1000 }`
    const { call, key, stores, app, url } = await startGateway(t, {
      upstream,
      more,
      clock: () => now,
    })
    const one = await key({ name: 'One', limits: { perMinute: 9, perDay: 100 } })
    const other = await key({ methods: ['POST'] })
    for (const status of [200, 201, 204, 302, 404, 500, 503]) {
      await call('GET', `/v1/${status}`, undefined, one.headers)
    }
    await call('GET', '/v1/quota', undefined, one.headers)
    hold = true
    const controller = new AbortController()
    const left = fetch(`${url}/v1/slow`, {
      headers: one.headers,
      signal: controller.signal,
    }).catch(() => 'left')
    await until(() => upstream.seen.some(({ url }) => url === '/v1/slow'))
    controller.abort()
    t.equal(await left, 'left')
    hold = false
    for (let i = 0; i < 3; i++) await call('GET', '/v1/200', undefined, one.headers)
    await call('GET', '/v1/200', undefined, other.headers)
    await app.close()
    const day = Math.floor(now / 86_400_000)
    const found = await usage(stores, { fromDay: day - 6, toDay: day })
    t.strictSame(found, [
      {
        key: one.key.id,
        name: 'One',
        admitted: 9,
        points: 9,
        refused: { rate_limit_exceeded: 2 },
        windows: { minute: 2, day: 0 },
        answers: { '2xx': 4, '3xx': 1, '4xx': 4, '5xx': 2 },
      },
      {
        key: other.key.id,
        name: 'Test',
        admitted: 0,
        points: 0,
        refused: { forbidden: 1 },
        windows: { minute: 0, day: 0 },
        answers: { '4xx': 1 },
      },
    ])
  },
)

t.test('the log names the key of a token that is not valid any more, and why', async (t) => {
  const { log, output } = logged()
  let now = Date.UTC(2026, 10, 20, 12)
  const { call, key, desk } = await startGateway(t, { log, clock: () => now })
  const made = {
    revoked: await key({ name: 'Revoked' }),
    disabled: await key({ name: 'Disabled' }),
    rotated_out: await key({ name: 'Rotated' }),
    expired: await key({ name: 'Expired', expiresAtMs: now + 1_000 }),
  }
  const { revoked, disabled, rotated_out: rotated } = made
  for (const { headers } of Object.values(made)) {
    t.equal((await call('GET', '/v1/x', undefined, headers)).status, 200)
  }
  await desk.edit(revoked.key.id, desk.revoking())
  await desk.edit(disabled.key.id, desk.disabling(true))
  await desk.rotate(rotated.key.id, 500)
  now += 1_000
  for (const [reason, { key, headers }] of Object.entries(made)) {
    const answer = await call('GET', '/v1/x', undefined, headers)
    const told = { code: 'invalid_api_key', message: 'The API key is not valid.', status: 401 }
    t.strictSame(json(answer), told, 'the caller is not told which')
    t.notMatch(JSON.stringify(answer.headers), new RegExp(`${key.id}|${reason}`))
    await until(() => said(output(), `"reason":"${reason}"`).length > 0)
    t.match(said(output(), `"reason":"${reason}"`), [{ key: key.id, status: 401, plan: 'free' }])
  }
  const { token } = revoked
  const strange = {
    malformed_token: ['Basic eDp5', 'Bearer tg_short'],
    bad_check: [`Bearer ${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`],
    unknown_token: ['Bearer another-system-s-token'],
  }
  for (const [reason, all] of Object.entries(strange)) {
    for (const authorization of all) {
      t.equal((await call('GET', '/v1/x', undefined, { authorization })).status, 401)
    }
    await until(() => said(output(), `"reason":"${reason}"`).length === all.length)
    t.notOk('key' in (said(output(), `"reason":"${reason}"`)[0] ?? {}), reason)
  }
})

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`a ban that a key has earned is told of when it is over, once: ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const options = {
      ...(redis ? { store: `redis: "${redis.url}"` } : {}),
      more: `${plans}\nbans: { strikes: 2, grace: 1ms, for: 50ms }`,
    }
    const gateways = [await startGateway(t, options)]
    if (redis) gateways.push(await startGateway(t, options))
    const [{ key, stores } = await startGateway(t)] = gateways
    const { key: one, headers } = await key({ limits: { perMinute: 1 }, name: 'Eager' })
    const bans = async () => {
      const lines = await stores.audit.list({ fromMs: 0, limit: 100, subject: one.id })
      return lines.filter(({ what }) => what === 'bans.earn')
    }
    let told = 0
    const goOn = async () => {
      const asked = gateways.map(({ call }) => call('GET', '/v1/pets', undefined, headers))
      for (const { text } of await Promise.all(asked)) if (text.includes('key_banned')) told++
    }
    await until(async () => {
      await goOn()
      return (await bans()).length > 0
    })
    const [line] = await bans()
    t.match(line, {
      ...{ by: 'gateway', subject: one.id, before: null },
      after: { id: one.id, name: 'Eager', until: /Z$/, strikes: 2 },
    })
    t.ok(told > 0)
    const endsAtMs = Date.parse((line?.after as { until: string }).until)
    await until(async () => Date.now() > endsAtMs && (await stores.quota.bans()).length === 0)
    const ends = (await bans()).map(({ after }) => (after as { until: string }).until)
    t.equal(new Set(ends).size, ends.length, 'each ban is there once, whoever heard of it')
  })
}

t.test('bans that can’t be written down fill no memory, and the log tells of them', async (t) => {
  const missing: string[] = []
  let fails = false
  const written: string[] = []
  let go: (() => void) | undefined
  const held = new Promise<void>((resolve) => (go = resolve))
  const bans = new EarnedBans({
    clock: () => 5,
    missing: (key) => void missing.push(key),
    store: {
      add: async ({ subject }) => {
        await held
        if (fails) throw new Error('full')
        written.push(subject)
      },
    },
  })
  const rules = { strikes: 3, withinMs: 1, graceMs: 1, forMs: 1, factor: 1, atMostMs: 1 }
  const ban = (id: string) => bans.add({ id, name: id, bans: { ...rules, memoryMs: 1 } }, 9)
  for (let i = 0; i < 1_002; i++) ban(`k${i}`)
  t.strictSame(missing, ['k1000', 'k1001'])
  go?.()
  await bans.close()
  t.equal(written.length, 1_000)
  fails = true
  ban('late')
  await bans.close()
  t.strictSame(missing.slice(2), ['late'])
})

/** A gateway and the animal store behind it, as processes, each with its log. */
async function both(t: Test) {
  // The gateway's own folder is made anew when it starts.
  const folder = mkdtempSync(join(tmpdir(), 'animals-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const backend = startProcess(t, 'backend/main.ts', {
    env: { PORT: '0', DATABASE: join(folder, 'animals.db') },
  })
  const operated = await start(t, { upstream: await backend.url, more: plans })
  const headers = await operated.key({ name: 'A' })
  return { backend, headers, call: caller(operated.url), gateway: operated.gateway }
}

t.test('the logs of a gateway and its backend', async (t) => {
  const running = await both(t)
  await t.test('have one line of a request each, with one id and one trace', (t) =>
    hasOneLine(t, running),
  )
  await t.test('have no line that a caller has forged, and no token', (t) =>
    hasNothingForged(t, running),
  )
})

type Both = Awaited<ReturnType<typeof both>>

async function hasOneLine(t: Test, { backend, gateway, headers, call }: Both): Promise<void> {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const more = { 'x-request-id': 'order-66', traceparent: `00-${trace}-00f067aa0ba902b7-01` }
  await call('GET', '/v1/pets?limit=1', undefined, { ...headers, ...more })
  await until(() => gateway.output().includes('order-66') && backend.output().includes('order-66'))
  const [line, ...others] = said(gateway.output(), 'order-66')
  t.strictSame(others, [])
  t.match(line, {
    ...{ level: 30, service: 'gateway', reqId: 'order-66', trace, key: /^\w{12}$/, plan: 'free' },
    ...{ route: '/v1/*', method: 'GET', path: '/v1/pets', status: 200, decision: 'admitted' },
    ...{ ms: Number, ownMs: Number, upstreamMs: Number, msg: 'answered' },
  })
  t.match(said(backend.output(), 'order-66'), [{ service: 'backend', trace, status: 200 }])

  await call('GET', '/v1/pets', undefined, { 'x-request-id': 'no-key', traceparent: 'nonsense' })
  await until(() => gateway.output().includes('no-key'))
  const [refused] = said(gateway.output(), 'no-key')
  t.match(refused, { status: 401, decision: 'missing_api_key', route: '/v1/*' })
  t.notOk('trace' in (refused ?? {}) || 'upstreamMs' in (refused ?? {}) || 'key' in (refused ?? {}))
}

async function hasNothingForged(t: Test, { gateway, headers, call }: Both): Promise<void> {
  const { authorization } = headers
  const token = authorization.slice('Bearer '.length)
  const answered = () =>
    gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('"msg":"answered"'))
  const before = answered().length
  for (const path of [
    '/v1/a%0a{"level":50}',
    `/v1/${token}`,
    `/v1/x?key=${token}`,
    '/v1/%1b[31m',
  ]) {
    await call('GET', path, undefined, {
      ...headers,
      'x-request-id': 'a b"\u00e9',
      'x-canary': token,
    })
  }
  await until(() => answered().length === before + 4)
  const lines = gateway.output().split('\n').slice(0, -1)
  t.strictSame(
    lines.filter((line) => json(line)['level'] !== 30),
    [],
  )
  t.notOk(gateway.output().includes(token.slice(20)), 'no part of its secret')
}

t.test('the log says when and by what a request was decided, and its points', async (t) => {
  const { url } = await startRedis(t)
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url === '/v1/cut') response.destroy()
    else response.end('{}')
  })
  const { log, output } = logged()
  // Counters of the past are deleted at once.
  const now = (Math.floor(Date.now() / dayMs) + 2) * dayMs
  const { call, key } = await startGateway(t, {
    ...{ upstream, log, store: `redis: "${url}"`, storeClock: () => now },
    more: 'plans: { free: { perMinute: 6, perDay: 9, bans: off } }',
    routes: '[{ path: /v1/*, upstream: animals, cost: 3 }]',
  })
  const { headers } = await key()
  const line = async (path: string, id: string) => {
    await call('GET', path, undefined, { ...headers, 'x-request-id': id })
    const answered = () => said(output(), `"reqId":"${id}"`).filter((line) => 'decision' in line)
    await until(() => answered().length > 0)
    return answered()[0] ?? {}
  }
  const byStore = { decidedAt: now, cost: 3, decidedBy: undefined }
  t.match(await line('/v1/cut', 'cut'), { ...byStore, minuteUsed: 3, givenBack: 3 })
  t.match(await line('/v1/x', 'admitted'), { ...byStore, minuteUsed: 6, givenBack: undefined })
  const refused = { decision: 'rate_limit_exceeded', cost: 3, minuteUsed: 6 }
  t.match(await line('/v1/x', 'refused'), { ...refused, ...byStore })
  t.match(await line('/v1/x', 'again'), { ...refused, decidedAt: Number, decidedBy: 'memory' })
})

t.test('of a caller that left before it was answered the log says so', async (t) => {
  const upstream = await startUpstream(t, () => undefined)
  const { log, output } = logged()
  const { url, key } = await startGateway(t, { upstream, log })
  const controller = new AbortController()
  const headers = { ...(await key()).headers, 'x-request-id': 'impatient' }
  const left = fetch(`${url}/v1/x`, { headers, signal: controller.signal }).catch(() => 'left')
  await until(() => upstream.seen.length === 1)
  controller.abort()
  t.equal(await left, 'left')
  await until(() => output().includes('impatient'))
  t.match(said(output(), 'impatient'), [
    { status: 499, decision: 'admitted', msg: 'left before the answer ended' },
  ])
})

t.test('at the level warn nothing is written about requests', async (t) => {
  const { log, output } = logged('warn')
  const { call, key } = await startGateway(t, { log })
  const { headers } = await key()
  t.equal((await call('GET', '/v1/pets', undefined, headers)).status, 200)
  t.equal((await call('GET', '/v1/pets')).status, 401)
  t.equal(output(), '')
})
