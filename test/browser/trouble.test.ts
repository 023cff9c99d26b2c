import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startAdmin } from '../support/admin.ts'
import { go, pressAction, settled, signIn, startBrowser } from '../support/browser.ts'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { start, token } from '../support/operator.ts'
import { startProcess } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const { browser, test } = await startBrowser(t)

/** The connection of a gateway that ends, or that isn't there. */
const noAnswer = /^net::ERR_(?:CONNECTION_|EMPTY_RESPONSE|INCOMPLETE_CHUNKED|SOCKET)/

test('a store that freezes is told, its numbers stay with their age, and it comes back', async (t, open) => {
  const redis = await startRedis(t)
  t.teardown(() => redis.child().kill('SIGCONT'))
  const store = `redis: "${redis.url}", timeout: 500ms`
  const { url, gateway } = await startAdmin(t, { store })
  const { key } = await gateway.key({ name: 'Acme' })
  const page = await open(url, { place: `keys/${key.id}`, expected: /^(?:503 GET|net::ERR_)/ })
  const use = page.getByText('of 60', { exact: false }).first()
  await use.waitFor()
  await pressAction(page, 'Rotate the token')
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  const shown = page.locator('dialog .token')
  await shown.waitFor()
  redis.child().kill('SIGSTOP')
  const banner = page.getByText(/^As of \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ: /).first()
  await banner.waitFor()
  t.match(await banner.innerText(), /store/)
  t.ok(await use.isVisible(), 'the numbers stay')
  t.ok(await page.locator('.stale', { has: use }).count(), 'and look old')
  t.ok(await shown.isVisible(), 'a token that is shown once stays')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name: 'Now' }).click()
  await page.getByText('The store is out of reach').first().waitFor()
  redis.child().kill('SIGCONT')
  await page.getByText('The store is out of reach').first().waitFor({ state: 'hidden' })
  await go(page, `keys/${key.id}`)
  await banner.waitFor({ state: 'hidden' })
  await use.waitFor()
})

/** A gateway in a process of its own, which a test may end and start again. */
async function startAgain(t: Test, tokens = token) {
  const redis = await startRedis(t)
  const upstream = await startUpstream(t)
  const one = await start(t, {
    upstream: upstream.url,
    store: `redis: "${redis.url}"`,
    environments: [{ ADMIN_TOKEN: tokens }],
  })
  const end = async (): Promise<void> => {
    one.gateway.signal('SIGTERM')
    await one.gateway.ended
  }
  const again = async (ADMIN_TOKEN = tokens): Promise<void> => {
    const env = { TOLLGATE_CONFIG: one.file, LOG_LEVEL: 'warn', ADMIN_TOKEN }
    await startProcess(t, 'gateway/main.ts', { env }).url
  }
  return { ...one, end, again }
}

test('a gateway that restarts is missed, and found again without a reload or a sign-in', async (t, open) => {
  const { admin, end, again } = await startAgain(t)
  // On a busy machine the page may come back before the office's thread has begun.
  const expected = new RegExp(`${noAnswer.source}|^503 GET /admin/`)
  const page = await open(admin, { place: 'backends', expected })
  await settled(page)
  await page.evaluate('globalThis.isSamePage = true')
  await end()
  const missing = page.getByText('The gateway doesn’t answer').first()
  await missing.waitFor()
  await again()
  await missing.waitFor({ state: 'hidden' })
  await go(page, 'audit')
  t.equal(await page.getByRole('alert').count(), 0)
  t.equal(await page.evaluate('globalThis.isSamePage'), true)
})

test('a token that is taken away ends its session with the next request', async (t, open) => {
  const other = 'token-of-one-who-leaves'
  const { admin, end, again } = await startAgain(t, `alice:${token},bob/support:${other}`)
  const page = await open(admin, { token: other, expected: /^401 GET|^503 GET|^net::ERR_/ })
  await page.getByText('bob').waitFor()
  await end()
  const endedAtMs = Date.now()
  const statuses: number[] = []
  page.on('response', (response) => {
    const isLater = response.request().timing().startTime >= endedAtMs
    if (isLater && response.url().startsWith(`${admin}/admin`)) statuses.push(response.status())
  })
  await again(`alice:${token}`)
  await page.getByLabel('Admin token').waitFor()
  t.ok(statuses.length > 0)
  t.strictSame(
    statuses.filter((status) => status === 200),
    [],
    'nothing more was told',
  )
  t.notMatch(await page.locator('body').innerText(), /bob/)
  await signIn(page)
  await page.getByText('alice').waitFor()
})

test('a file with mistakes is told with its line, and the one before stays in force', async (t, open) => {
  const { url, ask, write, file } = await startAdmin(t)
  const page = await open(url, { place: 'configuration' })
  await settled(page)
  t.equal(await page.getByRole('alert').count(), 0)
  write((text) => text.replace('perMinute: 60', 'perMinute: 6O'))
  await ask('POST', '/admin/config/reload')
  const mistake = page.getByRole('alert').getByText(/gateway\.yaml:\d+:\d+: plans\.free\.perMinute/)
  await mistake.waitFor()
  await go(page, 'now')
  await page
    .getByRole('alert')
    .getByText(/mistake/)
    .waitFor()
  write((text) => text.replace('perMinute: 6O', 'perMinute: 60'))
  await ask('POST', '/admin/config/reload')
  await go(page, 'configuration')
  await mistake.waitFor({ state: 'hidden' })
  const wrong = Array.from({ length: 130 }, (_, i) => `x${i}: 1\n`).join('')
  write((text) => text + wrong)
  await ask('POST', '/admin/config/reload')
  await page.getByRole('alert').getByText('and 30 more', { exact: true }).first().waitFor()
  write((text) => text.replace(wrong, ''))
  await ask('POST', '/admin/config/reload')
  t.ok(await page.getByText(file).first().isVisible())
})

test('one of three gateways that is silent is missed', async (t, open) => {
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}"`
  const one = await startAdmin(t, { store })
  const { upstream } = one.gateway
  await startAdmin(t, { store, upstream })
  const fleet = await startFleet(t, { upstream: upstream.url, store })
  const child = fleet.processes[0]?.child
  await until(() => one.gateway.stores.fleet.size === 3)
  const refused = await one.gateway.call('GET', '/v1/x', undefined, { 'x-request-id': 'order-66' })
  t.equal(refused.status, 401)
  await until(async () => (await one.ask('GET', '/admin/requests/order-66')).status === 200)
  const page = await open(one.url)
  // After five seconds of silence it is gone, and not missed any more.
  await until(async () => {
    child?.kill('SIGSTOP')
    await go(page, 'requests/order-66')
    const isMissed = await page.getByText('2 of 3 gateways answered').isVisible()
    if (!isMissed) child?.kill('SIGCONT')
    if (!isMissed) await go(page, 'now')
    return isMissed
  })
  t.match(await page.locator('main').innerText(), /401 missing_api_key/)
})

/** A server of somebody else on another port of this host; `page` is what its page does. */
async function startOther(t: Test, page: string) {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    response.setHeader('content-type', 'text/html').end(`<!doctype html>${page}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

/** The attempts of a page on another port; each gives what it got, which must be nothing. */
const attempts: Readonly<Record<string, string>> = {
  'a fetch that reads': `(await fetch(U + '/admin/keys', { credentials: 'include' })).status`,
  'a fetch that sends': `(await fetch(U + '/admin/keys', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: B })).status`,
  'a fetch with a secret': `(await fetch(U + '/admin/keys', { credentials: 'include', headers: { 'x-console-secret': 'guess' } })).status`,
  'a blind fetch': `(await fetch(U + '/admin/keys', { mode: 'no-cors', credentials: 'include' })).status || undefined`,
  'a blind fetch that sends': `(await fetch(U + '/admin/keys', { method: 'POST', mode: 'no-cors', credentials: 'include', body: B })).status || undefined`,
  'a sign-in': `(await fetch(U + '/console/session', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '{}' })).status`,
  'an image': `await loaded('img', 'src', U + '/console/icon.svg')`,
  'a script': `await loaded('script', 'src', U + '/admin/keys')`,
  'a style': `await loaded('link', 'href', U + '/console/')`,
  'a frame': `(await loaded('iframe', 'src', U + '/console/'), [...document.querySelectorAll('iframe')].at(-1).contentDocument?.body?.innerText)`,
  'the events': `await opened(new EventSource(U + '/admin/live', { withCredentials: true }))`,
  'a socket': `await opened(new WebSocket(U.replace('http', 'ws') + '/admin/live'))`,
  'a cookie': `document.cookie || undefined`,
  'a window': `await new Promise((resolve) => {
    const other = window.open(U + '/console/')
    setTimeout(() => {
      try { resolve(other?.document?.title || undefined) } catch { resolve(undefined) }
    }, 300)
  })`,
}

const attack = `<body><form method="post" target="aim" enctype="text/plain"><input name='{"name":"Evil","plan":"free","note":"' value='"}'></form><iframe name="aim"></iframe>
<script>
const loaded = (tag, name, url) => new Promise((resolve) => {
  const element = document.createElement(tag)
  if (tag === 'link') element.rel = 'stylesheet'
  element.onload = () => resolve(tag === 'iframe' ? undefined : 'it loaded')
  element.onerror = () => resolve(undefined)
  element[name] = url
  document.body.append(element)
})
const opened = (source) => new Promise((resolve) => {
  source.onopen = source.onmessage = () => resolve('it opened')
  source.onerror = () => resolve(undefined)
})
const B = JSON.stringify({ name: 'Evil', plan: 'free' })
async function strike(U) {
  const tries = { ${Object.entries(attempts)
    .map(([name, code]) => `${JSON.stringify(name)}: async () => ${code}`)
    .join(',\n')} }
  const got = {}
  for (const [name, attempt] of Object.entries(tries)) {
    got[name] = String(await attempt().catch(() => undefined))
  }
  document.forms[0].action = U + '/admin/keys'
  document.forms[0].submit()
  return got
}
</script>`

test('a page on another port gets nothing, and does nothing, with the cookie of the operator', async (t, open) => {
  const { url, ask, gateway } = await startAdmin(t)
  await gateway.key({ name: 'Acme' })
  const page = await open(url, { place: 'keys' })
  await page.getByRole('link', { name: 'Acme' }).waitFor()
  const other = await startOther(t, attack)
  const foreign = await page.context().newPage()
  const answers: string[] = []
  foreign.on('response', (answer) => {
    if (answer.url().startsWith(`${url}/admin`)) answers.push(String(answer.status()))
  })
  await foreign.goto(other.url)
  const got = await foreign.evaluate<Record<string, string>>(`strike(${JSON.stringify(url)})`)
  for (const [name, what] of Object.entries(got)) t.equal(what, 'undefined', name)
  t.strictSame(Object.keys(got), Object.keys(attempts))
  await foreign.frameLocator('iframe[name=aim]').locator('body').waitFor({ state: 'attached' })
  t.ok(answers.length >= 3, answers.join(' '))
  t.strictSame(
    answers.filter((status) => !/^40[0135]$/.test(status)),
    [],
    'each was refused',
  )

  const cookie = String(other.seen.map(({ headers }) => headers.cookie).find(Boolean))
  t.match(cookie, /^tollgate_console=/, 'its own server gets the cookie')
  const secret = 'x'.repeat(43)
  for (const more of [{}, { 'sec-fetch-site': 'same-origin' }, { 'x-console-secret': secret }]) {
    const headers = { cookie, origin: url, 'sec-fetch-site': 'same-origin', ...more }
    const { status } = await caller(url)('GET', '/admin/keys', undefined, headers)
    t.equal(status, 401, JSON.stringify(more))
  }
  const names = (json(await ask('GET', '/admin/keys')) as unknown as { name: string }[]).map(
    ({ name }) => name,
  )
  t.strictSame(names, ['Acme'])
  await foreign.close()
  await page.reload()
  await page.getByRole('link', { name: 'Acme' }).waitFor()
})

test('over plain HTTP from another machine the page asks for no token, and says how to come', async (t, open) => {
  const admin = '{ host: 127.0.0.1, port: 0, hosts: [ rebound.example ] }'
  const { url } = await startAdmin(t, { admin })
  const { port } = new URL(url)
  const expected = /^console: The Cross-Origin-Opener-Policy header has been ignored/
  const page = await open(`http://rebound.example:${port}`, { token: '', expected })
  await page.getByText(`ssh -L ${port}:localhost:${port} rebound.example`).waitFor()
  t.equal(await page.locator('input').count(), 0)
})

test('a page in view keeps its session, a hidden one lets it end', async (t, open) => {
  const { url } = await startAdmin(t)
  const page = await open(url, { token: '', place: 'deprecations' })
  await page.clock.install()
  await signIn(page)
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.clock.fastForward('05:00')
  await until(() => asked.includes('/console/session'))
  await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: 'hidden' })`)
  asked.length = 0
  for (let i = 0; i < 12; i++) await page.clock.fastForward('05:00')
  t.strictSame(asked, [])
})

test('a name that somebody else leads here opens nothing', async (t) => {
  const { url } = await startAdmin(t)
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page: Page = await context.newPage()
  const { port } = new URL(url)
  for (const path of ['console/', 'admin/keys', 'readyz', 'console/session', 'metrics']) {
    const answer = await page.goto(`http://rebound.example:${port}/${path}`)
    t.equal(answer?.status(), 421, path)
    t.match(await answer?.text(), 'misdirected_request')
  }
})
