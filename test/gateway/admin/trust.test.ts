import { request as ask, type IncomingHttpHeaders } from 'node:http'
import t, { type Test } from 'tap'
import { settingsFrom } from '../../../gateway/process-settings.ts'
import { readConfig } from '../../../gateway/office/config/load.ts'
import { startAdmin } from '../../support/admin.ts'
import { configFor } from '../../support/gateway.ts'
import { folderOf } from '../../support/folder.ts'
import { token } from '../../support/operator.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The address of the test's proxy. All others of this machine are somebody else. */
const proxy = '127.0.0.2'

type Headers = Record<string, string | string[]>
type Answer = Readonly<{ status: number; headers: IncomingHttpHeaders; text: string }>

const trust = `{ from: [ ${proxy} ], header: X-Forwarded-User, roles: { sam@example.com: all, jörg: support, '*': read } }`
const adminOf = (trusted: string, more = '') =>
  `{ host: 127.0.0.1, port: 0, trust: ${trusted}${more} }`

/** Asks an address from one of this machine's addresses. */
function from(localAddress: string, base: string) {
  return (method: string, path: string, headers: Headers = {}, body?: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(base)
      const type = body ? { 'content-type': 'application/json' } : {}
      const options = {
        hostname,
        port,
        localAddress,
        method,
        path,
        headers: { ...type, ...headers },
      }
      const sent = ask(options, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }),
        )
      })
      sent.on('error', reject)
      // As bytes: a text would have Node write the headers in UTF-8, too.
      sent.end(body && Buffer.from(JSON.stringify(body)))
    })
}

async function startTrusting(t: Test, { admin = adminOf(trust), tokens = token } = {}) {
  const started = await startAdmin(t, {
    admin,
    tokens,
    more: 'strangers: { perMinute: 5, perDay: 5 }',
  })
  const audit = async () => started.gateway.stores.audit.list({ fromMs: 0, limit: 100 })
  return {
    ...started,
    audit,
    byProxy: from(proxy, started.url),
    others: from('127.0.0.1', started.url),
  }
}

const sam = { 'x-forwarded-user': 'sam@example.com' }
const own = { 'sec-fetch-site': 'same-origin' }
const key = { name: 'Acme', plan: 'free' }

t.test('a proxy says who it is, and the audit has the name', async (t) => {
  const { byProxy, others, url, audit } = await startTrusting(t)
  const seen = await byProxy('GET', '/admin/keys', sam)
  t.match(seen, {
    status: 200,
    headers: { 'cache-control': 'no-store', 'cross-origin-resource-policy': 'same-origin' },
  })
  t.equal((await byProxy('POST', '/admin/keys', { ...sam, ...own }, key)).status, 201)
  t.match(await audit(), [{ what: 'keys.create', by: 'sam@example.com' }])
  const bytes = Buffer.from('jörg').toString('latin1')
  const jörg = { ...own, 'x-forwarded-user': bytes }
  t.match(await byProxy('POST', '/admin/keys', jörg, key), {
    status: 403,
    text: /jörg has the role support/,
  })
  const anybody = { ...own, 'x-forwarded-user': 'eve@example.com' }
  t.equal((await byProxy('GET', '/admin/keys', anybody)).status, 200)
  t.match(await byProxy('POST', '/admin/keys', anybody, key), { status: 403, text: /role read/ })

  t.comment('from elsewhere the header is nothing')
  const lies = { 'x-forwarded-for': proxy, 'x-real-ip': proxy, forwarded: `for=${proxy}` }
  for (const headers of [sam, { ...sam, ...lies }, { ...sam, ...own, origin: url }]) {
    t.equal((await others('GET', '/admin/keys', headers)).status, 401)
  }
  t.equal((await byProxy('GET', '/admin/keys')).status, 401, 'nor is the proxy anybody without it')
})

t.test('each change by the header alone is of a page of this address', async (t) => {
  const { byProxy, url, audit } = await startTrusting(t, {
    admin: adminOf(trust, ', hosts: [ admin.example ]'),
  })
  const change = (headers: Headers) => byProxy('POST', '/admin/keys', { ...sam, ...headers }, key)
  const foreign: Headers[] = [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-site', origin: url },
    { origin: 'null' },
    { origin: 'https://evil.example' },
    { origin: url.replace('http:', 'https:') },
    { origin: `${url}.evil.example` },
    { cookie: 'proxy=session' },
    { 'x-console-secret': 'guessed' },
  ]
  for (const headers of foreign) {
    const { status } = await change(headers)
    t.equal(status, 403, JSON.stringify(headers))
  }
  t.equal((await audit()).length, 0)
  t.equal((await change({ origin: url })).status, 201)
  t.equal((await change({ ...own, host: 'admin.example' })).status, 201)
  t.equal((await change({ ...own, host: 'evil.example' })).status, 421, 'nor by another name')
  for (const [method, path] of [
    ['PUT', '/admin/bans/x'],
    ['PATCH', '/admin/keys/x'],
    ['DELETE', '/admin/bans/x'],
    ['POST', '/admin/config/reload'],
  ] as const) {
    t.equal((await byProxy(method, path, sam)).status, 403, `${method} ${path}`)
  }
})

t.test('a header that names nobody, or two, lets nobody in', async (t) => {
  const { byProxy } = await startTrusting(t)
  const as = (value: string | string[]) =>
    byProxy('GET', '/admin/keys', { 'x-forwarded-user': value })
  const latin = (text: string) => Buffer.from(text).toString('latin1')
  const names = [
    '',
    ' ',
    'x'.repeat(129),
    latin('ä'.repeat(129)),
    'J\xf6rg',
    'a\tb',
    latin('a\u200eb'),
    latin('a\u2028b'),
  ]
  for (const name of names) {
    const { status, headers } = await as(name)
    t.equal(status, 401, JSON.stringify(name))
    t.match(headers, { 'www-authenticate': /^Bearer/ })
  }
  t.equal((await as(['sam@example.com', 'sam@example.com'])).status, 401, 'twice')
  t.equal((await as(['eve', 'sam@example.com'])).status, 401)
  t.equal((await as(latin('ä'.repeat(128)))).status, 200)
  t.equal((await as('x'.repeat(128))).status, 200)
  for (const name of ['__proto__', 'constructor', 'SAM@EXAMPLE.COM', 'eve, sam@example.com']) {
    const made = await byProxy('POST', '/admin/keys', { ...own, 'x-forwarded-user': name }, key)
    t.match(made, { status: 403, text: /has the role read/ }, name)
  }
})

t.test('who isn’t named gets 403, where nobody stands for all others', async (t) => {
  const named = `{ from: [ ${proxy} ], header: x-user, roles: { sam: read } }`
  const { byProxy } = await startTrusting(t, { admin: adminOf(named) })
  t.equal((await byProxy('GET', '/admin/keys', { 'X-User': 'sam' })).status, 200)
  for (const name of ['eve', '*', '__proto__']) {
    t.equal((await byProxy('GET', '/admin/keys', { 'x-user': name })).status, 403, name)
  }
})

t.test('a valid token goes first; any other Authorization of the proxy is no guess', async (t) => {
  const { byProxy, others, audit } = await startTrusting(t, { tokens: `alice:${token}` })
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
  t.equal((await byProxy('POST', '/admin/keys', { ...sam, ...bearer(token) }, key)).status, 201)
  t.match(await audit(), [{ by: 'alice' }])
  for (let i = 0; i < 10; i++) {
    t.equal(
      (await byProxy('GET', '/admin/keys', { ...sam, ...bearer('of-the-proxy') })).status,
      200,
    )
  }
  t.equal((await byProxy('GET', '/admin/keys')).headers['retry-after'], undefined)
  for (let i = 0; i < 7; i++) await others('GET', '/admin/keys', { ...sam, ...bearer('guess') })
  t.equal((await others('GET', '/admin/keys', { ...sam, ...bearer('guess') })).status, 429)
})

t.test('the console asks for no token', async (t) => {
  const { byProxy, others } = await startTrusting(t, { tokens: '' })
  const page = await byProxy('GET', '/console/', sam)
  t.match(page, {
    status: 200,
    text: /<body data-named>/,
    headers: { 'cache-control': 'no-store' },
  })
  const session = await byProxy('GET', '/console/session', { ...sam, ...own })
  t.equal(session.status, 200)
  t.strictSame(JSON.parse(session.text), { name: 'sam@example.com', role: 'all', endsAt: null })
  t.equal(
    (await byProxy('GET', '/console/session', sam)).status,
    403,
    'another page learns nothing',
  )
  t.notMatch((await others('GET', '/console/', sam)).text, 'data-named')
  t.equal((await others('GET', '/console/session', { ...sam, ...own })).status, 401)
  t.equal(
    (await others('GET', '/admin/keys', sam)).status,
    403,
    'without tokens, nobody else is let in',
  )
})

t.test('a reload changes whom it trusts', async (t) => {
  const { byProxy, ask: operate, write } = await startTrusting(t)
  const changed = async (before: string, after: string) => {
    write((text) => text.replace(before, after))
    return JSON.parse((await operate('POST', '/admin/config/reload')).text) as object
  }
  t.match(await changed('sam@example.com: all', 'sam@example.com: read'), { result: 'changed' })
  t.equal((await byProxy('POST', '/admin/keys', { ...sam, ...own }, key)).status, 403)
  t.match(await changed(`from: [ ${proxy} ]`, 'from: [ 10.0.0.5 ]'), { result: 'changed' })
  t.equal((await byProxy('GET', '/admin/keys', sam)).status, 401)
  t.match(await changed('host: 127.0.0.1, port: 0, trust', 'host: 127.0.0.3, port: 0, trust'), {
    status: 409,
  })
})

t.test('an address that others reach needs a token, or such a proxy', (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'x.yaml')
  const write = (admin: string): void =>
    writeFileSync(
      file,
      configFor('http://127.0.0.1:1', `file: ${join(folder, 'gateway.db')}`, { admin }),
    )
  const start = () => settingsFrom({ TOLLGATE_CONFIG: file }, { write: () => true })
  const warnings = () => readConfig(file, {}).warnings
  write('{ host: 0.0.0.0 }')
  t.throws(start, { message: /set ADMIN_TOKEN or admin\.trust, or take 127\.0\.0\.1/ })
  const trusted = (ranges: string) =>
    write(`{ host: 0.0.0.0, trust: { from: [ ${ranges} ], header: X-User, roles: { '*': all } } }`)
  trusted('10.0.0.5')
  t.doesNotThrow(start)
  t.strictSame(warnings(), [])
  for (const range of ['127.0.0.1', '127.0.0.0/8', '0.0.0.0/0', '"::1"', '"::/0"']) {
    trusted(`10.0.0.5, ${range}`)
    t.match(warnings(), [/admin\.trust\.from\[1\] has this machine's own address/], range)
  }
  t.end()
})
