import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { EarnedBans } from '../../gateway/records/earned-bans.ts'
import { usage } from '../../gateway/records/usage.ts'
import { startAdmin } from '../support/admin.ts'
import { plans, startGateway, startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { start } from '../support/operator.ts'
import { root, startProcess } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const deprecations = `
deprecations:
  - { operation: "GET /v1/pets/{petId}", since: 2025-12-05, replacement: /v1/pets }
`

/** The lines of what Prometheus reads that begin with a text. */
function lines(metrics: string, beginning: string): string[] {
  return metrics.split('\n').filter((line) => line.startsWith(beginning))
}

t.test('the metrics tell what has happened', async (t) => {
  const { url: upstream } = await startUpstream(t, (_request, response) => {
    response.writeHead(_request.url === '/v1/teapot' ? 418 : 200).end('{}')
  })
  const { url, operate, run, runJson } = await start(t, {
    upstream,
    more: `${plans}\nbans: { strikes: 1, grace: 1ms }\n${deprecations}`,
  })
  const call = caller(url)
  const read = async () => (await operate('GET', '/metrics')).text
  const { key, id } = (await runJson('keys', 'create', '--plan', 'free', '--name', 'A')) as Record<
    string,
    string
  >
  const headers = { authorization: `Bearer ${key}` }
  for (const path of ['/v1/pets/1', '/v1/teapot', '/nowhere', '/v1/quota']) {
    await call('GET', path, undefined, headers)
  }
  await call('GET', '/v1/pets')
  await call('GET', '/v1/pets', undefined, { authorization: 'Bearer none' })
  await call('GET', '/v1//pets')
  const happened = (metrics: string, name: string) =>
    lines(metrics, name).filter((line) => !line.endsWith(' 0'))
  await until(async () => happened(await read(), 'tollgate_requests_total').length === 6)
  const metrics = await read()
  for (const line of [
    'tollgate_requests_total{route="/v1/*",plan="free",status="200"} 1',
    'tollgate_requests_total{route="/v1/*",plan="free",status="418"} 1',
    'tollgate_requests_total{route="/v1/*",plan="none",status="401"} 2',
    'tollgate_requests_total{route="/v1/quota",plan="free",status="200"} 1',
    'tollgate_requests_total{route="none",plan="free",status="404"} 1',
    'tollgate_requests_total{route="/v1/*",plan="none",status="400"} 1',
    'tollgate_refusals_total{plan="none",reason="missing_api_key",window=""} 1',
    'tollgate_refusals_total{plan="none",reason="invalid_api_key",window=""} 1',
    'tollgate_refusals_total{plan="none",reason="invalid_request",window=""} 1',
    'tollgate_strangers_total{outcome="missing_api_key"} 1',
    'tollgate_deprecated_requests_total{operation="GET /v1/pets/{petId}",plan="free"} 1',
    'tollgate_request_duration_seconds_count{route="/v1/*"} 5',
    'tollgate_request_duration_seconds_bucket{le="+Inf",route="/v1/*"} 5',
    `tollgate_upstream_duration_seconds_count{upstream="animals",target="${upstream}"} 2`,
    `tollgate_upstream_answers_total{upstream="animals",target="${upstream}",class="2xx"} 1`,
    `tollgate_upstream_answers_total{upstream="animals",target="${upstream}",class="4xx"} 1`,
    `tollgate_upstream_answers_total{upstream="animals",target="${upstream}",class="none"} 0`,
    'tollgate_store_errors_total 0',
    'tollgate_store_fallback 0',
    'tollgate_gateways 1',
    `tollgate_upstream_healthy{upstream="animals",target="${upstream}"} 1`,
  ]) {
    const [name = '', value] = line.split(/ (?=\S+$)/)
    const labels = [...name.matchAll(/\w+="[^"]*"/g)].map(([label]) => label)
    const found = lines(metrics, name.replace(/\{.*/, '')).find(
      (each) => labels.every((label) => each.includes(label)) && each.endsWith(` ${value}`),
    )
    t.ok(found, line)
  }
  t.notMatch(metrics, new RegExp(id ?? ''), 'no label holds a key')

  await run('bans', 'set', id ?? '', '--for', '1m')
  await until(async () => (await call('GET', '/v1/x', undefined, headers)).status === 429)
  await until(async () =>
    (await read()).includes('tollgate_refusals_total{plan="free",reason="key_banned",window=""} 1'),
  )
  t.strictSame(happened(await read(), 'tollgate_bans_total{'), [], 'an operator’s ban is no fault')
})

t.test(
  'what is known to be counted begins at 0, and is named as Prometheus wants it',
  async (t) => {
    const { operate } = await startAdmin(t, { more: `${plans}${deprecations}` })
    const { text } = await operate('GET', '/metrics')
    for (const line of [
      'tollgate_requests_total{route="/v1/*",plan="free",status="502"} 0',
      'tollgate_requests_total{route="/v1/*",plan="none",status="401"} 0',
      'tollgate_refusals_total{plan="pro",reason="rate_limit_exceeded",window="minute"} 0',
      'tollgate_refusals_total{plan="pro",reason="rate_limit_exceeded",window="day"} 0',
      'tollgate_bans_total{plan="free"} 0',
      'tollgate_strangers_total{outcome="too_many_failed_attempts"} 0',
      'tollgate_deprecated_requests_total{operation="GET /v1/pets/{petId}",plan="pro"} 0',
      'tollgate_config_reloads_total{result="refused"} 0',
    ]) {
      t.ok(text.includes(`${line}\n`), line)
    }
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
    t.ok(types.length > 30)
    for (const [, name = '', type = ''] of types) {
      // The rules of `promtool check metrics`.
      t.equal(/_total$/.test(name), type === 'counter', `${name} is a ${type}`)
      t.notMatch(name, /[A-Z:]|_(?:count|sum|bucket|info_total|gauge|counter|histogram|summary)$/)
      t.notMatch(
        name,
        /_(?:ms|us|ns|milliseconds|microseconds|minutes|hours|kb|mb|kilobytes)(?:_|$)/,
      )
      t.match(text, new RegExp(`^# HELP ${name} \\S`, 'm'), `${name} says what it is`)
    }
  },
)

t.test(
  'a request near a limit is counted from 80 % of it on, and only if it was let in',
  async (t) => {
    const more =
      'plans: { free: { perMinute: 5, perDay: 10 }, pro: { perMinute: 4, perDay: unlimited } }'
    const { gateway, operate } = await startAdmin(t, {
      more,
      clock: () => Date.UTC(2026, 5, 1, 12),
    })
    const near = async () =>
      lines((await operate('GET', '/metrics')).text, 'tollgate_near_limit_total{').map((line) =>
        line.replace(/.*plan="(\w+)",window="(\w+)"\} /, '$1 $2 '),
      )
    const [free, pro] = [await gateway.key(), await gateway.key({ plan: 'pro' })]
    const ask = async (headers: Record<string, string>, times: number) => {
      for (let i = 0; i < times; i++) await gateway.call('GET', '/v1/x', undefined, headers)
    }
    await ask(free.headers, 3)
    await ask(pro.headers, 3)
    t.strictSame(await near(), ['free minute 0', 'free day 0', 'pro minute 0', 'pro day 0'])
    await ask(free.headers, 3)
    await ask(pro.headers, 2)
    t.strictSame(await near(), ['free minute 2', 'free day 0', 'pro minute 1', 'pro day 0'])
  },
)

t.test('many routes and plans make no series of what has not happened', async (t) => {
  const routes = Array.from({ length: 250 }, (_, i) => `{ path: /v1/${i}, upstream: animals }`)
  const { operate } = await startAdmin(t, { more: plans, routes: `[ ${routes.join()} ]` })
  const { text } = await operate('GET', '/metrics')
  t.strictSame(lines(text, 'tollgate_requests_total{'), [])
  t.not(lines(text, 'tollgate_refusals_total{').length, 0)
})

t.test('which target has answered is in numbers and log, until it is gone', async (t) => {
  const [well, ill] = [
    await startUpstream(t),
    await startUpstream(t, (_, { socket }) => socket?.destroy()),
  ]
  const written: string[] = []
  const { gateway, operate, ask, write } = await startAdmin(t, {
    targets: `[ "${well.url}", "${ill.url}", "http://127.0.0.1:1" ]`,
    upstreamMore: 'health: { unhealthyAfter: 1000 }',
    log: { level: 'info', target: { write: (line: string) => void written.push(line) } },
  })
  const { headers } = await gateway.key()
  const statuses = []
  for (let i = 0; i < 12; i++) {
    statuses.push((await gateway.call('GET', '/v1/x', undefined, headers)).status)
  }
  t.equal(statuses.filter((status) => status === 502).length, 6)
  const counts = async () => {
    const { text } = await operate('GET', '/metrics')
    return lines(text, 'tollgate_upstream_answers_total{')
      .map((line) =>
        [...line.matchAll(/target="([^"]+)",class="(2xx|none)"\} (\d+)/g)].map(
          ([, ...told]) => told,
        ),
      )
      .flat()
  }
  t.strictSame(await counts(), [
    [well.url, '2xx', '6'],
    [well.url, 'none', '0'],
    [ill.url, '2xx', '0'],
    [ill.url, 'none', '6'],
    ['http://127.0.0.1:1', '2xx', '0'],
    ['http://127.0.0.1:1', 'none', '4'],
  ])
  const answered = () =>
    written
      .filter((line) => line.includes('"answered"') || line.includes('left before'))
      .map((line) => json(line))
  await until(() => answered().length === 12)
  for (const { status, target } of answered()) t.equal(target, status === 200 ? well.url : ill.url)
  write((text) => text.replace(`, "${ill.url}", "http://127.0.0.1:1"`, ''))
  t.equal((await ask('POST', '/admin/config/reload', {})).status, 200)
  t.strictSame(
    (await counts()).filter(([, name]) => name === '2xx'),
    [[well.url, '2xx', '6']],
  )
})

t.test('a backend with another secret is not healthy, though its health is unsigned', async (t) => {
  const { signatureHeader, signatureRefused } = await import('../../shared/signature.ts')
  let isStrange = true
  const upstream = await startUpstream(t, (_request, response) => {
    if (isStrange) response.setHeader(signatureHeader, signatureRefused).writeHead(403)
    response.end('{}')
  })
  const { gateway, operate } = await startAdmin(t, { upstream, secret: 'a secret of the gateway' })
  const { headers } = await gateway.key()
  t.equal((await operate('GET', '/readyz')).status, 200)
  t.equal((await gateway.call('GET', '/v1/x', undefined, headers)).status, 502)
  const ready = await operate('GET', '/readyz')
  t.equal(ready.status, 503)
  t.match(json(ready)['upstreams'], {
    animals: { [upstream.url]: { healthy: false, refusesSignature: true } },
  })
  t.match((await operate('GET', '/metrics')).text, /^tollgate_upstream_healthy\{.*\} 0$/m)
  isStrange = false
  t.equal((await gateway.call('GET', '/v1/x', undefined, headers)).status, 200, 'it is still asked')
})

t.test('the READMEs name every metric, and no other', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { operate } = await start(t, { upstream })
  const { text } = await operate('GET', '/metrics')
  const real = [...text.matchAll(/^# TYPE (tollgate_\w+) /gm)].map(([, name = '']) => name)
  const namesIn = (file: string): string[] => {
    const named = readFileSync(join(root, file), 'utf8').matchAll(/`(tollgate_\w+)/g)
    return [...new Set([...named].map(([, name = '']) => name))]
  }
  t.strictSame(namesIn('gateway/admin/README.md').sort(), real.sort())
  for (const name of namesIn('README.md')) t.ok(real.includes(name), name)
})

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

/** The log of a gateway in this process. */
function logged() {
  let text = ''
  const target = { write: (line: string) => (text += line) }
  return { log: { level: 'info', target } as const, output: () => text }
}

t.test('the window that refused is told by metrics, usage and log, with the points', async (t) => {
  const { log, output } = logged()
  const { gateway, ask, operate } = await startAdmin(t, {
    log,
    clock: () => Date.UTC(2026, 10, 20, 12),
    upstream: await startUpstream(t, ({ url = '' }, response) => {
      if (url === '/v1/cut') response.destroy()
      else response.end('{}')
    }),
    more: 'plans: { p: { perMinute: 20, perDay: 40, bans: off } }',
    routes: `[ { path: /v1/bulk, upstream: animals, cost: 5 }, { path: /v1/*, upstream: animals } ]`,
  })
  const minute = await gateway.key({ plan: 'p', name: 'Minute' })
  const day = await gateway.key({ plan: 'p', name: 'Day', limits: { perMinute: 'unlimited' } })
  const send = async ({ headers }: typeof day, path: string, times: number) => {
    for (let i = 0; i < times; i++) await gateway.call('GET', path, undefined, headers)
  }
  await send(minute, '/v1/bulk', 2)
  await send(minute, '/v1/x', 13)
  // A point is given back for the request that was not answered.
  await send(day, '/v1/cut', 1)
  await send(day, '/v1/bulk', 7)
  await send(day, '/v1/x', 7)
  const used = async ({ key }: typeof day) => json(await ask('GET', `/admin/usage/${key.id}`))
  const windows = { minute: 3, day: 0 }
  const refused = (count: number) => ({ rate_limit_exceeded: count })
  t.match(await used(minute), [{ admitted: 12, points: 20, windows, refused: refused(3) }])
  t.match(await used(day), [
    { admitted: 13, points: 40, windows: { minute: 0, day: 2 }, refused: refused(2) },
  ])
  const { text } = await operate('GET', '/metrics')
  for (const [window, count] of [
    ['minute', 3],
    ['day', 2],
  ]) {
    const series = `tollgate_refusals_total{plan="p",reason="rate_limit_exceeded",window="${window}"}`
    t.ok(text.includes(`${series} ${count}\n`), series)
  }
  await until(() => said(output(), '"window":"day"').length === 2)
  const ofMinute = { decision: 'rate_limit_exceeded', reason: 'minute', key: minute.key.id }
  t.match(said(output(), '"window":"minute"'), [ofMinute, ofMinute, ofMinute])
})

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

/** A gateway and the animal store behind it, each with its log. */
async function both(t: Test, level = 'info') {
  // The gateway's own folder is made anew when it starts.
  const folder = mkdtempSync(join(tmpdir(), 'animals-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const backend = startProcess(t, 'backend/main.ts', {
    env: { PORT: '0', DATABASE: join(folder, 'animals.db'), LOG_LEVEL: level },
  })
  const operated = await start(t, {
    upstream: await backend.url,
    more: plans,
    environments: [{ LOG_LEVEL: level }],
  })
  const headers = await operated.key({ name: 'A' })
  return { backend, headers, call: caller(operated.url), gateway: operated.gateway }
}

/** The lines of a log that say a text. */
function said(log: string, text: string): Record<string, unknown>[] {
  return log
    .split('\n')
    .filter((line) => line.includes(text))
    .map((line) => json(line))
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
  t.ok(lines.every((line) => json(line)['level'] === 30))
  t.notOk(gateway.output().includes(token.slice(20)), 'no part of its secret')
}

t.test('of a caller that left before it was answered the log says so', async (t) => {
  const upstream = await startUpstream(t, () => undefined)
  const { url, key, gateway } = await start(t, { upstream: upstream.url })
  const controller = new AbortController()
  const headers = { ...(await key()), 'x-request-id': 'impatient' }
  const left = fetch(`${url}/v1/x`, { headers, signal: controller.signal }).catch(() => 'left')
  await until(() => upstream.seen.length === 1)
  controller.abort()
  t.equal(await left, 'left')
  await until(() => gateway.output().includes('impatient'))
  t.match(said(gateway.output(), 'impatient'), [
    { status: 499, decision: 'admitted', msg: 'left before the answer ended' },
  ])
})

t.test('at the level warn nothing is written about requests', async (t) => {
  const { gateway, headers, call } = await both(t, 'warn')
  await call('GET', '/v1/pets', undefined, headers)
  await call('GET', '/v1/pets')
  t.equal(gateway.output(), '')
})

t.test('numbers of series stay as they are, whoever asks for what', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { url, operate, key, gateway } = await start(t, {
    upstream,
    environments: [{ LOG_LEVEL: 'warn' }],
  })
  const call = caller(url)
  const series = async () =>
    (await operate('GET', '/metrics')).text
      .split('\n')
      .filter((line) => line.startsWith('tollgate_'))
      .map((line) => line.replace(/ \S+$/, ''))
      .sort()
  const keys = await Promise.all(Array.from({ length: 200 }, () => key()))
  const ask = async (round: number): Promise<void> => {
    await Promise.all(
      keys.map(async (headers, i) => {
        await call('GET', `/v1/${round}/${i}`, undefined, headers)
        await call('GET', `/made/up/${round}/${i}`, undefined, headers)
        await call('GET', '/v1/x', undefined, { authorization: `Bearer invented-${round}-${i}` })
      }),
    )
  }
  for (let i = 0; i < 2; i++) await ask(i)
  const before = await series()
  for (let i = 2; i < 6; i++) await ask(i)
  t.strictSame(await series(), before)
  t.ok(before.length < 180, `${before.length} series`)
  t.equal(gateway.child.exitCode, null)
})
