import { createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { startAdmin } from '../support/admin.ts'
import { go, settled, startBrowser } from '../support/browser.ts'

const { test } = await startBrowser(t)

/** The address of a proxy that signs people in, here all as one. */
const proxyAddress = '127.0.0.2'

async function startProxy(t: Test, admin: string, name: string): Promise<string> {
  const { hostname, port } = new URL(admin)
  const proxy = createServer((incoming, answer) => {
    const { method, url: path, headers } = incoming
    const named = { ...headers, 'x-forwarded-user': name, authorization: 'Bearer of-the-proxy' }
    const options = { hostname, port, method, path, headers: named, localAddress: proxyAddress }
    const passed = ask(options, (given) => {
      answer.writeHead(given.statusCode ?? 502, given.headers)
      given.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    answer.on('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://localhost:${(proxy.address() as AddressInfo).port}`
}

test('whom a proxy names works in the console without a token, under that name', async (t, open) => {
  const trust = `{ from: [ ${proxyAddress} ], header: X-Forwarded-User, roles: { sam@example.com: all } }`
  const admin = await startAdmin(t, {
    admin: `{ host: 127.0.0.1, port: 0, trust: ${trust} }`,
    tokens: '',
  })
  const url = await startProxy(t, admin.url, 'sam@example.com')
  const page = await open(url, { token: '', place: 'keys' })
  await page.getByText('sam@example.com').first().waitFor()
  await settled(page)
  t.notOk(await page.getByLabel('Admin token').isVisible())
  t.equal(await page.getByRole('button', { name: 'Sign out' }).count(), 0)
  const status = await page.evaluate(`fetch('/admin/keys', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Acme', plan: 'free' }),
  }).then(({ status }) => status)`)
  t.equal(status, 201)
  t.match(await admin.gateway.stores.audit.list({ fromMs: 0, limit: 9 }), [
    { what: 'keys.create', by: 'sam@example.com' },
  ])
  await go(page, 'audit')
  await page.getByRole('main').getByText('sam@example.com').first().waitFor()

  const stranger = await startProxy(t, admin.url, 'eve@example.com')
  const refused = await open(stranger, { token: '', expected: /^403 GET \/console\/session$/ })
  await refused.getByText('admin.trust names no role for eve@example.com.').waitFor()
})

test('a page of another origin changes nothing in the name of whom the proxy knows', async (t, open) => {
  const trust = `{ from: [ ${proxyAddress} ], header: X-Forwarded-User, roles: { '*': all } }`
  const admin = await startAdmin(t, { admin: `{ host: 127.0.0.1, port: 0, trust: ${trust} }` })
  const url = await startProxy(t, admin.url, 'sam@example.com')
  const other = createServer((_request, answer) =>
    answer.setHeader('content-type', 'text/html').end('<title>other</title>'),
  )
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const page = await open(`http://localhost:${(other.address() as AddressInfo).port}`, {
    ...{ token: '', at: '/' },
    expected: /another host|403|ERR_|CORS|console:/,
  })
  for (const [path, body] of [
    ['/admin/keys', '{"name":"Evil","plan":"free"}'],
    ['/admin/config/reload', ''],
  ]) {
    await page.evaluate(
      `fetch(${JSON.stringify(url + path)}, { method: 'POST', mode: 'no-cors', credentials: 'include', body: ${JSON.stringify(body)} }).catch(() => undefined)`,
    )
  }
  t.strictSame(await admin.gateway.stores.audit.list({ fromMs: 0, limit: 9 }), [])
})
