import t from 'tap'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json, raw } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const noon = Date.UTC(2026, 5, 15, 12, 0, 10)
const inOneMinute = noon / 1000 + 50
const midnight = Date.UTC(2026, 5, 16) / 1000

t.test('every answer carries each header once, from the gateway alone', async (t) => {
  const lying = {
    'X-RateLimit-Limit': '777',
    'x-ratelimit-remaining': '8',
    'X-RateLimit-Reset': '9',
    RateLimit: 'x',
    'RateLimit-Policy': 'x',
    'X-RateLimit-Notice': 'day; used=99',
  }
  const upstream = await startUpstream(t, (request, response) => {
    const status = Number(/\/(\d{3})/.exec(request.url ?? '')?.[1] ?? 200)
    response.writeHead(status, { ...lying, 'Retry-After': '99', 'X-Request-Id': 'theirs' })
    response.end(status === 204 || status === 304 ? undefined : '{}')
  })
  const { key, url } = await startGateway(t, {
    upstream,
    more: 'strangers: { perMinute: 7, perDay: 1000 }',
  })
  const { token } = await key({ limits: { perMinute: 16, perDay: 1_000 } })
  const [restricted, spare] = [await key({ paths: ['/v1/nothing'] }), await key()]
  const as = (token: string) => `Authorization: Bearer ${token}\r\n`
  const ask = (line: string, headers = '', body = '') =>
    raw(url, `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n${body}`)
  const cases: [string, Promise<string>, number][] = []
  for (const status of [200, 204, 304, 400, 404, 405, 413, 415, 429, 500, 502, 503, 504]) {
    cases.push([`the backend's ${status}`, ask(`GET /v1/${status}`, as(token)), status])
  }
  cases.push(['HEAD', ask('HEAD /v1/200', as(token)), 200])
  cases.push(['no route', ask('GET /nowhere', as(token)), 404])
  cases.push(['a method that no route has', ask('PROPFIND /v1/pets', as(token)), 405])
  for (const [, asked] of cases) await asked
  cases.push(['one too many', ask('GET /v1/200', as(token)), 429])
  cases.push(['forbidden', ask('GET /v1/200', as(restricted.token)), 403])
  cases.push(['no key', ask('GET /v1/200'), 401])
  cases.push([
    'no host',
    raw(url, `GET /v1/200 HTTP/1.1\r\nConnection: close\r\n${as(token)}\r\n`),
    400,
  ])
  cases.push([
    'what cannot be expected',
    ask('GET /v1/200', `${as(spare.token)}Expect: the-unexpected\r\n`),
    200,
  ])
  const text = `${as(spare.token)}Content-Type: text/plain\r\nContent-Length: 2000000\r\n`
  cases.push(['a text that is too large', ask('POST /v1/200', text, 'x'.repeat(2_000_000)), 413])
  cases.push(['a malformed URL', ask('GET /v1/%zz', as(token)), 400])
  cases.push([
    'a malformed header',
    raw(url, 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n'),
    400,
  ])
  cases.push([
    'headers that are too large',
    raw(url, `GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`),
    431,
  ])
  for (const [name, asked, status] of cases) {
    const answer = await asked
    const head = answer.slice(0, answer.indexOf('\r\n\r\n'))
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), name)
    for (const header of [
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'x-request-id',
    ]) {
      t.equal(
        [...head.matchAll(new RegExp(`^${header}: \\S+\\r?$`, 'gim'))].length,
        1,
        `${name}: ${header}`,
      )
    }
    t.notMatch(
      head,
      /x-ratelimit-limit: 777\r|^ratelimit|x-request-id: theirs/im,
      `${name}: nothing of the backend's`,
    )
    if (status < 400) t.notMatch(head, /retry-after/i, name)
    if (name === "the backend's 429")
      t.match(head, /retry-after: 99/i, 'its own Retry-After passes on an error')
  }
  t.match(await ask('GET /v1/200'), /^HTTP\/1\.1 401/)
  t.match(await ask('GET /v1/200'), /^HTTP\/1\.1 401/)
  t.match(
    await ask('GET /v1/%zz'),
    /^HTTP\/1\.1 429 [^]*too_many_failed_attempts/,
    'malformed ones were counted, too',
  )
})

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`a day near its end is told from the exact request on: ${kind}`, async (t) => {
    let now = noon
    const clock = () => now
    const redis = kind === 'redis' && (await startRedis(t))
    const store = redis ? { store: `redis: "${redis.url}"`, storeClock: clock } : {}
    const upstream = await startUpstream(t, ({ url }, response) => {
      if (url === '/v1/broken') return void response.destroy()
      response.writeHead(200, { 'X-RateLimit-Notice': 'day; used=1' }).end()
    })
    const { call, key, stores } = await startGateway(t, {
      ...{ clock, upstream, ...store },
      more: 'headers: { near: [95, 80] }',
    })
    const noticeOf = async (headers: Record<string, string>, target = '/v1/pets') =>
      (await call('GET', target, undefined, headers)).headers['x-ratelimit-notice']
    const quotaOf = async (headers: Record<string, string>) =>
      json(await call('GET', '/v1/quota', undefined, headers))['notice']
    const limits = { perMinute: 'unlimited', perDay: 7 } as const
    const one = await key({ limits, account: 'acme' })
    const other = await key({ limits, account: 'acme' })
    for (let used = 1; used < 6; used++) t.equal(await noticeOf(one.headers), undefined, `${used}`)
    t.equal(await quotaOf(one.headers), null)
    t.equal(await noticeOf(other.headers), 'day; used=85', 'the sixth of seven, of the account')
    t.strictSame(await quotaOf(one.headers), { window: 'day', used: 85 })
    t.equal(await noticeOf(one.headers, '/v1/quota'), 'day; used=85')
    t.equal(await noticeOf(one.headers, '/v1/broken'), 'day; used=100', 'counted when it was sent')
    await until(async () => JSON.stringify(await quotaOf(one.headers)).includes('85'))
    await stores.quota.grant('account:acme', { perMinute: 0, perDay: 1, by: 'eve' })
    t.equal(await noticeOf(one.headers), 'day; used=87', 'of what was granted, too')
    await noticeOf(one.headers)
    const refused = await call('GET', '/v1/pets', undefined, one.headers)
    t.match([refused.status, refused.headers['x-ratelimit-notice']], [429, 'day; used=100'])
    await stores.quota.ban('account:acme', one.key.id, now + 60_000)
    const banned = await call('GET', '/v1/pets', undefined, one.headers)
    t.match(json(banned), { code: 'key_banned' })
    t.equal(banned.headers['x-ratelimit-notice'], undefined, 'a ban is told alone')

    const free = await key({ limits: { perMinute: 'unlimited', perDay: 'unlimited' } })
    for (let i = 0; i < 9; i++) t.equal(await noticeOf(free.headers), undefined)
    t.equal(await noticeOf({}), undefined, 'strangers have no day of their own')
    now = midnight * 1000
    t.equal(await noticeOf(other.headers), undefined, 'the next day begins without')
  })
}

t.test('near: [] ends notices', async (t) => {
  const { call, key } = await startGateway(t, { more: 'headers: { near: [] }' })
  const { headers } = await key({ limits: { perMinute: 9, perDay: 1 } })
  for (const target of ['/v1/pets', '/v1/pets', '/v1/quota']) {
    const answer = await call('GET', target, undefined, headers)
    t.equal(answer.headers['x-ratelimit-notice'], undefined)
  }
  t.equal(json(await call('GET', '/v1/quota', undefined, headers))['notice'], null)
})

t.test('GET /v1/quota costs nothing, never counts, and needs a key', async (t) => {
  const { call, key, upstream } = await startGateway(t, { clock: () => noon })
  const { headers } = await key({ limits: { perMinute: 5, perDay: 'unlimited' } })
  for (let i = 0; i < 20; i++) await call('GET', '/v1/quota', undefined, headers)
  const { text } = await call('GET', '/v1/quota', undefined, headers)
  t.equal(
    text,
    `{"plan":"free","minute":{"limit":5,"remaining":5,"reset":${inOneMinute}},"day":null,"strikes":0,"bannedUntil":null,"strikesToBan":20,"notice":null}`,
  )
  t.equal((await call('GET', '/v1/quota')).status, 401)
  t.equal(upstream.seen.length, 0)
})

t.test(
  'caches keep answers for different origins apart, and what else a backend says',
  async (t) => {
    const vary: Record<string, string | string[]> = {
      '/v1/language': 'Accept-Language',
      '/v1/two': ['Accept-Language', 'Accept-Encoding'],
      '/v1/origin': 'accept, origin',
      '/v1/other': 'X-Origin',
      '/v1/all': '*',
    }
    const upstream = await startUpstream(t, ({ url = '' }, response) => {
      const said = vary[url]
      if (said !== undefined) response.setHeader('vary', said)
      response.end('{}')
    })
    const startWith = async (origins: string) => {
      const more = `cors: { origins: ${origins} }`
      const { call, key } = await startGateway(t, { upstream, more, store: 'file: ":memory:"' })
      const { headers } = await key()
      return async (path: string, origin?: string, authorized = true) => {
        const sent = { ...(authorized ? headers : {}), ...(origin ? { origin } : {}) }
        return (await call('GET', path, undefined, sent)).headers['vary']
      }
    }
    const varyOf = await startWith('[ "https://app.example" ]')
    for (const origin of ['https://app.example', 'https://evil.example', undefined]) {
      t.equal(await varyOf('/v1/language', origin), 'Accept-Language, Origin', String(origin))
      t.equal(await varyOf('/v1/two', origin), 'Accept-Language, Accept-Encoding, Origin')
      t.equal(await varyOf('/v1/origin', origin), 'accept, origin')
      t.equal(await varyOf('/v1/other', origin), 'X-Origin, Origin')
      t.equal(await varyOf('/v1/all', origin), '*')
      t.equal(await varyOf('/v1/none', origin), 'Origin')
      t.equal(await varyOf('/v1/none', origin, false), 'Accept, Origin', 'a refusal')
    }
    for (const origins of ['[ "*" ]', '[]']) {
      const varyOf = await startWith(origins)
      t.equal(await varyOf('/v1/language', 'https://app.example'), 'Accept-Language', origins)
      t.equal(await varyOf('/v1/none', 'https://app.example'), undefined, origins)
    }
  },
)

t.test('pages of origins that are configured may ask, from browsers', async (t) => {
  const { call, key, upstream } = await startGateway(t, {
    more: 'cors: { origins: [ "https://app.example" ] }\nstrangers: { perMinute: 5, perDay: 1000 }',
  })
  const { headers } = await key()
  const asking = { 'access-control-request-method': 'POST' }
  const ask = (origin: string) =>
    call('OPTIONS', '/v1/pets', undefined, {
      origin,
      ...asking,
      'access-control-request-headers': 'authorization, content-type',
    })
  for (let i = 0; i < 10; i++) {
    t.match(await ask('https://app.example'), {
      status: 204,
      text: '',
      headers: {
        'access-control-allow-origin': 'https://app.example',
        'access-control-allow-methods': /POST/,
        'access-control-allow-headers': 'authorization, content-type',
        'x-ratelimit-remaining': '5',
        vary: 'Origin',
      },
    })
  }
  t.equal(upstream.seen.length, 0, 'the backend is not asked')
  t.match(await ask('https://evil.example'), { status: 401, headers: { vary: 'Origin' } })
  const answer = await call('GET', '/v1/pets', undefined, {
    ...headers,
    origin: 'https://app.example',
  })
  t.match(answer, {
    status: 200,
    headers: {
      'access-control-allow-origin': 'https://app.example',
      'access-control-expose-headers': /X-RateLimit-Remaining.*Retry-After/,
    },
  })
  const refused = await call('GET', '/v1/pets', undefined, { origin: 'https://app.example' })
  t.match(refused, {
    status: 401,
    headers: { 'access-control-allow-origin': 'https://app.example' },
  })
  const other = await call('GET', '/v1/pets', undefined, {
    ...headers,
    origin: 'https://evil.example',
  })
  t.equal(other.headers['access-control-allow-origin'], undefined)
  const open = await startGateway(t, {
    more: 'cors: { origins: [ "*" ] }',
    store: 'file: ":memory:"',
  })
  const anyone = await open.call('GET', '/v1/pets', undefined, { origin: 'https://x' })
  t.equal(anyone.headers['access-control-allow-origin'], '*')
  const closed = await startGateway(t, { store: 'file: ":memory:"' })
  const none = await closed.call('OPTIONS', '/v1/x', undefined, { origin: 'https://x', ...asking })
  t.match(none, { status: 401, headers: { 'access-control-allow-origin': undefined } })
})

t.test('a page reads the headers that cors.expose and its backend name, each once', async (t) => {
  let named: string | string[] = ''
  const upstream = await startUpstream(t, (_request, response) => {
    if (named !== '') response.setHeader('access-control-expose-headers', named)
    response.end('{}')
  })
  const startWith = async (cors: string) => {
    const store = 'file: ":memory:"'
    const { call, key } = await startGateway(t, { upstream, more: `cors: { ${cors} }`, store })
    const headers = { ...(await key()).headers, origin: 'https://app.example' }
    return async (sent: string | string[], origin = headers.origin, path = '/v1/pets') => {
      named = sent
      const answer = await call('GET', path, undefined, { ...headers, origin })
      return String(answer.headers['access-control-expose-headers'])
    }
  }
  const listed = await startWith(
    'origins: [ "https://app.example" ], expose: [ ETag, x-total-count, etag, retry-after ]',
  )
  const own = await listed('')
  t.match(own, /^X-RateLimit-Limit, .*, Retry-After, .*, Accept-Query, ETag, x-total-count$/)
  for (const [sent, added] of [
    ['Upload-Offset, upload-offset,Location, X-Total-Count', ', Upload-Offset'],
    [['Mcp-Session-Id', 'ETAG , ,Upload-Offset'], ', Mcp-Session-Id, Upload-Offset'],
    ['*', ''],
    ['*, Upload-Offset', ', Upload-Offset'],
  ] as const) {
    t.equal(await listed(sent as string | string[]), own + added, String(sent))
  }
  t.equal(await listed('Upload-Offset', undefined, '/v1/quota'), own, 'the gateway’s own answer')
  t.equal(await listed('Upload-Offset', 'https://evil.example'), 'Upload-Offset', 'as it was sent')
  const all = await startWith('origins: [ "*" ]')
  const plain = await all('')
  t.equal(await all('Upload-Offset, *'), `${plain}, Upload-Offset, *`)
  const none = await startWith('expose: [ ETag ]')
  t.equal(await none('*, Upload-Offset'), '*, Upload-Offset', 'without origins')
})
