import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { plans, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { logged, said } from '../../support/logs.ts'
import { unlimited } from '../../support/operator.ts'
import { root } from '../../support/process.ts'
import { until } from '../../support/until.ts'

const deprecations = `
deprecations:
  - { operation: "GET /v1/pets/{petId}", since: 2025-12-05, replacement: /v1/pets }
`

/** The lines of what Prometheus reads that begin with a text. */
function lines(metrics: string, beginning: string): string[] {
  return metrics.split('\n').filter((line) => line.startsWith(beginning))
}

t.test('the metrics tell what has happened', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(_request.url === '/v1/teapot' ? 418 : 200).end('{}')
  })
  const { gateway, operate, file } = await startAdmin(t, {
    upstream,
    more: `${plans}\nbans: { strikes: 1, grace: 1ms }\n${deprecations}`,
  })
  const { call } = gateway
  const read = async () => (await operate('GET', '/metrics')).text
  const { key, headers } = await gateway.key({ name: 'A' })
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
    'tollgate_refusals_total{plan="none",reason="missing_api_key",window="",operation=""} 1',
    'tollgate_refusals_total{plan="none",reason="invalid_api_key",window="",operation=""} 1',
    'tollgate_refusals_total{plan="none",reason="invalid_request",window="",operation=""} 1',
    'tollgate_strangers_total{outcome="missing_api_key"} 1',
    'tollgate_deprecated_requests_total{operation="GET /v1/pets/{petId}",plan="free"} 1',
    'tollgate_request_duration_seconds_count{route="/v1/*"} 5',
    'tollgate_request_duration_seconds_bucket{le="+Inf",route="/v1/*"} 5',
    `tollgate_upstream_duration_seconds_count{upstream="animals",target="${upstream.url}"} 2`,
    `tollgate_upstream_answers_total{upstream="animals",target="${upstream.url}",class="2xx"} 1`,
    `tollgate_upstream_answers_total{upstream="animals",target="${upstream.url}",class="4xx"} 1`,
    `tollgate_upstream_answers_total{upstream="animals",target="${upstream.url}",class="none"} 0`,
    'tollgate_store_errors_total 0',
    'tollgate_store_fallback 0',
    'tollgate_gateways 1',
    `tollgate_upstream_healthy{upstream="animals",target="${upstream.url}"} 1`,
  ]) {
    const [name = '', value] = line.split(/ (?=\S+$)/)
    const labels = [...name.matchAll(/\w+="[^"]*"/g)].map(([label]) => label)
    const found = lines(metrics, name.replace(/\{.*/, '')).find(
      (each) => labels.every((label) => each.includes(label)) && each.endsWith(` ${value}`),
    )
    t.ok(found, line)
  }
  t.notMatch(metrics, new RegExp(key.id), 'no label holds a key')
  const series = lines(metrics, 'tollgate_').map((line) => line.replace(/ \S+$/, ''))
  t.equal(new Set(series).size, series.length, 'each series is there once')

  await runCommand(['bans', 'set', key.id, '--for', '1m', '--config', file], {})
  await until(async () => (await call('GET', '/v1/x', undefined, headers)).status === 429)
  await until(async () =>
    (await read()).includes(
      'tollgate_refusals_total{plan="free",reason="key_banned",window="",operation=""} 1',
    ),
  )
  t.strictSame(happened(await read(), 'tollgate_bans_total{'), [], 'an operator’s ban is no fault')
})

t.test(
  'what is known to be counted begins at 0, and is named as Prometheus wants it',
  async (t) => {
    const { operate } = await startAdmin(t, { more: `${plans}${deprecations}` })
    const { text } = await operate('GET', '/metrics')
    for (const line of [
      ...[200, 429, 502, 503, 504].map(
        (status) => `tollgate_requests_total{route="/v1/*",plan="free",status="${status}"} 0`,
      ),
      ...[401, 429].map(
        (status) => `tollgate_requests_total{route="/v1/*",plan="none",status="${status}"} 0`,
      ),
      'tollgate_refusals_total{plan="pro",reason="rate_limit_exceeded",window="minute",operation=""} 0',
      'tollgate_refusals_total{plan="pro",reason="rate_limit_exceeded",window="day",operation=""} 0',
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
  const { signatureHeader, signatureRefused } = await import('../../../shared/signature.ts')
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
  const { operate } = await startAdmin(t)
  const { text } = await operate('GET', '/metrics')
  const real = [...text.matchAll(/^# TYPE (tollgate_\w+) /gm)].map(([, name = '']) => name)
  const namesIn = (file: string): string[] => {
    const named = readFileSync(join(root, file), 'utf8').matchAll(/`(tollgate_\w+)/g)
    return [...new Set([...named].map(([, name = '']) => name))]
  }
  t.strictSame(namesIn('gateway/office/admin/README.md').sort(), real.sort())
  for (const name of namesIn('README.md')) t.ok(real.includes(name), name)
})

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
    const series = `tollgate_refusals_total{plan="p",reason="rate_limit_exceeded",window="${window}",operation=""}`
    t.ok(text.includes(`${series} ${count}\n`), series)
  }
  await until(() => said(output(), '"window":"day"').length === 2)
  const ofMinute = { decision: 'rate_limit_exceeded', reason: 'minute', key: minute.key.id }
  t.match(said(output(), '"window":"minute"'), [ofMinute, ofMinute, ofMinute])
})

t.test('numbers of series stay as they are, whoever asks for what', async (t) => {
  const { gateway, operate } = await startAdmin(t, { more: unlimited })
  const { call, key } = gateway
  const series = async () =>
    lines((await operate('GET', '/metrics')).text, 'tollgate_')
      .map((line) => line.replace(/ \S+$/, ''))
      .sort()
  const keys = await Promise.all(Array.from({ length: 200 }, () => key({ plan: 'p' })))
  const ask = async (round: number): Promise<void> => {
    await Promise.all(
      keys.map(async ({ headers }, i) => {
        await call('GET', `/v1/${round}/${i}`, undefined, headers)
        await call('GET', `/made/up/${round}/${i}`, undefined, headers)
        await call('GET', '/v1/x', undefined, { authorization: `Bearer invented-${round}-${i}` })
      }),
    )
  }
  await ask(0)
  const before = await series()
  for (let i = 1; i < 3; i++) await ask(i)
  t.strictSame(await series(), before)
  t.ok(before.length < 200, `${before.length} series`)
})
