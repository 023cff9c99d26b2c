import t from 'tap'
import { endText } from '../../../shared/times.ts'
import { statusByCode } from '../../../shared/refusal.ts'
import { startAdmin } from '../../support/admin.ts'
import { explanationOf, type Found } from '../../support/explained.ts'
import { startUpstream } from '../../support/gateway.ts'
import { answerFrom, json, raw, type Answer } from '../../support/http.ts'
import { table } from '../../support/readme.ts'
import { until } from '../../support/until.ts'

/** The limit, the use and the end of a window, as the headers of an answer say them. */
function windowIn({ headers }: Answer) {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(headers[`x-ratelimit-${name}`]),
  )
  return { limit, remaining, reset }
}

/** The codes of the README's table, each with each of its reasons. */
function reasonsByCode(): ReadonlySet<string> {
  let code = ''
  const rows = table('gateway/office/explain/README.md', 'code')
  return new Set(
    rows.map(([named = '', reason]) => {
      if (named !== '') code = named.startsWith('none:') ? 'null' : named
      return `${code} ${reason}`
    }),
  )
}

t.test('for every code, explain says what the answer said, and why', async (t) => {
  let now = Date.UTC(2026, 5, 15, 12, 0, 30)
  const upstream = await startUpstream(t, ({ url = '', method }, response) => {
    if (url.startsWith('/v1/late') || method === 'PUT') return
    if (url === '/v1/reset') response.destroy()
    else if (url === '/v1/types') response.setHeader('content-type', ['a/b', 'c']).end()
    else if (url === '/v1/broken') response.writeHead(500).end('{}')
    else if (url === '/v1/unsigned') {
      response.writeHead(401, { 'x-tollgate-signature': 'refused' }).end('{}')
    } else response.end('{}')
  })
  const { gateway, ask } = await startAdmin(t, {
    upstream,
    clock: () => now,
    more: `
plans:
  free: { perMinute: 60, perDay: 1000 }
  gone: { perMinute: 100, perDay: 100 }
  readers: { perMinute: 60, perDay: 1000, methods: [ GET ] }
strangers: { perMinute: 100, perDay: 10000 }
bans: { strikes: 1, grace: 0s }
deprecations:
  - { operation: GET /v1/gone, since: 2026-01-01, sunset: 2026-02-01, afterSunset: gone }
  - operation: GET /v1/brown
    since: 2026-01-01
    sunset: 2027-01-01
    brownouts: [ { from: 2026-06-15T11:00:00Z, to: 2026-06-15T13:00:00Z } ]
`,
    upstreamMore: 'maxInFlight: 3, timeout: { response: 300ms, request: 300ms }',
    routes: `
  - { path: /v1/dear, upstream: animals, cost: 61 }
  - { path: /v1/scoped, upstream: animals, scopes: [a] }
  - { path: /v1/small, upstream: animals, bodyLimit: 1B, methods: [ POST ] }
  - { path: /v1/*, upstream: animals }
`,
  })
  const { key, desk, app, config, stores, url } = gateway
  const free = await key({ name: 'Free' })
  const minute = await key({ name: 'Minute', limits: { perMinute: 1 }, account: 'acme' })
  const day = await key({ name: 'Day', limits: { perDay: 1 } })
  const trial = await key({ name: 'Trial', account: 'acme', test: true, limits: { perDay: 1 } })
  const get = await key({ name: 'Get', methods: ['GET'], paths: ['/v1/pets'] })
  const reader = await key({ name: 'Reader', plan: 'readers' })
  const elsewhere = await key({ name: 'Elsewhere', addresses: ['10.0.0.0/8'] })
  const paged = await key({ name: 'Paged', origins: ['https://app.example'] })
  const scoped = await key({ name: 'Scoped', scopes: ['b'] })
  const planless = await key({ name: 'Planless', plan: 'gone' })
  const [revoked, disabled] = [await key({ name: 'R' }), await key({ name: 'D' })]
  const rotated = await key({ name: 'O' })
  const expired = await key({ name: 'E', expiresAtMs: now + 1 })
  await desk.edit(revoked.key.id, desk.revoking())
  await desk.edit(disabled.key.id, desk.disabling(true))
  await desk.rotate(rotated.key.id, 0)
  now++
  const faulty = await key({ name: 'Faulty' })
  const stored = await stores.keys.get(faulty.key.id)
  // No operation can make such a key.
  await stores.keys.replace({ ...faulty.key, addresses: ['nowhere'] }, stored?.version ?? 0)
  const plans = new Map([...config.plans].filter(([name]) => name !== 'gone'))
  await app.change({ ...config, plans })

  type Asker = Readonly<{ headers: { authorization: string } }>
  const call = async (method: string, path: string, who?: Asker, body?: string) =>
    gateway.call(method, path, body, who?.headers)
  const asked = (authorization: string) =>
    gateway.call('GET', '/v1/x', undefined, { authorization })
  const mistyped = free.token.slice(0, -1) + (free.token.endsWith('a') ? 'b' : 'a')
  /** Requests that wait for the backend while another one comes. */
  const besides = async (waiting: number, who: Asker, other: Asker) => {
    const before = upstream.seen.length
    const late = Array.from({ length: waiting }, () => call('GET', '/v1/late', who))
    await until(() => upstream.seen.length === before + waiting)
    const answer = await call('GET', '/v1/pets', other)
    await Promise.all(late)
    return answer
  }
  const lines = (...all: string[]): Promise<Answer> =>
    raw(url, `${all.join('\r\n')}\r\n\r\n`).then(answerFrom)
  const host = 'Host: x'

  type Case = readonly [code: string | null, reason: string, () => Promise<Answer>, who?: string]
  const cases: readonly Case[] = [
    ['missing_api_key', 'no_header', () => call('GET', '/v1/pets')],
    ['invalid_api_key', 'malformed_token', () => asked('Basic eDp5')],
    ['invalid_api_key', 'malformed_token', () => asked('Bearer tg_cut')],
    ['invalid_api_key', 'bad_check', () => asked(`Bearer ${mistyped}`)],
    ['invalid_api_key', 'unknown_token', () => asked('Bearer of-another-system')],
    ['invalid_api_key', 'expired', () => call('GET', '/v1/pets', expired), 'E'],
    ['invalid_api_key', 'disabled', () => call('GET', '/v1/pets', disabled), 'D'],
    ['invalid_api_key', 'revoked', () => call('GET', '/v1/pets', revoked), 'R'],
    ['invalid_api_key', 'rotated_out', () => call('GET', '/v1/pets', rotated), 'O'],
    ['forbidden', 'plan_gone', () => call('GET', '/v1/pets', planless), 'Planless'],
    ['forbidden', 'plan', () => call('POST', '/v1/pets', reader), 'Reader'],
    ['forbidden', 'method', () => call('POST', '/v1/pets', get), 'Get'],
    ['forbidden', 'path', () => call('GET', '/v1/others', get), 'Get'],
    ['forbidden', 'address', () => call('GET', '/v1/pets', elsewhere), 'Elsewhere'],
    ['forbidden', 'origin', () => call('GET', '/v1/pets', paged), 'Paged'],
    ['forbidden', 'scope', () => call('GET', '/v1/scoped', scoped), 'Scoped'],
    ['forbidden', 'cost', () => call('GET', '/v1/dear', free), 'Free'],
    ['gone', 'sunset', () => call('GET', '/v1/gone', free), 'Free'],
    ['service_unavailable', 'brownout', () => call('GET', '/v1/brown', free), 'Free'],
    [
      'rate_limit_exceeded',
      'minute',
      async () => (await call('GET', '/v1/pets', minute), call('GET', '/v1/pets', minute)),
      'Minute',
    ],
    ['key_banned', 'ban', async () => (now++, call('GET', '/v1/pets', minute)), 'Minute'],
    [
      'rate_limit_exceeded',
      'day',
      async () => (await call('GET', '/v1/pets', day), call('GET', '/v1/pets', day)),
      'Day',
    ],
    [
      'rate_limit_exceeded',
      'day',
      async () => (await call('GET', '/v1/pets', trial), call('GET', '/v1/pets', trial)),
      'Trial',
    ],
    ['invalid_request', 'invalid_request', () => call('GET', '/v1//pets', free)],
    ['invalid_request', 'invalid_request', () => lines('GET /v1/x HTTP/1.1', host, 'bad header')],
    ['not_found', 'not_found', () => call('GET', '/elsewhere', free), 'Free'],
    ['method_not_allowed', 'method_not_allowed', () => call('PATCH', '/v1/small', free), 'Free'],
    [
      'payload_too_large',
      'payload_too_large',
      () => call('POST', '/v1/small', free, 'long'),
      'Free',
    ],
    ['uri_too_long', 'uri_too_long', () => call('GET', `/v1/${'x'.repeat(9_000)}`, free)],
    [
      'headers_too_large',
      'headers_too_large',
      () => lines('GET /v1/x HTTP/1.1', host, ...Array.from({ length: 120 }, (_, i) => `A${i}: b`)),
    ],
    [
      'not_implemented',
      'not_implemented',
      () => lines('POST /v1/x HTTP/1.1', host, 'Transfer-Encoding: gzip, chunked'),
    ],
    ['http_version_not_supported', 'http_version_not_supported', () => lines('GET /v1/x HTTP/3.7')],
    [
      'loop_detected',
      'loop_detected',
      () => lines('GET /v1/x HTTP/1.1', host, 'Via: 1.1 tollgate, 1.1 tollgate'),
    ],
    [
      'request_timeout',
      'request_timeout',
      () =>
        lines(
          'POST /v1/x HTTP/1.1',
          host,
          `Authorization: ${free.headers.authorization}`,
          'Content-Length: 9',
        ),
      'Free',
    ],
    ['internal_error', 'internal_error', () => call('GET', '/v1/pets', faulty)],
    ['bad_gateway', 'reset', () => call('GET', '/v1/reset', free), 'Free'],
    ['bad_gateway', 'bad_header', () => call('GET', '/v1/types', free), 'Free'],
    ['gateway_timeout', 'late', () => call('GET', '/v1/late', free), 'Free'],
    [null, 'backend', () => call('GET', '/v1/broken', free), 'Free'],
    ['too_many_at_once', 'share', () => besides(2, free, free), 'Free'],
    [
      'service_unavailable',
      'overloaded',
      async () => {
        const others = [await key(), await key()]
        const before = upstream.seen.length
        const late = [free, ...others].map((each) => call('GET', '/v1/late', each))
        await until(() => upstream.seen.length === before + 3)
        const answer = await call('GET', '/v1/pets', await key({ name: 'Fourth' }))
        await Promise.all(late)
        return answer
      },
      'Fourth',
    ],
    [
      'too_many_failed_attempts',
      'strangers',
      async () => {
        let answer = await asked('Bearer guessed')
        while (answer.status === 401) answer = await asked('Bearer guessed')
        return answer
      },
    ],
  ]
  const toldReasons = reasonsByCode()
  for (const [code, reason, provoke, who] of cases) {
    if (reason !== code) t.ok(toldReasons.has(`${code} ${reason}`), `${code} ${reason} is told`)
    const answer = await provoke()
    const found = await explanationOf(ask, answer)
    const name = `${code} ${reason}`
    t.match(found, { code, reason, status: answer.status, name: who ?? null }, name)
    if (code !== null) t.equal(json(answer)['code'], code, name)
    t.match(found.sentence, /^[A-Z0-9].*\.$/, found.sentence)
    if (who === 'Trial') {
      t.match(found, { account: 'acme', test: true })
      t.match(found.sentence, '1 of 1 on this day were used (plan free, test key, account acme).')
    }
    if (reason === 'share')
      t.match(found.sentence, 'had 2 requests in flight, and its share was 2.')
    t.equal(found.config, config.hash)
    const { limit, remaining, reset } = windowIn(answer)
    const window = reason === 'day' ? found.day : found.minute
    if (reason === 'ban') {
      t.equal(Date.parse(found.bannedUntil ?? '') / 1_000, reset, 'one end of the ban')
    } else if (Number.isNaN(limit)) {
      t.equal(window, null, `${name}: no decision, no headers`)
    } else {
      t.match(window, { limit, reset }, `${name}: the headers’ window`)
      t.equal(Math.max(0, (window?.limit ?? 0) - (window?.used ?? 0)), remaining, name)
    }
  }
  const seldom = [
    'misdirected_request',
    'conflict',
    'unsupported_media_type',
    'precondition_failed',
    'precondition_required',
  ]
  const provoked = new Set([...cases.map(([code]) => code), ...seldom])
  t.strictSame(
    Object.keys(statusByCode).filter((code) => !provoked.has(code)),
    [],
    'only answers of the admin address and of the backend are left out',
  )
  const refused = await call('GET', '/v1/pets', minute)
  const { sentence } = await explanationOf(ask, refused)
  t.equal(
    sentence,
    `The key “Minute” is banned: it sent requests after a 429 had asked it to wait. It would have been admitted from ${endText(Number(refused.headers['x-ratelimit-reset']) * 1_000)}.`,
  )
})

t.test('the sentence is that of the example', async (t) => {
  const { gateway, ask } = await startAdmin(t, { clock: () => Date.UTC(2026, 5, 15, 12, 0, 41) })
  const { headers } = await gateway.key()
  let answer = await gateway.call('GET', '/v1/pets', undefined, headers)
  while (answer.status !== 429) answer = await gateway.call('GET', '/v1/pets', undefined, headers)
  t.match(await explanationOf(ask, answer), {
    sentence:
      '60 of 60 in this minute were used (plan free). It would have been admitted from 2026-06-15 12:01:00Z.',
    time: '2026-06-15T12:00:41.000Z',
    decidedBy: 'store',
  })
})

t.test('backends that can’t be asked, and stores, are named', async (t) => {
  const nowhere = { url: 'http://127.0.0.1:1', seen: [] }
  const { gateway, ask } = await startAdmin(t, {
    upstream: nowhere,
    upstreamMore: 'health: { path: /healthz, every: 20ms, unhealthyAfter: 40 }',
  })
  const { headers } = await gateway.key({ limits: { perMinute: 'unlimited' } })
  const call = () => gateway.call('GET', '/v1/pets', undefined, headers)
  const refused = await explanationOf(ask, await call())
  t.match(refused, { code: 'bad_gateway', reason: 'refused', target: nowhere.url })
  t.match(refused.sentence, nowhere.url)
  let last = refused
  await until(async () => {
    last = await explanationOf(ask, await call())
    return last.reason === 'none_healthy'
  })
  t.match(last, { code: 'service_unavailable', upstream: 'animals' })
})

t.test('a secret at the end of a path that was cut is not told', async (t) => {
  const { gateway, ask } = await startAdmin(t)
  const { token: secret } = await gateway.key()
  for (const length of [100, 110, 118, 124]) {
    const path = `/v1/${'x'.repeat(length - 4)}/${secret}`
    const { path: told } = await explanationOf(ask, await gateway.call('GET', path))
    t.ok(told.endsWith('…'), told)
    t.notMatch(told, secret.slice(20, 24))
  }
})

t.test('of many answers with one id the newest are told', async (t) => {
  const { gateway, ask } = await startAdmin(t, {
    more: 'strangers: { perMinute: 5000, perDay: 5000 }',
  })
  const id = 'a.-_'.repeat(32)
  for (let i = 0; i < 1_000; i += 50) {
    const all = Array.from({ length: 50 }, (_, n) =>
      gateway.call('GET', `/v1/${i + n}`, undefined, { 'x-request-id': id }),
    )
    t.ok((await Promise.all(all)).every(({ headers }) => headers['x-request-id'] === id))
  }
  await until(() => gateway.app.front.recentRefusals.count === 1_000)
  const { answers } = json(await ask('GET', `/admin/requests/${id}`)) as unknown as Found
  t.equal(answers.length, 500)
  t.ok(answers.every(({ path }) => Number(path.slice('/v1/'.length)) >= 500))
  const text = JSON.stringify(await ask('GET', '/admin/requests/another'))
  t.match(text, /keeps 1,000 refused or failed answers, all since/)
})
