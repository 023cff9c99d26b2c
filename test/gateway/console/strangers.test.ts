import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { Sessions } from '../../../gateway/office/admin/session.ts'
import { adminTokensFrom } from '../../../gateway/office/admin/token.ts'
import { PageFolder } from '../../../gateway/front/http/page-files.ts'
import { startAdmin } from '../../support/admin.ts'
import { aliceToken, consoleLines, own, signIn, tokens } from '../../support/console-session.ts'
import { raw } from '../../support/http.ts'
import { root } from '../../support/process.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const source = join(root, 'gateway/office/admin/console')
const hourMs = 3_600_000

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
  t.strictSame(last?.after, { address: '10.2.0.1', droppedLines: 107 })

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

/** A file as browsers get it: a script without its types, and without the comments above things. */
function servedOf(name: string): string {
  const folders = [source, join(root, 'gateway/front/http/page')]
  const files = folders.map((folder) => join(folder, name.replace(/js$/, 'ts')))
  const text = readFileSync(files.find((file) => existsSync(file)) ?? '', 'utf8')
  if (!name.endsWith('.js')) return text
  const named = stripTypeScriptTypes(text.replace(/^[ \t]*\/\*\*[^]*?\*\/[ \t]*\n/gm, ''))
    .replace(/'\.\.[^']*\/http\/page\//g, "'./")
    .replace(/'(\.[^']+)\.ts'/g, "'$1.js'")
  return named.replace(
    /'(preact[^']*)'/g,
    (_all, to: string) => `'./vendor/${to.replace('/', '-')}.js'`,
  )
}

/** A text with one space where there are several. */
function spaced(text: string): string {
  return text.replace(/\s+/g, ' ')
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
    t.equal(spaced(plain.text), spaced(servedOf(name.slice(17))), name)
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
    folderOf(t, { 'index.html': index, 'a.js.map': '', 'a.d.ts': '', pages: { 'a.js': script } })
  const paths = (script: string) => [...new PageFolder(folder(script)).files.keys()]
  const [one = '', ...others] = paths('1')
  t.match(one, /^[0-9a-f]{16}\/pages\/a\.js$/)
  const digest = one.slice(0, 17)
  const shared = [
    ...['bars.js', 'columns.js', 'common.css', 'copy-button.js', 'days.js', 'format.js', 'html.js'],
    ...['icon.svg', 'sections.js', 'table.js', 'time.js', 'tokens.css', 'utc.js', 'windows.js'],
    'work.js',
  ]
  const packages = ['preact.js', 'preact-hooks.js', 'htm.js'].map((name) => `vendor/${name}`)
  t.strictSame(
    others,
    [...shared, ...packages].map((name) => `${digest}${name}`),
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
  const old = new Sessions(() => adminTokensFrom(tokens), Date.now).begin(0)
  const headers = {
    ...own,
    cookie: `tollgate_console=${old.cookie}`,
    'x-console-secret': old.secret,
  }
  t.equal((await operate('GET', '/admin/keys', undefined, headers)).status, 403)
})
