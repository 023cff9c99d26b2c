import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { WebSocket } from 'undici'
import { tollgate } from '../../../gateway/plugin.ts'
import { startEcho } from '../../support/echo.ts'
import { startGateway, type GatewayOptions } from '../../support/gateway.ts'
import { caller, json } from '../../support/http.ts'
import { mine } from '../../support/plugin.ts'
import { until } from '../../support/until.ts'

const plans = 'plans: { free: { perMinute: 100, perDay: 1000, atOnce: 1 } }'

/** A gateway that lets one request be under way, and how many are. */
async function startNarrow(t: Test, options: GatewayOptions) {
  const gateway = await startGateway(t, { ...options, more: plans })
  const { headers } = await gateway.key()
  const ask = () => gateway.call('GET', '/v1/other', undefined, headers)
  const used = async () => {
    const { atOnce } = json(await gateway.call('GET', '/v1/quota', undefined, headers))
    return (atOnce as { used: number }).used
  }
  return { ...gateway, headers, ask, used }
}

t.test('a WebSocket holds its place until its connection ends', async (t) => {
  const upstream = await startEcho(t)
  const { url, headers, ask, used } = await startNarrow(t, { upstream })
  const socket = new WebSocket(`${url.replace('http:', 'ws:')}/v1/echo`, { headers })
  await new Promise((open) => (socket.onopen = open))
  t.equal(await used(), 1)
  t.match(await ask(), { status: 429, headers: { 'retry-after': '5' } }, 'it may last')
  socket.close()
  await until(async () => (await used()) === 0)
  t.equal((await ask()).status, 426)
})

t.test('what is read on for its cost holds its place', async (t) => {
  const streams: ServerResponse[] = []
  const server = createServer(({ url = '' }, response) => {
    if (!url.includes('stream')) return void response.end('{}')
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
    streams.push(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const upstream = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen: [] }
  const cost = '{ estimate: 2, from: { json: /n }, atMost: 9, drain: { time: 9s, size: 1KiB } }'
  const routes = `
  - { path: /v1/*, upstream: animals }
  - { path: /v1/stream, upstream: animals, cost: ${cost} }`
  const { url, headers, ask, used } = await startNarrow(t, { upstream, routes })
  const leaving = new AbortController()
  const stream = await fetch(`${url}/v1/stream`, { headers, signal: leaving.signal })
  await stream.body?.getReader().read()
  leaving.abort()
  // The gateway knows that its caller has left once its connection is closed.
  await new Promise((go) => setTimeout(go, 200))
  t.equal(await used(), 1)
  t.equal((await ask()).status, 429)
  streams.forEach((response) => response.end('data: { "n": 5 }\n\n'))
  await until(async () => (await used()) === 0)
  t.equal((await ask()).status, 200)
})

t.test('a route of an app’s own holds its place until it is answered, or left', async (t) => {
  const { config, stores, key } = await startGateway(t, { more: plans })
  const { headers } = await key()
  const waiting: FastifyReply[] = []
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  await app.register(tollgate, { loaded: config, stores })
  app.get('/slow', mine, (_request, reply) => {
    waiting.push(reply)
    return reply
  })
  app.get('/fast', mine, () => ({ ok: true }))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const ask = (path: string) => caller(url)('GET', path, undefined, headers)
  const slow = ask('/slow')
  await until(() => waiting.length === 1)
  t.match(json(await ask('/fast')), { code: 'too_many_at_once' })
  void waiting.pop()?.send({ ok: true })
  t.equal((await slow).status, 200)
  await until(async () => (await ask('/fast')).status === 200)
  const leaving = new AbortController()
  const left = fetch(`${url}/slow`, { headers, signal: leaving.signal })
  await until(() => waiting.length === 1)
  leaving.abort()
  await t.rejects(left)
  await until(async () => (await ask('/fast')).status === 200)
  void waiting.pop()?.send({ late: true })
})
