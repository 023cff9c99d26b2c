import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { PageFolder } from '../../gateway/http/page-files.ts'
import { Sessions } from '../../gateway/admin/session.ts'
import { adminTokensFrom } from '../../gateway/admin/token.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { startAdmin } from '../support/admin.ts'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, json, raw, type Answer, type Call } from '../support/http.ts'
import { adminOf, root } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const aliceToken = 'canary-token-of-alice-0123456789'
const bobToken = 'canary-token-of-bob-9876543210'
const tokens = `alice:${aliceToken},bob/support:${bobToken}`

/** The header that browsers send with requests of a page at the same origin. */
const own = { 'sec-fetch-site': 'same-origin' }
const source = join(root, 'gateway/admin/console')
const minuteMs = 60_000
const hourMs = 60 * minuteMs

type Headers = Record<string, string>

/** The cookie that an answer sets, as the browser sends it back. */
function cookieIn({ headers }: Answer): string {
  return String(headers['set-cookie']).split(';', 1)[0] ?? ''
}

/** Signs in like the page does; `headers` are what its requests then send. */
async function signIn(operate: Call, token = aliceToken, more: Headers = {}) {
  const answer = await operate('POST', '/console/session', { token }, { ...own, ...more })
  if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.text}`)
  const { secret } = json(answer) as { secret: string }
  const cookie = cookieIn(answer)
  const headers: Headers = { ...own, ...more, cookie, 'x-console-secret': secret }
  return { answer, cookie, secret, headers }
}

function without(headers: Headers, ...names: string[]): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
}

/** Lines of the audit about the console, the oldest first. */
async function consoleLines({ gateway }: Awaited<ReturnType<typeof startAdmin>>) {
  const lines = await gateway.stores.audit.list({ fromMs: 0, limit: 1_000, subject: 'console' })
  return lines.toReversed()
}

t.test('an operator signs in, works under its own name, and signs out', async (t) => {
  const admin = await startAdmin(t, { tokens })
  const { operate } = admin
  const { answer, cookie, secret, headers } = await signIn(operate)
  const { text, headers: told } = answer
  t.strictSame(Object.keys(json(text)), ['secret', 'name', 'role', 'endsAt'])
  t.match(json(text), { name: 'alice', role: 'all' })
  const attributes = 'HttpOnly; SameSite=Strict; Path=/; Max-Age=43200'
  t.equal(told['set-cookie'], `${cookie}; ${attributes}`)
  t.match(cookie, /^tollgate_console=[\w.-]+$/)
  t.equal(told['cache-control'], 'no-store')
  t.notOk(text.includes(cookie.slice(20)), 'the page can’t read the cookie')
  t.notOk(cookie.includes(secret), 'the cookie doesn’t hold the secret')

  const session = await operate('GET', '/console/session', undefined, headers)
  t.match(session, { status: 200, headers: { 'cache-control': 'no-store' } })
  t.strictSame(json(session), without(json(text) as Headers, 'secret'))
  const made = await operate('POST', '/admin/keys', { name: 'Acme', plan: 'free' }, headers)
  t.equal(made.status, 201)
  const audit = await operate('GET', '/admin/audit', undefined, headers)
  t.match(audit.headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  t.match(
    (json(audit) as unknown as object[]).find(
      (line) => Reflect.get(line, 'what') === 'keys.create',
    ),
    { by: 'alice' },
  )

  const bob = await signIn(operate, bobToken)
  t.match(json(bob.answer), { name: 'bob', role: 'support' })
  const refused = await operate('POST', '/admin/keys', { name: 'B', plan: 'free' }, bob.headers)
  t.match(refused, { status: 403, text: /bob has the role support/ })
  await until(async () => (await consoleLines(admin)).length === 2)
  t.match(await consoleLines(admin), [
    { what: 'console.sign-in', by: 'alice', after: { role: 'all', address: '127.0.0.1' } },
    { what: 'console.sign-in', by: 'bob', after: { role: 'support', address: '127.0.0.1' } },
  ])

  const out = await operate('DELETE', '/console/session', undefined, headers)
  t.match(out, {
    status: 204,
    headers: { 'set-cookie': 'tollgate_console=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0' },
  })
  const gone = without(headers, 'cookie')
  t.equal((await operate('GET', '/console/session', undefined, gone)).status, 401)
})

t.test('a request needs cookie, secret and the console’s own page, also for GET', async (t) => {
  const { operate, url } = await startAdmin(t, {
    tokens,
    more: 'strangers: { perMinute: 10000, perDay: 10000 }',
  })
  const { headers, cookie } = await signIn(operate)
  const { secret: another } = await signIn(operate)
  const anywhere = without(headers, 'sec-fetch-site')
  const port = Number(new URL(url).port)
  const attempts: [what: string, headers: Headers, status: number][] = [
    ['all of it', headers, 200],
    ['no Sec-Fetch-Site, but this Origin', { ...anywhere, origin: url }, 200],
    ['among cookies of others', { ...headers, cookie: `a=b; ${cookie}; c` }, 200],
    [
      'behind a cookie that another port has set',
      { ...headers, cookie: `tollgate_console=x; ${cookie}` },
      200,
    ],
    ['the cookie alone', without(headers, 'x-console-secret'), 401],
    ['the secret alone', without(headers, 'cookie'), 401],
    ['a wrong secret', { ...headers, 'x-console-secret': 'x' }, 401],
    ['the secret of another session', { ...headers, 'x-console-secret': another }, 401],
    ['another port', { ...headers, 'sec-fetch-site': 'same-site' }, 403],
    ['another site', { ...headers, 'sec-fetch-site': 'cross-site' }, 403],
    ['nobody’s page', { ...headers, 'sec-fetch-site': 'none' }, 403],
    ['two of them', { ...headers, 'sec-fetch-site': 'same-origin, cross-site' }, 403],
    [
      'another port with this Origin',
      { ...headers, 'sec-fetch-site': 'same-site', origin: url },
      403,
    ],
    ['neither Sec-Fetch-Site nor Origin', anywhere, 403],
    ['the Origin of another port', { ...anywhere, origin: `http://127.0.0.1:${port - 1}` }, 403],
    ['the Origin of another scheme', { ...anywhere, origin: url.replace('http', 'https') }, 403],
    ['a hidden Origin', { ...anywhere, origin: 'null' }, 403],
    ['a name that leads here', { ...headers, host: `page.example:${port}` }, 421],
    ['a wrong Bearer beside it', { ...headers, authorization: 'Bearer nonsense' }, 401],
    ['another kind of Authorization', { ...headers, authorization: 'Basic eDp5' }, 401],
  ]
  const paths = ['GET /admin/keys', 'HEAD /admin/keys', 'POST /admin/config/reload']
  for (const [what, sent, status] of attempts) {
    for (const path of paths) {
      const [method = '', target = ''] = path.split(' ')
      const got = await operate(method, target, undefined, sent)
      t.equal(got.status, status, `${path}: ${what}`)
      if (status !== 200) t.notOk(got.headers['set-cookie'], `${path}: ${what} renews nothing`)
    }
    // The session's own path takes no Bearer.
    if (sent['authorization'] !== undefined) continue
    const session = await operate('GET', '/console/session', undefined, sent)
    t.equal(session.status, status, `GET /console/session: ${what}`)
  }
  const bearer = { authorization: `Bearer ${aliceToken}`, cookie: 'tollgate_console=x' }
  const foreign = { ...bearer, 'sec-fetch-site': 'cross-site' }
  t.equal((await operate('GET', '/admin/keys', undefined, foreign)).status, 200, 'Bearer as ever')
})

t.test('a cookie that was tampered with is none', async (t) => {
  const { operate } = await startAdmin(t, {
    tokens,
    more: 'strangers: { perMinute: 10000, perDay: 10000 }',
  })
  const { headers, cookie } = await signIn(operate, bobToken)
  const [name = '', value = ''] = cookie.split('=')
  const [content = '', signature = ''] = value.split('.')
  const written = JSON.parse(Buffer.from(content, 'base64url').toString()) as unknown[]
  const other = (at: number, to: unknown) =>
    Buffer.from(JSON.stringify(written.with(at, to))).toString('base64url')
  t.strictSame(written.slice(0, 2), ['bob', 'support'])
  const bobs = new Sessions(adminTokensFrom(`bob:another-token-0123456789`), Date.now).begin(0)
  const forged = [
    `${other(0, 'alice')}.${signature}`,
    `${other(1, 'all')}.${signature}`,
    `${other(3, Date.now() + 100 * hourMs)}.${signature}`,
    `${other(4, Date.now())}.${signature}`,
    `${content}.`,
    content,
    `${content}.${signature.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))}`,
    `.${signature}`,
    '',
    bobs.cookie,
    'x'.repeat(4_000),
  ]
  for (const each of forged) {
    const sent = { ...headers, cookie: `${name}=${each}` }
    t.equal((await operate('GET', '/admin/keys', undefined, sent)).status, 401, each.slice(0, 60))
  }
  const foreign = { ...headers, cookie: `${name}=${bobs.cookie}`, 'x-console-secret': bobs.secret }
  t.equal((await operate('GET', '/admin/keys', undefined, foreign)).status, 401)
  t.equal((await operate('GET', '/admin/keys', undefined, headers)).status, 200)
})

t.test('a session ends after an hour without a request, and after twelve with them', async (t) => {
  let now = Date.UTC(2026, 5, 15, 12)
  const { operate } = await startAdmin(t, { tokens, clock: () => now })
  const began = now
  const { headers, answer } = await signIn(operate)
  t.match(json(answer), { endsAt: '2026-06-16T00:00:00.000Z' })
  const ask = () => operate('GET', '/admin/keys', undefined, headers)
  const first = headers['cookie'] ?? ''

  now += minuteMs - 1
  t.notOk((await ask()).headers['set-cookie'], 'it is renewed once a minute')
  now += 1
  const renewed = await ask()
  t.match(renewed.headers['set-cookie'], /; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43140$/)
  const idle = { ...headers }
  headers['cookie'] = cookieIn(renewed)
  t.not(headers['cookie'], first)

  now = began + hourMs - 1
  t.equal((await operate('GET', '/admin/keys', undefined, idle)).status, 200)
  now += 1
  t.equal((await operate('GET', '/admin/keys', undefined, idle)).status, 401, 'an hour of silence')
  t.equal((await ask()).status, 200, 'the renewed one has been used since')

  for (let at = began + hourMs; at < began + 12 * hourMs; at += 59 * minuteMs) {
    now = at
    const { status, headers: told } = await ask()
    t.equal(status, 200, new Date(now).toISOString())
    if (told['set-cookie']) headers['cookie'] = cookieIn({ status, headers: told, text: '' })
  }
  now = began + 12 * hourMs - 1
  t.match(await ask(), { status: 200, headers: { 'set-cookie': /Max-Age=1$/ } })
  now += 1
  const late = await ask()
  t.match(late, { status: 401, text: /Sign in again/ })
  t.equal((await operate('GET', '/console/session', undefined, headers)).status, 401)
})

t.test(
  'gateways with the same token share sessions; without it, or in another role, they end',
  async (t) => {
    const redis = await startRedis(t)
    const { url: upstream } = await startUpstream(t)
    const eveToken = 'canary-token-of-eve-5555555555'
    const environments = [
      { ADMIN_TOKEN: `${tokens},eve:${eveToken}`, LOG_LEVEL: 'info' },
      { ADMIN_TOKEN: `alice:${aliceToken},bob/read:${bobToken}`, LOG_LEVEL: 'info' },
    ]
    const { processes } = await startFleet(t, {
      ...{ upstream, environments, store: `redis: "${redis.url}"` },
      admin: '\n  host: 0.0.0.0\n  port: 0\n  hosts: [ ops.example ]',
    })
    const addresses = await Promise.all(processes.map(adminOf))
    const [one, two] = addresses.map((address) =>
      caller(`http://127.0.0.1:${new URL(address).port}`),
    )
    if (!one || !two) throw new Error('two were asked for')
    const status = async (call: Call, token: string) => {
      const { headers } = await signIn(one, token)
      return (await call('GET', '/admin/keys', undefined, headers)).status
    }
    t.equal(await status(two, aliceToken), 200, 'another gateway accepts it')
    t.equal(await status(two, bobToken), 401, 'the role has changed')
    t.equal(await status(one, eveToken), 200)
    t.equal(await status(two, eveToken), 401, 'the token is gone')

    // Others can reach this address, so it may have names that the gateway doesn't know.
    const { headers } = await signIn(one)
    const rebound = { host: 'page.example' }
    t.equal((await one('GET', '/healthz', undefined, rebound)).status, 200)
    const bearer = { authorization: `Bearer ${aliceToken}` }
    t.equal((await one('GET', '/admin/keys', undefined, { ...bearer, ...rebound })).status, 200)
    for (const path of [
      '/console',
      '/console/',
      '/%63onsole/',
      '/console/session',
      '/admin/keys',
    ]) {
      const asked = await one('GET', path, undefined, { ...headers, ...rebound })
      t.match(asked, { status: 421, text: /misdirected_request/ }, path)
    }
    const known = { ...headers, host: 'ops.example' }
    for (const path of ['/console/', '/console/session', '/admin/keys']) {
      t.equal((await one('GET', path, undefined, known)).status, 200, path)
    }
    const posted = await one(
      'POST',
      '/console/session',
      { token: aliceToken },
      { ...own, ...rebound },
    )
    t.equal(posted.status, 421)

    await redis.kill()
    const began = performance.now()
    t.equal(await status(one, aliceToken), 503, 'an operator can sign in while the store is gone')
    t.ok(performance.now() - began < 10_000)
    const logs = processes.map(({ output }) => output()).join('')
    t.match(logs, '"path":"/console/session"')
    t.match(logs, '"by":"alice"')
    for (const token of [aliceToken, bobToken, eveToken]) t.notOk(logs.includes(token))
  },
)

t.test('guessing is bounded, noted and never told to others', async (t) => {
  let now = Date.UTC(2026, 5, 15, 12)
  let log = ''
  const admin = await startAdmin(t, {
    tokens,
    clock: () => now,
    more: 'trustedProxies: [ 127.0.0.1 ]',
    log: { level: 'info', target: { write: (line: string) => void (log += line) } },
  })
  const { operate, ask } = admin
  const guess = async (from: string, token: unknown = 'canary-wrong-token-1') =>
    operate('POST', '/console/session', { token }, { ...own, 'x-forwarded-for': from })
  const wrong = await guess('10.0.0.1')
  t.match(wrong, { status: 401, text: /invalid_api_key/, headers: { 'cache-control': 'no-store' } })
  t.notOk(wrong.headers['set-cookie'])
  for (let i = 0; i < 4; i++) t.equal((await guess('10.0.0.1')).status, 401)
  now += 10_000
  const over = await guess('10.0.0.1')
  t.match(over, { status: 429, text: /too_many_failed/, headers: { 'retry-after': '50' } })
  t.equal((await guess('10.0.0.2')).status, 401, 'another address')
  await signIn(operate, aliceToken, { 'x-forwarded-for': '10.0.0.1' })
  now += 50_000
  t.equal((await guess('10.0.0.1')).status, 401, 'a minute later')
  await until(async () => (await consoleLines(admin)).length === 8)
  const lines = await consoleLines(admin)
  t.match(lines[0], {
    ...{ what: 'console.refused', by: 'gateway', before: null },
    after: { address: '10.0.0.1' },
  })
  t.equal(lines.filter(({ what }) => what === 'console.sign-in').length, 1)

  for (let i = 0; i < 200; i++) await guess(`10.1.0.${i}`)
  await until(async () => (await consoleLines(admin)).length === 101)
  now += hourMs
  await guess('10.2.0.1')
  await until(async () => (await consoleLines(admin)).length === 102)
  const [last] = (await consoleLines(admin)).toReversed()
  t.strictSame(last?.after, { address: '10.2.0.1', unsaid: 107 })

  for (const body of ['{', '[]', { token: 5 }, { tokn: 'canary-in-a-typo-1' }, `"${aliceToken}"`]) {
    const { status, text } = await operate('POST', '/console/session', body, own)
    t.equal(status, 400)
    t.notMatch(text, 'canary', text)
  }
  const extra = { token: aliceToken, more: aliceToken }
  const told = await operate('POST', '/console/session', extra, own)
  t.match(told, { status: 400, text: /with \\"token\\", and nothing else/ })
  const everything = [told.text, over.text, wrong.text, log, JSON.stringify(lines)].join()
  t.match(everything, 'console/session')
  t.notMatch(everything, 'canary')
  const audit = await ask('GET', '/admin/audit', undefined, {
    authorization: `Bearer ${aliceToken}`,
  })
  t.match(audit, { status: 200, text: /console\.refused/ })
  t.notMatch(audit.text, 'canary')
})

t.test('no page elsewhere signs its visitor in or out', async (t) => {
  const { operate, url } = await startAdmin(t, { tokens })
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const text = { 'content-type': 'text/plain' }
  const body = JSON.stringify({ token: aliceToken })
  const cross = { 'sec-fetch-site': 'cross-site', origin: 'https://page.example' }
  const old = { origin: 'https://page.example' }
  for (const sent of [form, text, {}]) {
    for (const from of [cross, old, { ...own, 'sec-fetch-site': 'same-site' }, {}]) {
      const { status, headers } = await operate('POST', '/console/session', body, {
        ...sent,
        ...from,
      })
      t.equal(status, 403)
      t.notOk(headers['set-cookie'])
    }
  }
  for (const type of [form, text]) {
    const { status } = await operate('POST', '/console/session', body, { ...own, ...type })
    t.equal(status, 415, 'forms can’t send JSON')
  }
  t.equal((await operate('POST', '/console/session?token=x', body, own)).status, 400)
  const { headers, answer } = await signIn(operate, aliceToken, { origin: url })
  t.equal(answer.status, 201)
  const out = await operate('DELETE', '/console/session', undefined, { ...headers, ...cross })
  t.equal(out.status, 403)
  t.notOk(out.headers['set-cookie'])
  const preflight = {
    ...{ origin: 'https://page.example', 'access-control-request-method': 'GET' },
    'access-control-request-headers': 'x-console-secret',
  }
  for (const path of ['/console/session', '/console/', '/admin/keys']) {
    const asked = await operate('OPTIONS', path, undefined, preflight)
    t.equal(asked.status, 405)
    const names = Object.keys({ ...asked.headers, ...answer.headers })
    t.notOk(
      names.some((name) => name.startsWith('access-control-')),
      'no CORS',
    )
  }
  const large = JSON.stringify({ token: 'x'.repeat(20_000) })
  t.equal((await operate('POST', '/console/session', large, own)).status, 413)
})

t.test('over https the cookie is Secure and __Host-, if a trusted proxy says so', async (t) => {
  const https = { 'x-forwarded-proto': 'https' }
  await t.test('a trusted one', async (t) => {
    const more = 'trustedProxies: [ 127.0.0.1 ]'
    const { operate, url } = await startAdmin(t, { tokens, more })
    const { headers, cookie, answer } = await signIn(operate, aliceToken, https)
    t.match(cookie, /^__Host-tollgate_console=/)
    const attributes = 'Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200'
    t.equal(answer.headers['set-cookie'], `${cookie}; ${attributes}`)
    const get = async (sent: Headers) =>
      (await operate('GET', '/console/session', undefined, sent)).status
    t.equal(await get(headers), 200)
    const plain = { ...headers, cookie: cookie.replace('__Host-', '') }
    t.equal(await get(plain), 401, 'a cookie that another port may have set')
    const anywhere = without(headers, 'sec-fetch-site')
    t.equal(await get({ ...anywhere, origin: url.replace('http', 'https') }), 200)
    t.equal(await get({ ...anywhere, origin: url }), 403)
  })
  await t.test('anybody else', async (t) => {
    const { operate } = await startAdmin(t, { tokens })
    const { cookie, headers } = await signIn(operate, aliceToken, https)
    t.match(cookie, /^tollgate_console=/)
    t.equal((await operate('GET', '/admin/keys', undefined, headers)).status, 200)
  })
})

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
const protective = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const typeByEnd: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** What browsers get of a file: a script without its types. */
function servedOf(name: string): string {
  const folders = [source, join(root, 'gateway/http/page')]
  const files = folders.map((folder) => join(folder, name.replace(/js$/, 'ts')))
  const text = readFileSync(files.find((file) => existsSync(file)) ?? '', 'utf8')
  if (!name.endsWith('.js')) return text
  const named = stripTypeScriptTypes(text).replace(/'(\.[^']+)\.ts'/g, "'$1.js'")
  return named.replace(
    /'(preact[^']*)'/g,
    (_all, to: string) => `'./vendor/${to.replace('/', '-')}.js'`,
  )
}

t.test('the page and its files are served from memory, and nothing beside them', async (t) => {
  const { operate, url } = await startAdmin(t, { tokens })
  t.match(await operate('GET', '/console'), { status: 308, headers: { location: '/console/' } })
  const page = await operate('GET', '/console/')
  t.match(page, { status: 200, headers: { ...protective, 'cache-control': 'no-store' } })
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  t.match(page.text, '<div id="app">')
  t.notMatch(page.text, /<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/, 'nothing inline')
  const named = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) => name)
  t.ok(named.length >= 2, named.join())
  for (const name of named) {
    t.match(name, /^[0-9a-f]{16}\//)
    const path = `/console/${name}`
    const plain = await operate('GET', path)
    const { etag } = plain.headers
    t.match(plain, { status: 200, headers: { ...protective, etag: /^"[0-9a-f]{16}-identity"$/ } })
    t.match(plain.headers, {
      ...{ 'cache-control': 'public, max-age=31536000, immutable', vary: 'Accept-Encoding' },
      'content-type': typeByEnd[name.slice(name.lastIndexOf('.'))],
    })
    t.equal(plain.text, servedOf(name.slice(17)), name)
    t.match(await operate('HEAD', path), { status: 200, text: '', headers: { etag } })
    const kept = await operate('GET', path, undefined, { 'if-none-match': `"x", ${String(etag)}` })
    t.match(kept, { status: 304, text: '', headers: { etag } })
    const other = await operate('GET', path, undefined, { 'if-none-match': '"x"' })
    t.equal(other.status, 200)
    for (const [accepted, encoding, unpack] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['GZIP;q=0.5, br;q=0', 'gzip', gunzipSync],
    ] as const) {
      const answer = await fetch(url + path, { headers: { 'accept-encoding': accepted } })
      t.equal(answer.headers.get('content-encoding'), encoding)
      t.match(answer.headers.get('etag'), `-${encoding}"`)
      const bytes = await rawBody(url, path, accepted)
      t.equal(unpack(bytes).toString(), plain.text, `${name} in ${encoding}`)
    }
  }
  const [first = ''] = named
  for (const path of [
    ...['/console/index.html', '/console/no-token.html', '/console/console.js', '/console/x'],
    ...['/console/session/', '/console//', '/Console/', `/console/${first}.map`],
    `/console/0123456789abcdef/${first.slice(17)}`,
  ]) {
    t.equal((await operate('GET', path)).status, 404, path)
  }
  for (const path of [
    '../app.js',
    '..%2fapp.js',
    '%2e%2e/app.js',
    '..\\app.js',
    'x/../../app.js',
  ]) {
    const target = `/console/${path}`
    const request = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
    t.match(await raw(url, request), /^HTTP\/1.1 40[04] /, target)
  }
  t.match(await operate('POST', '/console/'), { status: 405, headers: { allow: 'GET, HEAD' } })
  t.match(await operate('PUT', '/console/session'), {
    ...{ status: 405, headers: { allow: 'DELETE, GET, HEAD, POST' } },
  })
  t.equal((await operate('DELETE', `/console/${first}`)).status, 405)
  t.equal((await operate('GET', '/console/?key=Acme')).status, 200, 'queries are the page’s own')
})

/** The bytes of an answer's body as they were sent. */
async function rawBody(url: string, path: string, accepted: string): Promise<Buffer> {
  const lines = `Host: localhost\r\nAccept-Encoding: ${accepted}\r\nConnection: close`
  const text = await raw(url, `GET ${path} HTTP/1.1\r\n${lines}\r\n\r\n`, 5_000, 'latin1')
  return Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1')
}

t.test('files have new paths when one of them changes, and a folder may be missing', async (t) => {
  const index = '<script src="./pages/a.js"></script><a href="https://x/a.js">a.js</a>'
  const folder = (script: string) =>
    t.testdir({ 'index.html': index, 'a.js.map': '', 'a.d.ts': '', pages: { 'a.js': script } })
  const paths = (script: string) => [...new PageFolder(folder(script)).files.keys()]
  const [one = '', ...others] = paths('1')
  t.match(one, /^[0-9a-f]{16}\/pages\/a\.js$/)
  const digest = one.slice(0, 17)
  const shared = ['common.css', 'icon.svg', 'preact.js', 'preact-hooks.js', 'htm.js']
  t.strictSame(
    others,
    shared.map((name) => `${digest}${name.endsWith('.js') ? 'vendor/' : ''}${name}`),
    'what all pages share',
  )
  t.equal(paths('1')[0], one)
  t.not(paths('2')[0], one)
  const textOf = async (below?: string) =>
    String(await new PageFolder(folder('1')).page('index.html', below)?.bytes())
  t.equal(await textOf(), index.replace('./pages/a.js', one))
  t.equal(await textOf('docs/'), index.replace('./pages/a.js', `docs/${one}`))
  const none = new PageFolder(join(folder('1'), 'none'))
  t.equal(none.files.size, 0)
  t.equal(none.page('index.html'), undefined)
})

t.test('without ADMIN_TOKEN the page says how to set one, and nothing else is there', async (t) => {
  const { operate } = await startAdmin(t, { tokens: '' })
  const page = await operate('GET', '/console/')
  t.match(page, { status: 200, headers: { ...protective, 'cache-control': 'no-store' } })
  t.match(page.text, /ADMIN_TOKEN=alice:TOKEN/)
  t.notMatch(page.text, /<script|<link|<form|<input/)
  for (const method of ['GET', 'POST', 'DELETE']) {
    const { status, text, headers } = await operate(method, '/console/session', undefined, own)
    t.match({ status, text }, { status: 403, text: /no ADMIN_TOKEN is set/ }, method)
    t.notOk(headers['set-cookie'])
  }
  for (const name of readdirSync(source)) {
    t.equal((await operate('GET', `/console/${name}`)).status, 404)
  }
  const old = new Sessions(adminTokensFrom(tokens), Date.now).begin(0)
  const headers = {
    ...own,
    cookie: `tollgate_console=${old.cookie}`,
    'x-console-secret': old.secret,
  }
  t.equal((await operate('GET', '/admin/keys', undefined, headers)).status, 403)
})

t.test('an audit that can’t be written keeps nobody out, and is in the log', async (t) => {
  let log = ''
  const target = { write: (line: string) => void (log += line) }
  const { operate, gateway } = await startAdmin(t, { tokens, log: { level: 'error', target } })
  const file = openGatewayFile(gateway.config.store.file)
  t.teardown(() => file.close())
  file.exec('ALTER TABLE audit RENAME TO lost_audit')
  await signIn(operate)
  await until(() => /a sign-in at the console is missing in the audit/.test(log))
  t.notMatch(log, 'canary')
})
