import { once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { selfSigned } from '../../support/certificate.ts'
import { startCollector } from '../../support/collector.ts'
import { startForCaller } from '../../support/first-caller.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json, raw } from '../../support/http.ts'
import { tracing } from '../../support/spans.ts'
import { folderOf } from '../../support/folder.ts'

const bothOn = 'forward: { cookies: on, host: caller }'
const canary = 'c4n4ry'

t.test('cookies go to a backend that may have them, all but the console’s', async (t) => {
  const { upstream, ask } = await startForCaller(t, { upstreamMore: 'forward: { cookies: on }' })
  const cookieFor = async (...lines: string[]) => {
    t.match(await ask('GET /v1/x', lines.map((line) => `${line}\r\n`).join('')), /^HTTP\/1\.1 200/)
    return upstream.seen.at(-1)?.headers.cookie
  }
  t.equal(await cookieFor('Cookie: a=b; c="d e"'), 'a=b; c="d e"')
  t.equal(await cookieFor('Cookie: a=b', 'cookie: c=d'), 'a=b; c=d', 'of several lines')
  for (const own of [
    'tollgate_console=secret',
    '__Host-tollgate_console=secret',
    'tollgate_console = secret',
    'TOLLGATE_CONSOLE=secret',
    'tollgate_console',
  ]) {
    t.equal(await cookieFor(`Cookie: ${own}`), undefined, own)
    t.equal(await cookieFor(`Cookie: a=b; ${own}; c=d`), 'a=b; c=d', own)
    t.equal(await cookieFor(`Cookie: ${own};a=b`), 'a=b', own)
  }
  t.equal(await cookieFor('Cookie: my_tollgate_console=1'), 'my_tollgate_console=1')
  t.equal(await cookieFor('Cookie: a=b', 'Connection: cookie'), undefined, 'for one connection')
  t.equal(await cookieFor('_Cookie: a=b', 'Cookie-: a=b'), undefined, 'no other spelling')
  t.equal(upstream.seen.at(-1)?.headers.host, new URL(upstream.url).host, 'Host is the target’s')
})

t.test('a backend sets its cookies as they are, and never the console’s', async (t) => {
  const own = ['tollgate_console=x; Path=/', ' =tollgate_console=x', '__host-Tollgate_Console=x']
  const good = ['session=1; Domain=example.com; Path=/; HttpOnly', 'b=tollgate_console=']
  let sent: string[] = []
  const upstream = await startUpstream(t, (_request, response) => {
    response.setHeader('set-cookie', sent).end('{}')
  })
  for (const upstreamMore of ['forward: { cookies: on }', 'forward: { cookies: off }']) {
    const store = 'file: ":memory:"'
    const { get } = await startForCaller(t, { upstream, upstreamMore, store })
    sent = [...own, ...good]
    t.strictSame((await get('/v1/x')).headers['set-cookie'], good)
    sent = own.slice(0, 1)
    t.notOk((await get('/v1/x')).headers['set-cookie'])
  }
})

t.test('Host is the caller’s where the backend may know it', async (t) => {
  const { upstream, url, token, head } = await startForCaller(t, {
    upstreamMore: 'forward: { host: caller }',
  })
  const hostFor = async (bytes: string) => {
    t.match(await raw(url, bytes), /^HTTP\/1\.1 200/)
    return upstream.seen.at(-1)?.headers.host
  }
  t.equal(await hostFor(head('GET /v1/x')), 'x.example')
  t.equal(
    await hostFor(head('GET /v1/x').replace('x.example', 'Shop.example:8080')),
    'Shop.example:8080',
  )
  const old = `GET /v1/x HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n`
  t.equal(await hostFor(`${old}\r\n`), new URL(upstream.url).host, 'HTTP/1.0 without one')
  t.equal(await hostFor(`${old}Host: y.example\r\n\r\n`), 'y.example')
  t.notOk(upstream.seen.some(({ headers }) => headers.cookie !== undefined))
})

t.test('the name in TLS stays the target’s, and so do its connections', async (t) => {
  const { cert, key } = selfSigned()
  const names: unknown[] = []
  const hosts: unknown[] = []
  const server = createServer({ cert, key }, ({ headers, url }, response) => {
    if (url !== '/healthz') hosts.push(headers.host)
    response.end('{}')
  })
  server.on('secureConnection', ({ servername }) => names.push(servername))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const ca = join(folderOf(t), 'ca.pem')
  writeFileSync(ca, cert)
  for (const [host, name] of [
    ['localhost', 'localhost'],
    ['127.0.0.1', false],
  ] as const) {
    names.length = hosts.length = 0
    const { url, head, app } = await startForCaller(t, {
      targets: `[ "https://${host}:${port}" ]`,
      upstreamMore: `tls: { ca: "${ca}" }, ${bothOn}, health: { path: /healthz, every: 10ms }`,
      store: 'file: ":memory:"',
    })
    const asked = ['a.example', 'b.example', '127.0.0.2', 'a.example']
    for (const each of asked) {
      t.match(await raw(url, head('GET /v1/x').replace('x.example', each)), /^HTTP\/1\.1 200/)
    }
    t.strictSame(hosts, asked)
    t.ok(names.length <= 2, `${names.length} connections, with those of checks`)
    t.ok(
      names.every((each) => each === name),
      `the name is ${name}`,
    )
    await app.close()
  }
})

t.test('links to the caller’s host keep their scheme, and lead below the route', async (t) => {
  let location = ''
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(302, { location }).end()
  })
  const { get, url } = await startForCaller(t, {
    upstream,
    upstreamMore: bothOn,
    routes:
      '[ { path: /app/*, upstream: animals, rewrite: / }, { path: /v1/*, upstream: animals } ]',
  })
  const { host } = new URL(url)
  for (const [path, sent, told] of [
    ['/app/x', `http://${host}/login?to=/`, `http://${host}/app/login?to=/`],
    ['/app/x', `https://${host.toUpperCase()}/login`, `https://${host.toUpperCase()}/app/login`],
    ['/app/x', `http://${host}`, `http://${host}`],
    ['/app/x', `http://${host}//evil.example`, `http://${host}//evil.example`],
    ['/app/x', `http://${host}.evil.example/x`, `http://${host}.evil.example/x`],
    ['/app/x', `${upstream.url}/x`, '/app/x'],
    ['/v1/x', `https://${host}/v1/y`, `https://${host}/v1/y`],
  ] as const) {
    location = sent
    t.equal((await get(path)).headers['location'], told, `${path}: ${sent}`)
  }
})

t.test('a WebSocket has both', async (t) => {
  const server = createHttpServer().on('upgrade', ({ headers }, socket: Socket) => {
    socket.end(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${headers.host} ${headers.cookie}`,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { url, token } = await startForCaller(t, {
    targets: `[ "http://127.0.0.1:${port}" ]`,
    upstreamMore: bothOn,
  })
  const text = await raw(
    url,
    `GET /v1/x HTTP/1.1\r\nHost: x.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: a=b\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
  t.match(text, /\r\n\r\nx\.example a=b$/)
})

/** Answers that depend on a cookie, as those of an application with sessions. */
function byCookie(seen: (string | undefined)[]) {
  return ({ headers }: { headers: { cookie?: string | undefined } }, response: ServerResponse) => {
    seen.push(headers.cookie)
    const body = headers.cookie === undefined ? { login: true } : { name: 'me' }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  }
}

t.test('no other backend gets a cookie, and nothing shows one', async (t) => {
  const [presentSaw, nextSaw]: (string | undefined)[][] = [[], []]
  const present = await startUpstream(t, byCookie(presentSaw ?? []))
  const next = await startUpstream(t, byCookie(nextSaw ?? []))
  const collector = await startCollector(t)
  const log: string[] = []
  const admin = await startSeen(t, { present, collector, log })
  const { gateway, operate, ask } = admin
  const { headers } = await gateway.key()
  const get = (more: object) =>
    gateway.call('GET', '/v1/x', undefined, { ...headers, host: 'shop.example', ...more })
  t.match(json(await ask('POST', '/admin/upstreams/check', { url: next.url })), { fit: true })
  t.notOk([...(presentSaw ?? []), ...(nextSaw ?? [])].some(Boolean), 'checks and probes have none')

  for (let i = 0; i < 3; i++) t.match(await get({ cookie: `s=${canary}` }), { text: /"me"/ })
  t.match(await get({}), { text: /"login"/ })

  const shown = [
    (await operate('GET', '/metrics')).text,
    (await ask('GET', '/admin/audit')).text,
    ...log,
  ]
  await gateway.app.close()
  t.ok(collector.spans.length > 4)
  t.notMatch([...shown, JSON.stringify(collector.spans, asText)].join('\n'), canary)
})

function asText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

async function startSeen(
  t: Test,
  {
    present,
    collector,
    log,
  }: {
    present: Awaited<ReturnType<typeof startUpstream>>
    collector: Awaited<ReturnType<typeof startCollector>>
    log: string[]
  },
) {
  return startAdmin(t, {
    upstream: present,
    upstreamMore: `${bothOn}, health: { path: /healthz }, probes: [ { request: GET /v1/x } ]`,
    more: tracing(collector),
    log: { level: 'trace', target: { write: (line: string) => void log.push(line) } },
  })
}
