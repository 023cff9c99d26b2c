import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { WebSocket } from 'undici'
import { startEcho } from '../../support/echo.ts'
import { startGateway, startUpstream, type GatewayOptions } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { bearer, jwtSection, signingKey, startKeyServer, tokenOf } from '../../support/jwt.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const events = { accept: 'text/event-stream' }
const redis = await startRedis(t)
let prefixes = 0

/** A gateway that gives out tickets, in front of a backend whose streams go on. */
async function start(t: Test, options: GatewayOptions = {}) {
  const streams: ServerResponse[] = []
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    if (!url.includes('stream')) return void response.end('{}')
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
    streams.push(response)
  })
  const gateway = await startGateway(t, {
    upstream,
    ...options,
    more: `tickets: on\n${options.more ?? ''}`,
  })
  const { headers, key } = await gateway.key({ account: 'acme' })
  const ticket = async (of: Record<string, string> = headers) =>
    json(await gateway.call('POST', '/v1/ticket', undefined, of)) as {
      ticket: string
      expires: number
    }
  const get = (path: string, more: Record<string, string> = events) =>
    gateway.call('GET', path, undefined, more)
  const sent = () => gateway.upstream.seen.map(({ url }) => url)
  return { ...gateway, headers, one: key, ticket, get, sent, streams }
}

for (const store of ['embedded', 'redis'] as const) {
  const inStore = () =>
    store === 'redis' ? { store: `redis: "${redis.url}", prefix: "tickets${++prefixes}:"` } : {}

  t.test(`${store}, a ticket stands for a key once`, async (t) => {
    const { ticket, get, sent, upstream, one, call, headers } = await start(t, inStore())
    const given = await ticket()
    t.match(given.ticket, /^[\w-]{65}$/)
    t.ok(Math.abs(given.expires - Date.now() / 1_000 - 60) < 5)
    const answer = await get(`/v1/x?a=%31&ticket=${given.ticket}&b=&b`)
    t.match(answer, { status: 200, headers: { 'x-ratelimit-remaining': '59' } })
    t.strictSame(sent(), ['/v1/x?a=%31&b=&b'], 'the rest is as it was')
    t.equal(upstream.seen[0]?.headers['x-caller-id'], one.id)
    t.match(await get(`/v1/x?ticket=${given.ticket}`), {
      status: 401,
      text: /was used, or is older than a minute/,
    })
    await get(`/v1/x?ticket=${(await ticket()).ticket}`)
    t.equal(sent().at(-1), '/v1/x')
    t.match(json(await call('GET', '/v1/quota', undefined, headers)), { minute: { remaining: 58 } })
  })

  t.test(`${store}, of all that use it at once one is let in`, async (t) => {
    const common = inStore()
    const first = await start(t, common)
    // Two gateways of one Redis.
    const second = store === 'redis' ? await start(t, common) : first
    const { ticket } = await first.ticket()
    const asked = Array.from({ length: 12 }, (_, i) =>
      (i % 2 === 0 ? first : second).get(`/v1/x?ticket=${ticket}`),
    )
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort()
    t.strictSame(statuses, [200, ...Array<number>(11).fill(401)])
  })

  t.test(`${store}, a quota has a hundred open at most`, async (t) => {
    const { call, headers, get } = await start(t, inStore())
    const ask = () => call('POST', '/v1/ticket', undefined, headers)
    const answers = await Promise.all(Array.from({ length: 110 }, ask))
    const given = answers.filter(({ status }) => status === 201)
    t.ok(given.length <= 100 && given.length >= 80, `${given.length}`)
    while ((await ask()).status === 201) given.length++
    t.equal(given.length, 100)
    t.match(await ask(), {
      status: 429,
      headers: { 'retry-after': /^(?:6[01]|5\d)$/ },
      text: /100 tickets are open/,
    })
    const [one] = given
    t.equal((await get(`/v1/x?ticket=${String(one && json(one)['ticket'])}`)).status, 200)
    t.equal((await ask()).status, 201)
  })
}

t.test('a request that may have none leaves it as it was', async (t) => {
  const { ticket, get, call, headers, key } = await start(t)
  const { ticket: one } = await ticket()
  const path = `/v1/x?ticket=${one}`
  t.match(await get(path, {}), { status: 401, text: /A ticket is for a WebSocket/ })
  t.match(await get(path, { accept: 'text/html, */*' }), { status: 401 })
  t.match(await call('POST', path, {}, events), { status: 401 })
  t.match(await get(path, { ...events, ...headers }), { status: 400, text: /and not both/ })
  t.match(await get(path, { ...events, authorization: 'Basic x' }), { status: 400 })
  t.match(await get(`${path}&ticket=${one}`), { status: 400 })
  t.match(await get(`/v1/x?%74icket=${one}`), { status: 401, text: /missing_api_key/ })
  t.match(await get(path, { accept: 'text/html, text/event-stream;q=0.9' }), { status: 200 })
  for (const wrong of ['', 'x', `${one}x`, one.slice(1), 'A'.repeat(65), '../'.repeat(21) + 'ab']) {
    t.equal((await get(`/v1/x?ticket=${wrong}`)).status, 401, wrong)
  }
  t.equal((await call('POST', '/v1/ticket')).status, 401)
  t.equal(
    (await call('POST', `/v1/ticket?ticket=${(await ticket()).ticket}`, {}, events)).status,
    401,
  )
  // What a key may not, its ticket may not.
  const { headers: narrow } = await key({ paths: ['/v1/other'] })
  t.equal((await get(`/v1/x?ticket=${(await ticket(narrow)).ticket}`)).status, 403)
})

t.test('nobody finds a token in the store, or a ticket in the log', async (t) => {
  const { ticket, get, stores, headers, one } = await start(t)
  const given = await ticket()
  const [folder] = [`tickets:${given.ticket.slice(0, 22)}`]
  const { documents } = await stores.documents.list(folder)
  t.equal(documents.length, 1)
  const kept = documents.map(({ name, body }) => `${name} ${body.toString('latin1')}`).join()
  for (const secret of [headers.authorization.slice(7), given.ticket.slice(22), one.id]) {
    t.notOk(kept.includes(secret))
  }
  // A store that says something else is believed nothing.
  const name = documents[0]?.name ?? ''
  await stores.documents.put(folder, name, Buffer.alloc(60), { keptMs: 1_000 })
  t.equal((await get(`/v1/x?ticket=${given.ticket}`)).status, 503)
})

t.test('without tickets the query is the backend’s', async (t) => {
  const { call, key, upstream } = await startGateway(t)
  const { headers } = await key()
  await call('GET', '/v1/x?ticket=7', undefined, headers)
  t.equal(upstream.seen[0]?.url, '/v1/x?ticket=7')
  t.not((await call('POST', '/v1/ticket', undefined, headers)).headers['cache-control'], 'no-store')
})

t.test('a stream that a ticket began ends with its key', async (t) => {
  const { url, ticket, streams, desk, one } = await start(t)
  const { body } = await fetch(`${url}/v1/stream?ticket=${(await ticket()).ticket}`, {
    headers: events,
  })
  await until(() => streams.length === 1)
  await desk.edit(one.id, desk.revoking())
  const read = async (): Promise<void> => {
    for await (const piece of body ?? []) t.equal(String(Buffer.from(piece)), 'data: 1\n\n')
  }
  await t.rejects(read())
  await until(() => streams[0]?.destroyed === true)
})

t.test('a WebSocket begins with a ticket', async (t) => {
  const upstream = await startEcho(t)
  const { url, ticket } = await start(t, { upstream })
  const open = async () => {
    const { ticket: one } = await ticket()
    const socket = new WebSocket(`${url.replace('http:', 'ws:')}/v1/echo?ticket=${one}`)
    await new Promise((resolve, reject) => {
      socket.onopen = resolve
      socket.onerror = reject
    })
    return socket
  }
  const socket = await open()
  t.equal(upstream.seen[0]?.url, '/v1/echo')
  socket.close()
})

t.test('a stream that a JWT’s ticket began ends with the JWT', async (t) => {
  const signing = signingKey('ES256')
  const { url: keys } = await startKeyServer(t, [signing])
  let passedMs = 0
  const clock = () => Date.now() + passedMs
  const { url, ticket, streams, call, upstream } = await start(t, { more: jwtSection(keys), clock })
  const token = bearer(tokenOf(signing))
  const given = await ticket(token)
  const { body } = await fetch(`${url}/v1/stream?ticket=${given.ticket}`, { headers: events })
  await until(() => streams.length === 1)
  t.equal(upstream.seen[0]?.headers['x-caller-plan'], 'free')
  passedMs = 3_700_000
  await t.rejects(async () => {
    for await (const piece of body ?? []) t.ok(piece)
  })
  t.equal((await call('POST', '/v1/ticket', undefined, token)).status, 401)
})

t.test('while the store is away nobody can say whether a ticket was used', async (t) => {
  const own = await startRedis(t)
  const store = `redis: "${own.url}", timeout: 300ms`
  const { ticket, get, call, headers } = await start(t, { store })
  const given = await ticket()
  await own.kill()
  t.match(await get(`/v1/x?ticket=${given.ticket}`), {
    status: 503,
    headers: { 'retry-after': '5' },
  })
  t.equal((await call('POST', '/v1/ticket', undefined, headers)).status, 503)
  t.equal((await call('GET', '/v1/x', undefined, headers)).status, 200, 'keys go on')
})
