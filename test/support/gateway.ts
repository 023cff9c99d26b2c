import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Config } from '../../gateway/front/config/config.ts'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { KeyDesk, type Issued } from '../../gateway/front/keys/key-desk.ts'
import type { KeySettings } from '../../gateway/front/keys/key.ts'
import {
  Gateway as GatewayServer,
  type GatewayOptions as OpenOptions,
} from '../../gateway/gateway.ts'
import type { QuotaStore } from '../../gateway/front/limits/store.ts'
import { connect } from '../../gateway/front/stores/redis/connect.ts'
import { redisQuotas } from '../../gateway/front/stores/redis/quota.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import type { Stores } from '../../gateway/front/stores/stores.ts'
import type { LogSettings } from '../../shared/log.ts'
import { caller, type Call } from './http.ts'
import { folderOf } from './folder.ts'
import type { Ends } from './redis.ts'

/** The plans of every test that doesn't bring its own. */
export const plans = `
plans:
  free: { perMinute: 60, perDay: 1000 }
  pro: { perMinute: 300, perDay: 10000 }
  enterprise: custom
`

/** The parts of a configuration that tests write themselves, as YAML. */
export type Written = Readonly<{
  /** More of the configuration. */
  more?: string
  routes?: string
  /** The address for callers; any free port by default. */
  listen?: string
  /** The admin address; any free port by default. */
  admin?: string
  /** The targets of the one upstream; a test's own upstream by default. */
  targets?: string
  /** More members of the one upstream. */
  upstreamMore?: string
}>

/**
 * A configuration in front of one upstream. On a machine that stalls, Redis and the upstream may take
 * their time, unless the test says how much.
 */
export function configFor(upstream: string, store: string, written: Written = {}): string {
  const patience = store.startsWith('redis:') && !/\btimeout:/.test(store) ? ', timeout: 5s' : ''
  const { more = '', routes = '[ { path: /v1/*, upstream: animals } ]' } = written
  const { targets = `[ "${upstream}" ]`, upstreamMore = '' } = written
  const anywhere = '{ host: 127.0.0.1, port: 0 }'
  const { listen = anywhere, admin = anywhere } = written
  const calm = /\btimeout:/.test(upstreamMore) ? '' : 'timeout: { connect: 30s, response: 30s }'
  const members = [`targets: ${targets}`, calm, upstreamMore].filter(Boolean).join(', ')
  return `${/^plans:/m.test(more) ? '' : plans}
listen: ${listen}
admin: ${admin}
store: { ${store}${patience} }
upstreams: { animals: { ${members} } }
routes: ${routes}
${more}
`
}

export type Upstream = Readonly<{ url: string; seen: IncomingMessage[]; close?: () => void }>

/** A server that remembers what it was asked, and answers a constant by default; at any port, or at a Unix socket. */
export async function startUpstream(
  t: Ends,
  handle: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => {
    response.setHeader('content-type', 'application/json').end('{"up":"stream"}')
  },
  socketPath?: string,
): Promise<Upstream & { server: Server }> {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    request.resume()
    handle(request, response)
  })
  const place = socketPath === undefined ? { host: '127.0.0.1', port: 0 } : { path: socketPath }
  await new Promise<void>((resolve) => server.listen(place, resolve))
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  t.teardown(close)
  const address = server.address() as AddressInfo | string
  const url = typeof address === 'string' ? `unix:${address}` : `http://127.0.0.1:${address.port}`
  return { url, seen, close, server }
}

/** A server of bytes: whatever a connection brings, and whatever it is answered. */
export async function startRawUpstream(
  t: Test,
  handle: (socket: Socket) => void,
): Promise<Upstream & { connections: () => number }> {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    handle(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    sockets.forEach((socket) => socket.destroy())
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, seen: [], connections: () => connections }
}

export type Gateway = Readonly<{
  url: string
  app: GatewayServer
  server: Server
  call: Call
  upstream: Upstream
  config: Config
  stores: Stores
  desk: KeyDesk
  /** Makes a key and gives the header that its caller sends. */
  key: (settings?: Partial<KeySettings>) => Promise<Issued & { headers: { authorization: string } }>
}>

export type GatewayOptions = Written &
  Readonly<{
    /** The members of the configuration's `store`; a file of the test's own by default. */
    store?: string
    upstream?: Upstream
    clock?: () => number
    /** The clock of Redis' counters; by default its own. */
    storeClock?: () => number
    log?: LogSettings
    secret?: string
    /** The limit of open files and connections; without it, connections aren't bounded. */
    descriptors?: number
  }>

/** Counters in Redis by a clock of the test's own. */
function quotasBy(t: Test, { store }: Config, testClock: () => number): QuotaStore {
  const { redis, prefix } = store
  if (!redis) throw new Error('only Redis has a clock of its own')
  const timeoutMs = 5_000
  const connection = connect(redis, { timeoutMs })
  t.teardown(() => connection.disconnect())
  return redisQuotas({ connection, prefix, timeoutMs, testClock })
}

/** A real gateway on a free port, with a store of its own, in front of an upstream; `open` opens it. */
export async function startGateway(
  t: Test,
  options: GatewayOptions = {},
  open: (options: OpenOptions) => Promise<GatewayServer> = (all) => GatewayServer.open(all),
): Promise<Gateway> {
  const { clock = Date.now, log } = options
  const upstream = options.upstream ?? (await startUpstream(t))
  const store = options.store ?? `file: ${join(folderOf(t), 'gateway.db')}`
  const config = parseConfig(configFor(upstream.url, store, options), {}, 'test.yaml')
  const opened = await openStores(config.store, { clock })
  const { storeClock } = options
  const stores = storeClock ? { ...opened, quota: quotasBy(t, config, storeClock) } : opened
  const { secret, descriptors } = options
  const app = await open({ config, stores, clock, log, secret, descriptors })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await app.close()
    await stores.close()
  })
  const desk = new KeyDesk({ store: stores.keys, plans: config.plans, clock, quota: stores.quota })
  const key: Gateway['key'] = async (settings = {}) => {
    const issued = await desk.create({ name: 'Test', plan: 'free', ...settings })
    return { ...issued, headers: { authorization: `Bearer ${issued.token}` } }
  }
  return { url, app, server: app.server, call: caller(url), upstream, config, stores, desk, key }
}
