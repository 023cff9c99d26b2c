import t from 'tap'
import { Sessions } from '../../../gateway/office/admin/session.ts'
import { adminTokensFrom } from '../../../gateway/office/admin/token.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { startAdmin } from '../../support/admin.ts'
import {
  aliceToken,
  bobToken,
  consoleLines,
  cookieIn,
  own,
  signIn,
  tokens,
  without,
  type Headers,
} from '../../support/console-session.ts'
import { json, type Call } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

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
  const bobs = new Sessions(() => adminTokensFrom(`bob:another-token-0123456789`), Date.now).begin(
    0,
  )
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
    const eveToken = 'canary-token-of-eve-5555555555'
    let logs = ''
    const common = {
      store: `redis: "${redis.url}"`,
      admin: '\n  host: 0.0.0.0\n  port: 0\n  hosts: [ ops.example ]',
      log: { level: 'info', target: { write: (line: string) => void (logs += line) } },
    } as const
    const { operate: one } = await startAdmin(t, {
      ...common,
      tokens: `${tokens},eve:${eveToken}`,
    })
    const { operate: two } = await startAdmin(t, {
      ...common,
      tokens: `alice:${aliceToken},bob/read:${bobToken}`,
    })
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
    t.match(logs, '"path":"/console/session"')
    t.match(logs, '"by":"alice"')
    for (const token of [aliceToken, bobToken, eveToken]) t.notOk(logs.includes(token))
  },
)

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

t.test('an audit that can’t be written keeps nobody out, and is in the log', async (t) => {
  let log = ''
  const target = { write: (line: string) => void (log += line) }
  const { operate, gateway } = await startAdmin(t, { tokens, log: { level: 'error', target } })
  const file = openGatewayFile(gateway.config.store.file)
  t.teardown(() => file.close())
  file.exec('DROP TABLE list_audit')
  await signIn(operate)
  await until(() => /a sign-in at the console is missing in the audit/.test(log))
  t.notMatch(log, 'canary')
})
