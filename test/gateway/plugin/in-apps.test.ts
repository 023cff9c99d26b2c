import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t from 'tap'
import { KeyDesk } from '../../../gateway/front/keys/key-desk.ts'
import { configOf } from '../../../gateway/office/config/load.ts'
import { serverOptions } from '../../../gateway/front/http/server-options.ts'
import { tollgate, type Refused, type TollgateOptions } from '../../../gateway/plugin.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { caller, json, raw } from '../../support/http.ts'
import { mine, serve, startApp } from '../../support/plugin.ts'
import { folderOf } from '../../support/folder.ts'

t.test(
  'an app has the pages for callers below its prefix, and routes of its own that are open',
  async (t) => {
    const { app, headers } = await startApp(t, async (app, { loaded, stores }) => {
      const document = '{"openapi":"3.1.0","info":{"title":"Mine"},"paths":{}}'
      const portal = { path: '/docs', document }
      const options = { loaded: loaded && { ...loaded, portal }, stores } as TollgateOptions
      const own = async (scope: FastifyInstance): Promise<void> => {
        await scope.register(tollgate, options)
        scope.get('/news', { config: { tollgate: 'open' } }, (request) => ({
          caller: request.tollgate?.caller?.id ?? null,
        }))
      }
      await app.register(own, { prefix: '/api' })
    })
    const ask = (url: string, more = {}) => app.inject({ url, headers: more })
    const news = await ask('/api/news', headers)
    t.match(news, { statusCode: 200, headers: { 'x-ratelimit-remaining': '60' } })
    t.equal(news.json().caller, null, 'a key makes no difference there')
    const page = await ask('/api/docs')
    const [, script = ''] = /src="([^"]+main\.js)"/.exec(page.body) ?? []
    t.equal((await ask(`/api/${script}`)).statusCode, 200, 'the page finds its files')
    const { headers: told } = await ask('/api/docs/')
    t.equal(new URL(String(told['location']), 'http://x/api/docs/').pathname, '/api/docs')
    t.match((await ask('/api/docs/openapi.json')).json(), { info: { title: 'Mine' } })
    t.match((await ask('/api/v1/usage', headers)).json(), { days: [] })
  },
)

t.test('what it is given wrong keeps the app from starting, with a sentence', async (t) => {
  const plans = { free: { perMinute: 60, perDay: 1000 } }
  const config = { plans, store: { file: ':memory:' }, routes: [] }
  const refused = async (
    options: unknown,
    sentence: RegExp,
    prepare: (app: FastifyInstance) => unknown = () => undefined,
    settings: object = {},
  ): Promise<void> => {
    const app = (Fastify as (settings: object) => FastifyInstance)(settings)
    await prepare(app)
    await t.rejects(async () => {
      await app.register(tollgate, options as TollgateOptions)
      await app.ready()
    }, sentence)
    await app.close()
  }
  await refused(undefined, /^Tollgate needs the option "config": the path/)
  await refused({ config, keyOf: 'x-api-key' }, /"keyOf" must be a function, got string/)
  await refused({ config: null }, /needs the option "config"/)
  await refused({ confg: config }, /has no option "confg": did you mean "config"\?/)
  await refused({ config, upstream: 1 }, /has no option "upstream": there are config, loaded/)
  await refused({ config, prefix: '/api' }, /takes no prefix: register it in a scope that has one/)
  await refused({ config, loaded: configOf(config) }, /either "config" or "loaded"/)
  await refused({ config: { ...config, planz: {} } }, /planz.*did you mean plans/)
  await refused({ config }, /speaks HTTP\/1\.1/, undefined, { http2: true })
  const twice = { config: { ...config, trustedProxies: ['10.0.0.0/8'] } }
  const oneOnly = /^trustedProxies must be left out: the app has trustProxy/
  await refused(twice, oneOnly, undefined, { trustProxy: '10.0.0.0/8' })
  await refused({ config }, /already: once is enough/, (app) => app.register(tollgate, { config }))
  await refused({ config }, /has a route GET \/v1\/quota.*quota\.path/, (app) =>
    app.get('/v1/quota', serve),
  )
  await refused({ config }, /GET \/mine: config\.tollgate must be .*, got "qouta"/, (app) =>
    // As somebody writes it without TypeScript.
    app.get('/mine', { config: { tollgate: 'qouta' as 'quota' } }, serve),
  )
  for (const [cost, found] of [
    [-1, '-1'],
    ['2', '"2"'],
    [1.5, '1.5'],
    [NaN, 'null'],
    [{ estimate: 0, from: 'answer' }, '{"estimate":0,"from":"answer"}'],
    [{ estimate: 5, from: 'body' }, '{"estimate":5,"from":"body"}'],
    [{ estimate: 5, from: 'answer', atMost: 4 }, '{"estimate":5,"from":"answer","atMost":4}'],
  ] as const) {
    await refused(
      { config },
      new RegExp(`GET /dear: config.cost must be a whole number from 0 on, or .*, got ${found}$`),
      (app) =>
        app.get('/dear', { config: { tollgate: true, cost: cost as unknown as number } }, serve),
    )
  }
})

t.test('what makes no sense in its configuration is a warning in the app’s log', async (t) => {
  const log: string[] = []
  const logger = { level: 'warn', stream: { write: (text: string) => void log.push(text) } }
  const app = Fastify({ logger })
  t.teardown(() => app.close())
  const plans = { free: { perMinute: 6_000, perDay: 1_000 } }
  await app.register(tollgate, { config: { plans, store: { file: ':memory:' }, routes: [] } })
  t.match(log.join(''), /"level":40.*"warning: plans\.free\.perMinute /)
})

t.test('refusals look like the app’s own errors, if it says how', async (t) => {
  const refuse = ({ code, message, status }: Refused, request: FastifyRequest) => {
    if (request.method === 'DELETE') throw new Error('of the app')
    return { mine: { code, message, status, path: request.url } }
  }
  const { app, log, headers } = await startApp(t, async (app, options) => {
    await app.register(tollgate, { ...options, refuse })
    app.get('/mine', mine, serve)
    app.get('/dear', { config: { tollgate: true, cost: 60 } }, serve)
    app.delete('/mine', mine, serve)
  })
  t.match((await app.inject('/mine')).json(), {
    mine: { code: 'missing_api_key', status: 401, path: '/mine' },
  })
  t.equal((await app.inject({ url: '/mine', headers })).body, 'OPEN')
  const late = await app.inject({ url: '/dear', headers })
  t.match(late, { statusCode: 429, headers: { 'x-ratelimit-remaining': '59' } })
  t.ok(Number(late.headers['retry-after']) > 0)
  t.match(late.json(), { mine: { code: 'rate_limit_exceeded' } })
  t.match((await app.inject({ method: 'PUT', url: '/v1/quota', headers })).json(), {
    mine: { code: 'method_not_allowed' },
  })
  t.match((await app.inject({ method: 'DELETE', url: '/mine' })).json(), {
    code: 'missing_api_key',
  })
  t.match(log[0], /"refuse\\" has thrown/)
})

t.test('a removed operation stays removed where the app’s router is lenient', async (t) => {
  const upstream = await startUpstream(t)
  const config = {
    plans: { free: { perMinute: 60, perDay: 1000 } },
    store: { file: join(folderOf(t), 'gateway.db') },
    upstreams: { animals: { targets: [upstream.url] } },
    routes: [{ path: '/v1/*', upstream: 'animals' }],
    deprecations: [
      { operation: 'GET /v1/Pets', since: '2020-01-01T00:00:00Z', sunset: '2021-01-01T00:00:00Z' },
    ],
  }
  const stores = await openStores(configOf(config).store)
  t.teardown(() => stores.close())
  const desk = new KeyDesk({ store: stores.keys, plans: configOf(config).plans, clock: Date.now })
  const { token } = await desk.create({ name: 'Me', plan: 'free' })
  const headers = { authorization: `Bearer ${token}` }
  const lax = { ignoreTrailingSlash: true, caseSensitive: false, useSemicolonDelimiter: true }
  for (const [prefix, routerOptions, urls] of [
    ['', lax, ['/v1/Pets', '/v1/pets', '/V1/PETS/', '/v1/pets;x=1', '/v1/%70ets']],
    ['/api', {}, ['/api/v1/Pets']],
    ['/api', lax, ['/api/v1/pets/', '/API/v1/pets']],
  ] as const) {
    const app = Fastify({ routerOptions })
    t.teardown(() => app.close())
    await app.register(async (scope) => void (await scope.register(tollgate, { config, stores })), {
      prefix,
    })
    for (const url of urls) t.equal((await app.inject({ url, headers })).statusCode, 410, url)
    t.equal((await app.inject({ url: `${prefix}/v1/orders`, headers })).statusCode, 200)
  }
})

t.test('what is matched is forwarded, and answers arrive', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => response.end('early'))
  const { config, stores, key } = await startGateway(t, { upstream })
  const { headers } = await key()
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(tollgate, { loaded: config, stores })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await caller(url)('GET', '/v1/%70ets?q=%70', undefined, headers)
  t.equal(upstream.seen[0]?.url, '/v1/pets?q=%70')
  const auth = `Authorization: ${headers.authorization}\r\n`
  const post = `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${auth}Content-Length: 900000\r\n\r\nbeginning`
  t.match(await raw(url, post, 5_000), /connection: close\r[^]*early$/i)
})

t.test('with serverOptions an app has what the gateway’s own process has', async (t) => {
  const upstream = await startUpstream(t)
  const { config, stores, key } = await startGateway(t, { upstream })
  const { headers, token } = await key()
  const app = Fastify({ ...serverOptions(), logger: false })
  t.teardown(() => app.close())
  await app.register(tollgate, { loaded: config, stores })
  app.get('/open', (request) => ({ id: request.id }))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const call = caller(url)
  const named = { ...headers, 'x-request-id': 'its-own' }
  t.match(await call('GET', '/v1/pets', undefined, named), {
    status: 200,
    headers: { 'x-request-id': 'its-own' },
  })
  t.equal(json(await call('GET', '/open', undefined, named))['id'], 'its-own')
  const auth = `Host: x\r\nAuthorization: Bearer ${token}\r\n`
  const long = `/v1/${'x'.repeat(5_000)}`
  t.match(
    await raw(url, `GET ${long} HTTP/1.1\r\n${auth}Connection: close\r\n\r\n`),
    /^HTTP\/1\.1 200/,
  )
  t.match(
    await raw(url, 'GET /v1/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
    /"code":"invalid_request"/,
  )
  t.match(
    await raw(url, 'GET /v1/x HTTP/1.1\r\nHost x\r\n\r\n'),
    /^HTTP\/1\.1 400 [^]*"code":"invalid_request"/,
  )
  t.match(await raw(url, 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'), /^HTTP\/1\.1 405 /)
  const expecting = `POST /v1/x HTTP/1.1\r\n${auth}Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n`
  const refused = expecting.replace(auth, 'Host: x\r\n')
  t.match(await raw(url, refused), /^HTTP\/1\.1 401 /, 'a body that nobody wants is not invited')
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(expecting)
  const [invitation] = (await once(socket, 'data')) as [Buffer]
  t.equal(invitation.toString(), 'HTTP/1.1 100 Continue\r\n\r\n')
  socket.write('ok')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  t.match(answer.toString(), /^HTTP\/1\.1 200 /)
})

t.test('with serverOptions WebSockets go through the stages of an app', async (t) => {
  const upstream = await startUpstream(t)
  const { createServer } = await import('node:http')
  const backend = createServer()
  backend.on('upgrade', (_request, socket) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void (backend.close(), backend.closeAllConnections()))
  const { port } = backend.address() as AddressInfo
  const { config, stores, key } = await startGateway(t, {
    upstream: { ...upstream, url: `http://127.0.0.1:${port}` },
  })
  const { token } = await key()
  const app = Fastify(serverOptions())
  await app.register(tollgate, { loaded: config, stores })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
  t.match(await raw(url, `GET /v1/x HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`), /^HTTP\/1\.1 401/)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(`GET /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${upgrade}\r\n`)
  const [head] = (await once(socket, 'data')) as [Buffer]
  t.match(head.toString(), /^HTTP\/1\.1 101 /)
  socket.write('echo')
  t.equal(String((await once(socket, 'data'))[0]), 'echo')
  const closed = once(socket, 'close')
  await app.close()
  await closed
})

t.test('a method that the app doesn’t support keeps it from starting', async (t) => {
  const config = {
    store: { file: join(folderOf(t), 'gateway.db') },
    plans: { free: { perMinute: 60, perDay: 1_000 } },
    upstreams: { files: { targets: ['http://127.0.0.1:1'] } },
    routes: [{ path: '/dav/*', upstream: 'files', methods: ['PROPFIND'] }],
  }
  for (const isTaught of [false, true]) {
    const app = Fastify()
    t.teardown(() => app.close())
    if (isTaught) app.addHttpMethod('PROPFIND')
    const started = Promise.resolve(app.register(tollgate, { config })).then(() => app.ready())
    if (isTaught) await t.resolves(started)
    else await t.rejects(started, { message: /PROPFIND method is not supported/ })
  }
})
