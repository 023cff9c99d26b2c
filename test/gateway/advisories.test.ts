import Sqlite from 'better-sqlite3'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { startStore } from '../support/backend.ts'
import { startGateway } from '../support/gateway.ts'
import { raw } from '../support/http.ts'
import { root } from '../support/process.ts'

// Advisories of the packages that we stand on, and of their neighbours, that no other test is about.

/** The first versions without what was found in the ones before. */
const floors: Readonly<Record<string, string>> = {
  fastify: '5.12.2',
  '@fastify/http-proxy': '11.6.2',
  '@fastify/reply-from': '12.6.4',
  undici: '7.30.0',
  'find-my-way': '9.7.0',
  ioredis: '4.27.8',
}

function isAtLeast(version: string, floor: string): boolean {
  const [a, b] = [version, floor].map((text) => text.split('.').map(Number))
  for (let i = 0; i < 3; i++) {
    if ((a?.[i] ?? 0) !== (b?.[i] ?? 0)) return (a?.[i] ?? 0) > (b?.[i] ?? 0)
  }
  return true
}

t.test('what is shipped has no hole that is known', (t) => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean }>
  }
  for (const [name, floor] of Object.entries(floors)) {
    const copies = Object.entries(lock.packages).filter(
      ([path, { dev }]) => !dev && path.endsWith(`node_modules/${name}`),
    )
    t.ok(copies.length > 0, name)
    for (const [path, { version }] of copies) {
      t.ok(isAtLeast(version, floor), `${path}: ${version}, at least ${floor}`)
    }
  }
  const { version } = createRequire(import.meta.url)('undici/package.json') as { version: string }
  t.ok(isAtLeast(version, floors['undici'] ?? ''))
  const database = new Sqlite(':memory:')
  const sqlite = String(database.prepare('SELECT sqlite_version()').pluck().get())
  database.close()
  t.ok(isAtLeast(sqlite, '3.53.2'), `SQLite ${sqlite}`)
  t.end()
})

t.test('the parts of undici that have had holes are not used', (t) => {
  const sources = readdirSync(join(root, 'gateway'), { recursive: true, encoding: 'utf8' })
  const parts =
    /ProxyAgent|BalancedPool|RetryAgent|interceptors|cacheStores|EnvHttpProxy|new WebSocket/
  const using = sources.filter(
    (file) => file.endsWith('.ts') && parts.test(readFileSync(join(root, 'gateway', file), 'utf8')),
  )
  t.strictSame(using, [])
  t.end()
})

t.test(
  'a type of a body means the same to the gateway and to its backend, or is refused',
  async (t) => {
    const { url, upstream, key } = await startGateway(t)
    const { token } = await key({ limits: { perMinute: 1_000, perDay: 1_000 } })
    const types = [
      'application/json',
      ' application/json',
      'application/json ',
      '\tapplication/json',
      'application/json;charset=utf-8',
      'application/json ; charset=utf-8',
      'application /json',
      'application/json, text/plain',
      'Application/JSON',
      'application/vnd.api+json',
      'text/plain\tapplication/json',
      'text/plain',
      'nonsense',
      'a/b/c',
      '*/*',
      '',
    ]
    for (const type of types) {
      const before = upstream.seen.length
      const answer = await raw(
        url,
        `POST /v1/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n` +
          `Content-Type:${type}\r\nContent-Length: 2\r\n\r\n{}`,
      )
      const passed = upstream.seen[before]
      if (passed) t.equal(passed.headers['content-type'], type.trim(), JSON.stringify(type))
      else t.match(answer, /^HTTP\/1\.1 4(?:00|15) /, JSON.stringify(type))
    }
    t.ok(upstream.seen.length >= 6, 'and honest ones pass')
  },
)

t.test('a body of many levels, or with names of old, hurts nobody', async (t) => {
  const store = await startStore(t)
  const { call, key } = await startGateway(t, { upstream: { url: store.url, seen: [] } })
  const { headers } = await key()
  const deep = `{"name":"Rex","categoryId":1,"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  const levels = await call('POST', '/v1/pets', deep, headers)
  t.match(levels, { status: 400, text: /more than 32 levels/ })
  for (const size of [65 * 1024, 200 * 1024, 1024 * 1024]) {
    const large = `{"name":"Rex","categoryId":1,"x":"${'x'.repeat(size - 34)}"}`
    t.equal((await call('POST', '/v1/pets', large, headers)).status, 413, `${size} bytes`)
  }
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    const body = `{"name":"Rex","categoryId":1,"${name}":{"status":"sold"}}`
    const answer = await call('POST', '/v1/pets', body, headers)
    t.ok(answer.status === 201 || answer.status === 400, `${name}: ${answer.status}`)
    t.notMatch(answer.text, /sold/)
  }
  t.equal(({} as Record<string, unknown>)['status'], undefined)
})
