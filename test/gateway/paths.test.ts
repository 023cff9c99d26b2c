import t from 'tap'
import type { Config } from '../../gateway/front/config/config.ts'
import { pathFinder } from '../../gateway/front/http/path-finder.ts'
import { patternTest, plainTarget, readingsOf } from '../../gateway/front/http/paths.ts'
import { configOf } from '../../gateway/office/config/load.ts'
import { raw } from '../support/http.ts'
import { startGateway } from '../support/gateway.ts'
import { appOfCosts } from '../support/routes.ts'
import { seeded } from '../support/seeded.ts'

t.test('a path means one thing only', (t) => {
  for (const path of [
    '/v1//pets',
    '//v1/pets',
    '/v1/./pets',
    '/v1/../pets',
    '/v1/pets/.',
    '/v1/pets/..',
    '/v1/pets/..;/orders',
    '/v1/pets/..;x=1/orders',
    '/v1/.;/pets',
    '/v1/..;',
    '/v1/..%3b/pets',
    '/v1/..%3Bx/pets',
    '/v1/.%3b/pets',
    '/v1/%2e%2e;/pets',
    '/v1/%2e%2e%3b/pets',
    '/v1/.%2e;/pets',
    '/..;/x?y',
    '/v1\\pets',
    '/v1%2fpets',
    '/v1%2Fpets',
    '/v1%5cpets',
    '/v1/%2e%2e/x',
    '/v1/%2E/x',
    '/v1/%252e/x',
    '/v1/pets%00',
    '/v1/pets%0a',
    '/v1/pets%7F',
    '/v1/%zz',
    '/v1/%',
    '/v1/%4',
    '/v1/pets#x',
    '/v1/.#',
    'http://x/v1',
    '*',
    '',
  ]) {
    t.equal(plainTarget(path), undefined, path)
  }
  for (const [spelled, plain] of [
    ['/v1/pets', '/v1/pets'],
    ['/', '/'],
    ['/v1/%70ets', '/v1/pets'],
    ['/%76%31/%70%65%74%73/%31', '/v1/pets/1'],
    ['/v1/%5Fa%2D%7e', '/v1/_a-~'],
    ['/v1/pets/a%20b%C3%A9%3F%23%3b', '/v1/pets/a%20b%C3%A9%3F%23%3b'],
    ['/v1/pets/.hidden/..x/x..', '/v1/pets/.hidden/..x/x..'],
    ['/v1/pets;x=1/...;/a..;/;../1?/..;/', '/v1/pets;x=1/...;/a..;/;../1?/..;/'],
    ['/v1/%70ets?a=%2F..//&b=%zz#x', '/v1/pets?a=%2F..//&b=%zz#x'],
  ] as const) {
    t.equal(plainTarget(spelled), plain, spelled)
  }
  for (let code = 0; code < 256; code++) {
    const escape = `%${code.toString(16).padStart(2, '0')}`
    const plain = plainTarget(`/${escape}`)
    const character = String.fromCharCode(code)
    if (/[A-Za-z0-9_~-]/.test(character)) t.equal(plain, `/${character}`, escape)
    else if (/[/\\.%]/.test(character) || code < 32 || code === 127)
      t.equal(plain, undefined, escape)
    else t.equal(plain, `/${escape}`, escape)
  }
  t.end()
})

t.test('a path is read decoded once, and in several ways where servers may differ', (t) => {
  for (const [path, ...readings] of [
    ['/v1/pets/1', '/v1/pets/1'],
    ['/v1/ann%40x%2c%3b', '/v1/ann@x,;'],
    ['/v1/gr%C3%B6%c3%9fe', '/v1/größe'],
    ['/v1/c%23', '/v1/c#', '/v1/c'],
    ['/v1/c%3Fa%23', '/v1/c?a#', '/v1/c'],
  ] as const) {
    t.strictSame(readingsOf(path), readings, path)
  }
  const fits = patternTest(['/v1/pets/*', '/v1/a.c/{id}'])
  for (const path of ['/v1/pets/', '/v1/pets/1/x', '/v1/a.c/5']) t.ok(fits(path), path)
  for (const path of ['/v1/pets', '/v1/abc/5', '/v1/a.c/5/6']) t.notOk(fits(path), path)
  t.end()
})

t.test('what has no one meaning is refused before anybody looks at it, and counted', async (t) => {
  const { url, key, upstream } = await startGateway(t, {
    more: 'strangers: { perMinute: 13, perDay: 1000 }',
  })
  const { token } = await key()
  const ask = (target: string) =>
    raw(
      url,
      `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    )
  const bad = [
    '/v1//pets',
    '/v1/../pets',
    '/v1/pets/..;/orders',
    '/v1/%2e%2e/x',
    '/v1%2fpets',
    '/v1/%252e',
    '/v1/pets%00',
    '/v1/%zz',
    '/v1\\pets',
    '/v1/pets#x',
    '//10.0.0.1/v1',
    '/v1/.#',
  ]
  for (const path of bad) {
    const answer = await ask(path)
    t.match(answer, /^HTTP\/1\.1 400 [^]*"code":"invalid_request"/, path)
    t.match(answer, /^x-ratelimit-limit: 13\r$/m, path)
  }
  t.match(await ask('http://x/v1/pets'), /^HTTP\/1\.1 400/)
  t.match(await ask('/v1//pets'), /^HTTP\/1\.1 429 /, 'and counted against the address')
  t.equal(upstream.seen.length, 0, 'nothing reached the backend')
  t.match(await ask('/%76%31/%70ets/1?a=%70//..&b=1'), /^HTTP\/1\.1 200/)
  t.equal(
    upstream.seen[0]?.url,
    '/v1/pets/1?a=%70//..&b=1',
    'decoded once, the query byte for byte',
  )
})

t.test('of the paths that fit a request, the one with the more exact segment is its route', (t) => {
  const paths = ['/', '/a', '/a/', '/a/*', '/a/{x}', '/a/b', '/a/{x}/c', '/a/b/*', '/{y}/d', '/e/*']
  const find = pathFinder(paths.map((path) => ({ path })))
  for (const [path, expected] of [
    ['/', '/'],
    ['/a', '/a'],
    ['/a/', '/a/'],
    ['/a/b', '/a/b'],
    ['/a/%62', '/a/b'],
    ['/a/z', '/a/{x}'],
    ['/a/d', '/a/{x}'],
    ['/z/d', '/{y}/d'],
    ['/a/z/c', '/a/{x}/c'],
    ['/a/b/c', '/a/b/*'],
    ['/a/b/', '/a/b/*'],
    ['/a/z/z', '/a/*'],
    ['/a/z/c/z', '/a/*'],
    ['/e/', '/e/*'],
    ['/e', undefined],
    ['/z/', undefined],
    ['/a//', '/a/*'],
    ['/__proto__', undefined],
    ['/constructor/d', '/{y}/d'],
    ['*', undefined],
    ['http://host/a', undefined],
  ] as const) {
    t.equal(find(readingsOf(path)[0])?.path, expected, path)
  }
  t.end()
})

t.test('a gateway finds the route that Fastify’s router finds in an app', async (t) => {
  const random = seeded(5)
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item
  let compared = 0
  for (let table = 0; table < 15; table++) {
    const written = Array.from({ length: 1 + random(7) }, (_, i) => {
      const parts = Array.from({ length: 1 + random(3) }, () =>
        pick(['a', 'b', 'a', 'a@b', '{x}', '{y}']),
      )
      const path = `/${parts.join('/')}${pick(['', '', '/*'])}`
      const methods = pick([undefined, undefined, ['GET'], ['POST', 'PUT']])
      return { path, upstream: 'u', cost: i, ...(methods ? { methods } : {}) }
    })
    let config: Config
    try {
      config = configOf({
        ...{ store: { file: 'unused.db' }, plans: { free: 'custom' as const } },
        upstreams: { u: { targets: ['http://127.0.0.1:1'] } },
        routes: table % 3 === 0 ? [...written, { path: '/*', upstream: 'u', cost: 50 }] : written,
      })
    } catch {
      // Two routes for the same requests.
      continue
    }
    const alone = await appOfCosts(t, config, true)
    const app = await appOfCosts(t, config, false)
    for (let i = 0; i < 80; i++) {
      const url = pick([
        ...Array.from({ length: 5 }, () =>
          Array.from(
            { length: 1 + random(4) },
            () => `/${pick(['a', 'b', 'c', 'x%20y', 'a@b'])}`,
          ).join(''),
        ),
        ...['/', '/a/', '/v1/quota', '/v1/usage'],
      ])
      const method = pick(['GET', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'] as const)
      if (!app.supportedMethods.includes(method)) continue
      const [own, other] = [await alone.inject({ method, url }), await app.inject({ method, url })]
      t.equal(own.body, other.body, `${method} ${url}: ${JSON.stringify(written)}`)
      compared++
    }
  }
  t.ok(compared > 500, `${compared} requests`)
})

t.test('a request that no route forwards costs as its path does', async (t) => {
  const config = configOf({
    ...{ store: { file: 'unused.db' }, plans: { free: 'custom' as const } },
    upstreams: { u: { targets: ['http://127.0.0.1:1'] } },
    routes: [
      { path: '/a', upstream: 'u', cost: 7, methods: ['GET'] },
      { path: '/{x}', upstream: 'u', cost: 3, methods: ['POST'] },
      { path: '/a', upstream: 'u', cost: 5, methods: ['PUT'] },
    ],
  })
  for (const isAlone of [true, false]) {
    const app = await appOfCosts(t, config, isAlone)
    for (const [method, url, cost, why] of [
      ['DELETE', '/a', 5, 'the cheapest of its routes'],
      ['GET', '/b', 3, 'its only route'],
      ['GET', '/b/c', 1, 'none is there'],
      ['GET', '/v1/quota', 0, 'the gateway’s own'],
      ['POST', '/v1/quota', 0, 'the gateway’s own, refused'],
    ] as const) {
      t.equal((await app.inject({ method, url })).body, String(cost), why)
    }
  }
})
