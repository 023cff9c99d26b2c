import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { serverOptions } from '../../../gateway/front/http/server-options.ts'
import { tollgate } from '../../../gateway/plugin.ts'
import { answerFrom } from '../../support/http.ts'
import { mine, serve } from '../../support/plugin.ts'

type TrustProxy = FastifyServerOptions['trustProxy']

/** The address of the balancer, which is in the inner network, too. */
const balancer = '127.0.0.1'
const inner = '127.0.0.0/8'
const office = '198.51.100.7'
const attacker = '203.0.113.9'

/** A backend that notes what it is asked, WebSockets too. */
async function startBackend(t: Test) {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    response.end('{}')
  })
  server.on('upgrade', (request: IncomingMessage, socket) => {
    seen.push(request)
    socket.end(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void (server.close(), server.closeAllConnections()))
  const { port } = server.address() as AddressInfo
  return { seen, url: `http://127.0.0.1:${port}` }
}

/** An app at a real port, with Tollgate in a scope of its own. */
async function startBehind(t: Test, trustProxy?: TrustProxy) {
  const backend = await startBackend(t)
  const log: string[] = []
  const logger = { level: 'info', stream: { write: (text: string) => void log.push(text) } }
  const trust = trustProxy === undefined ? {} : { trustProxy }
  const app = Fastify({ ...serverOptions(), ...trust, logger })
  t.teardown(() => app.close())
  const config = {
    plans: { free: { perMinute: 60, perDay: 1000 } },
    strangers: { perMinute: 3, perDay: 100 },
    store: { file: ':memory:' },
    upstreams: { animals: { targets: [backend.url] } },
    routes: [{ path: '/v1/*', upstream: 'animals' }],
  } as const
  const scopes: FastifyInstance[] = []
  await app.register(async (scope) => {
    await scope.register(tollgate, { config })
    scope.get('/mine', mine, serve)
    scope.get('/ip', { config: { tollgate: 'open' } }, ({ ip }) => ip)
    scopes.push(scope)
  })
  const operations = scopes[0]?.tollgate ?? app.tollgate
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const keyFor = async (...addresses: string[]): Promise<string> => {
    const restricted = addresses.length > 0 ? { addresses } : {}
    const { key } = await operations.keys.create({ name: 'Me', plan: 'free', ...restricted })
    return `Authorization: Bearer ${key}\r\n`
  }
  const ask = async (path: string, lines: string, localAddress = balancer) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress })
    const ending = /^Connection:/m.test(lines) ? '' : 'Connection: close\r\n'
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${ending}${lines}\r\n`)
    socket.setTimeout(20_000, () => socket.destroy())
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    return answerFrom(text)
  }
  return { operations, config, log, backend, keyFor, ask }
}

/** A line of the balancer about its caller. */
const from = (hops: string): string => `X-Forwarded-For: ${hops}\r\n`

const trusting: readonly (readonly [name: string, trustProxy: TrustProxy, invented: string])[] = [
  // It believes all that callers write, so nothing stands before their address here.
  ['true', true, ''],
  ['an address', balancer, '10.0.0.9, '],
  ['a list', ['10.0.0.0/8', inner], '192.0.2.1, '],
  ['a function', (address: string) => address === balancer, '10.0.0.9, '],
]

for (const [name, trustProxy, invented] of trusting) {
  t.test(`an app with trustProxy, ${name}, has the addresses of callers`, async (t) => {
    const { ask, keyFor, log } = await startBehind(t, trustProxy)
    const behind = (address: string): string => from(invented + address)
    const [innerKey, officeKey] = [await keyFor(inner), await keyFor(office)]
    const statusOf = async (lines: string) => (await ask('/mine', lines)).status
    t.equal(await statusOf(innerKey + behind(attacker)), 403, 'a key of the inner network')
    t.equal(await statusOf(innerKey), 200, 'the balancer by itself')
    t.equal(await statusOf(officeKey), 403)
    for (const spelled of [office, `${office}:5678`, `[::ffff:${office}]:5678`]) {
      t.equal(await statusOf(officeKey + behind(spelled)), 200, `the office as ${spelled}`)
    }
    t.equal(await statusOf(innerKey + behind('unknown')), 403, 'an address that can’t be read')

    const wrong = 'Authorization: Bearer nobody\r\n'
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push(await statusOf(wrong + behind(attacker)))
    t.strictSame(statuses, [401, 401, 401, 429], 'one caller’s wrong tokens')
    t.equal(await statusOf(wrong + behind(office)), 401, 'are nobody else’s')
    const open = async (address: string) => {
      const { headers, text } = await ask('/ip', behind(address))
      return [headers['x-ratelimit-remaining'], text]
    }
    t.strictSame(await open(attacker), ['0', attacker])
    t.strictSame(await open(office), ['2', office], 'an open route tells of the caller’s address')
    t.match(log.join(''), `"remoteAddress":"${attacker}"`, 'in the log')
  })
}

t.test('Tollgate trusts no hop count, as Fastify doesn’t', async (t) => {
  const { ask, keyFor } = await startBehind(t, 1 as unknown as TrustProxy)
  t.equal((await ask('/ip', from(attacker))).text, balancer)
  const answer = await ask('/mine', (await keyFor(inner)) + from(attacker))
  t.equal(answer.status, 200, 'it is the balancer’s request')
})

t.test('an app without trustProxy believes no header', async (t) => {
  const { ask, keyFor, backend } = await startBehind(t)
  const lines = (await keyFor(office)) + from(office)
  t.equal((await ask('/mine', lines)).status, 403)
  const told = 'X-Forwarded-Proto: https\r\nX-Forwarded-Host: api.example\r\n'
  await ask('/v1/pets', (await keyFor()) + from(office) + told)
  t.match(backend.seen[0]?.headers, {
    'x-forwarded-for': balancer,
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'x',
  })
})

t.test('a backend hears of a caller what the app trusts', async (t) => {
  const { ask, keyFor, backend } = await startBehind(t, [balancer])
  const key = await keyFor(office, '127.0.0.9')
  const told = 'X-Forwarded-Proto: https\r\nX-Forwarded-Host: api.example\r\n'
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
  const forwarded = async (lines: string, localAddress?: string) => {
    const { status } = await ask('/v1/pets', key + lines, localAddress)
    const headers = backend.seen.splice(0)[0]?.headers
    const names = ['for', 'proto', 'host']
    return [status, ...names.map((name) => headers?.[`x-forwarded-${name}`])]
  }
  const chain = from(`9.9.9.9, ${office}`) + told
  const continued = [`9.9.9.9, ${office}, ${balancer}`, 'https', 'api.example']
  t.strictSame(await forwarded(chain), [200, ...continued])
  t.strictSame(await forwarded(chain + upgrade), [101, ...continued], 'a WebSocket')
  const outside = from(`${office}, ${attacker}`) + upgrade
  t.strictSame(await forwarded(outside), [403, undefined, undefined, undefined])
  t.strictSame(
    await forwarded(chain, '127.0.0.9'),
    [200, '127.0.0.9', 'http', 'x'],
    'one that isn’t the balancer is believed nothing',
  )
  await ask('/v1/pets', (await keyFor()) + told)
  t.match(backend.seen[0]?.headers, {
    'x-forwarded-for': balancer,
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'api.example',
  })
})

t.test('an app with trustProxy takes no trustedProxies by a reload', async (t) => {
  const { operations, config, ask, keyFor } = await startBehind(t, [balancer])
  const other = { ...config, trustedProxies: [balancer] }
  await t.rejects(operations.reload(other), {
    message: /^trustedProxies must be left out: the app has trustProxy/,
    mistakes: [String],
  })
  await operations.reload({ ...config, strangers: { perMinute: 9, perDay: 100 } })
  const answer = await ask('/mine', (await keyFor(office)) + from(office))
  t.equal(answer.status, 200, 'and goes on by its own')
})
