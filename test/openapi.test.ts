import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { openDatabase } from '../backend/database.ts'
import { usualMethods } from '../gateway/front/http/methods.ts'
import { hashOf, newKeyId, newToken } from '../gateway/front/keys/token.ts'
import { desksFor } from '../gateway/office/operations/desks.ts'
import { statusByCode } from '../shared/refusal.ts'
import { byLimit, windows } from '../shared/windows.ts'
import { newKey } from './contracts/keys.ts'
import { startStore, type Store } from './support/backend.ts'
import {
  startGateway,
  startUpstream,
  type Gateway,
  type GatewayOptions,
} from './support/gateway.ts'
import { caller, type Call } from './support/http.ts'
import { contractOf } from './support/openapi.ts'
import { askAll, examplesOf, targetOf, writtenCall } from './support/openapi-asks.ts'
import { lintFaults } from './support/openapi-lint.ts'
import { root } from './support/process.ts'
import { optionalWindows } from '../shared/windows.ts'
import { until } from './support/until.ts'

const file = join(root, 'config/openapi/animal-store.yaml')
const contract = contractOf(file)
const { operations } = contract
const deprecated = operations.filter(({ isDeprecated }) => isDeprecated)
/** The answers of the animal store; all others are the gateway's own. */
const forwarded = operations.filter(({ path }) => !['/v1/quota', '/v1/usage'].includes(path))
const paths = [...new Set(forwarded.map(({ path }) => path))]
const bodied = forwarded.filter(({ method }) => method !== 'GET' && method !== 'HEAD')

const shipped = parse(readFileSync(join(root, 'config/gateway.yaml'), 'utf8')) as {
  deprecations: { operation: string; sunset: string }[]
}
const deprecations = stringify({ deprecations: shipped.deprecations })
const noon = Date.UTC(2026, 10, 20, 12)
/** Each request is to find out by itself that a target fails. */
const neverOut = 'health: { unhealthyAfter: 1000 }'
const plenty = byLimit(() => 1_000)
/** A request is a hundredth of its day, from which on answers say how much of it is used. */
const hundred = { perMinute: 100, perDay: 100 }

t.test('the document is sound by itself', async (t) => {
  t.strictSame(await lintFaults(file), [])
})

t.test('it has every code, and deprecates what the shipped configuration does', (t) => {
  const ofAdmin = ['misdirected_request', 'precondition_failed', 'precondition_required']
  const codes = Object.keys(statusByCode).filter((code) => !ofAdmin.includes(code))
  t.strictSame([...contract.codes].sort(), codes.sort())
  const told = deprecated.filter(({ method }) => method !== 'HEAD')
  t.strictSame(
    told.map(({ method, path }) => `${method} ${path}`),
    shipped.deprecations.map(({ operation }) => operation),
  )
  t.end()
})

t.test('the services answer all that is documented, and nothing else', async (t) => {
  const store = await startStore(t)
  const gateway = await start(t, {
    upstream: { url: store.url, seen: [] },
    store: `file: ${join(dirname(store.file), 'gateway.db')}`,
  })
  const { headers } = await gateway.key({ limits: plenty })
  const call: Call = (method, target, body, more) =>
    gateway.call(method, target, body, { ...headers, ...more })
  for (let i = 0; i < 10; i++) await call('GET', '/v1/pets')

  await t.test('to what is asked well', (t) => askWell(t, call, gateway))
  await t.test('to whoever has operations and a cap', askParts)
  await t.test('to whose answers tell their cost', askCosts)
  await t.test('to what is asked badly', (t) => askBadly(t, call, gateway))
  await t.test('to whoever may not ask', (t) => askUnallowed(t, gateway))
  await t.test('to what cannot be read', (t) => askUnreadably(t, gateway))
  await t.test('while the store is in trouble', (t) => askInTrouble(t, call, store))
  await t.test('while the store or the keys are out of reach', askOutOfReach)
  await t.test('while too much of a caller is on its way', askCrowded)
  await t.test('where a method is not let through, or an operation is gone', askInVain)
  t.strictSame(contract.unseen(), [])
})

/** A gateway as shipped, with a test's changes. Each answer is checked against the document. */
async function start(t: Test, options: GatewayOptions = {}): Promise<Gateway> {
  const more = `${deprecations}headers: { near: [1] }\nstrangers: { perMinute: 1000, perDay: 1000 }`
  const gateway = await startGateway(t, { clock: () => noon, more, ...options })
  return { ...gateway, call: contract.held(t, gateway.call) }
}

/** The quota of a key with a cap, of a plan with operations; both with all windows. */
async function askParts(t: Test): Promise<void> {
  const limits = windows.map(({ limit }) => `${limit}: 9`).join(', ')
  const { call, key } = await start(t, {
    more: `plans: { free: { ${limits}, operations: { reads: { methods: [GET], ${limits} } } } }`,
  })
  const { headers } = await key({ account: 'parts', cap: byLimit(() => 5) })
  t.equal((await call('GET', '/v1/quota', undefined, headers)).status, 200)
}

async function askCosts(t: Test): Promise<void> {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
  })
  const { call, key, app } = await start(t, {
    upstream,
    routes: '[ { path: /v1/*, upstream: animals, cost: { estimate: 2, from: answer } } ]',
  })
  const perDay = { limit: 1, beyond: 'meter', upTo: '500%' } as const
  const { headers } = await key({ account: 'costs', limits: { perDay } })
  await call('GET', '/v1/pets', undefined, headers)
  t.match((await call('GET', '/v1/quota', undefined, headers)).text, '"beyond":1')
  const { headers: bought } = await key({ limits: { perMonth: { limit: 1, beyond: 'prepaid' } } })
  t.match((await call('GET', '/v1/quota', undefined, bought)).text, '"prepaid":{"left":0}')
  await app.front.flushCounts()
  t.match((await call('GET', '/v1/usage', undefined, headers)).text, '"estimated":2,"beyond":1')
}

async function askWell(t: Test, call: Call, { key, app }: Gateway): Promise<void> {
  for (const operation of operations) {
    const { method, path } = operation
    // The first animal is there to be ordered, the second to be removed.
    const target = targetOf(operation, method === 'DELETE' ? 2 : 1)
    const examples = examplesOf(operation)
    // Usage may be asked for once a second by a key, so each has its own.
    const name = `${method} ${path}`
    const { headers } = await key({ limits: hundred, name, account: method })
    const own = path === '/v1/usage' ? headers : {}
    await call('GET', '/v1/pets', undefined, own)
    if (examples.length === 0) {
      const { status } = await call(method, target, undefined, own)
      t.ok(status < 300, name)
    }
    for (const { type, value } of examples) {
      const { status } = await call(method, target, value, { 'content-type': type })
      t.ok(status < 300, `${name} takes the examples of what it takes: ${status}`)
    }
  }
  await call('POST', '/v1/pets', { name: 'Kiwi', categoryId: 1 })
  await call('POST', '/v1/store/orders', { petId: 3 })
  for (const method of ['GET', 'HEAD']) {
    for (const target of ['/v1/pets?limit=1&after=0', '/v1/store/orders?limit=1&after=0']) {
      const { headers } = await call(method, target)
      t.match(headers['link'], /rel="next"/, `${method} ${target} leads to the next page`)
    }
    t.equal((await call(method, '/v1/pets?status=pending')).status, 200)
  }
  for (const { name, limit } of optionalWindows) {
    const { headers } = await key({ limits: { ...hundred, [limit]: 1 }, name })
    for (let i = 0; i < 2; i++) await call('GET', '/v1/pets/1', undefined, headers)
    await app.front.flushCounts()
    t.match((await call('GET', '/v1/usage', undefined, headers)).text, `"${name}":1`)
  }
  const { headers: used } = await key({ limits: hundred, name: 'Used', account: 'used' })
  await call('GET', '/v1/pets/1', undefined, used)
  await app.front.flushCounts()
  for (const status of [200, 429]) {
    t.equal((await call('GET', '/v1/usage?days=2', undefined, used)).status, status)
  }
}

/** Two requests that are not answered are the share of one that is alone. */
async function askCrowded(t: Test): Promise<void> {
  const upstream = await startUpstream(t, () => undefined)
  const gateway = await start(t, { upstream, upstreamMore: 'maxInFlight: 4' })
  const { headers } = await gateway.key({ limits: plenty })
  const hung = [1, 2].map(() => caller(gateway.url)('GET', '/v1/pets', undefined, headers))
  await until(() => upstream.seen.length === 2)
  const call: Call = (method, target, body, more) =>
    gateway.call(method, target, body, { ...headers, ...more })
  t.strictSame(await askAll(call, forwarded), [429])
  gateway.server.closeAllConnections()
  await Promise.allSettled(hung)
}

async function askBadly(t: Test, call: Call, { url, key }: Gateway): Promise<void> {
  const twoHosts = contract.held(t, writtenCall(url, 'HTTP/1.1', 'Host: x\r\nHost: y\r\n\r\n'))
  t.strictSame(await askAll(twoHosts, operations), [400])
  for (const query of ['limit=0', 'limit=101', 'after=-1', 'status=lost', 'limit=1&limit=2']) {
    t.equal((await call('GET', `/v1/pets?${query}`)).status, 400, query)
  }
  t.strictSame(await askAll(call, bodied, { body: '{' }), [400])
  t.strictSame(await askAll(call, bodied, { body: 'x'.repeat(64 * 1024 + 1) }), [413])
  t.strictSame(await askAll(call, bodied, { body: 'x'.repeat(1024 ** 2 + 1) }), [413])
  t.strictSame(await askAll(call, bodied, { headers: { 'content-type': 'text/plain' } }), [415])
  const single = forwarded.filter(({ path }) => path.includes('{'))
  t.strictSame(await askAll(call, single, { id: 99 }), [404])
  t.equal((await call('POST', '/v1/store/orders', { petId: 99 })).status, 404)
  t.equal((await call('POST', '/v1/store/orders', { petId: 1 })).status, 409)
  await askOtherwise(t, url, (await key({ limits: plenty })).headers)
}

/** Other methods of a path get 405, and `Allow` names its operations. */
async function askOtherwise(t: Test, url: string, headers: Record<string, string>): Promise<void> {
  for (const path of paths) {
    const documented = forwarded.filter((each) => each.path === path).map(({ method }) => method)
    for (const method of usualMethods) {
      if (documented.includes(method)) continue
      const body = method === 'QUERY' ? '{}' : undefined
      const answer = await caller(url)(method, path.replace(/\{\w+\}/, '1'), body, headers)
      t.equal(answer.status, 405, `${method} ${path} is no operation`)
      const allowed = answer.headers['allow']?.toString().split(', ')
      t.strictSame(allowed?.sort(), documented.sort(), `${path} allows what is documented`)
    }
  }
}

async function askUnallowed(t: Test, { call, key, stores, config }: Gateway): Promise<void> {
  t.strictSame(await askAll(call, operations), [401])
  const nonsense = { authorization: 'Bearer nonsense' }
  t.strictSame(await askAll(call, operations, { headers: nonsense }), [401])

  const token = newToken(newKeyId())
  await stores.keys.add([newKey({ plan: 'not offered', secrets: [{ hash: hashOf(token) }] })])
  const unplanned = { authorization: `Bearer ${token}` }
  t.strictSame(await askAll(call, operations, { headers: unplanned }), [403])
  const shared = { limits: hundred, account: 'shared' }
  const { headers: elsewhere } = await key({ ...shared, paths: ['/elsewhere'] })
  await call('GET', '/v1/pets', undefined, (await key(shared)).headers)
  t.strictSame(await askAll(call, forwarded, { headers: elsewhere }), [403])

  const { headers: exhausted } = await key({ limits: { perMinute: 1, perDay: 1 } })
  t.equal((await call('GET', '/v1/pets', undefined, exhausted)).status, 200)
  t.strictSame(await askAll(call, forwarded, { headers: exhausted }), [429])
  const { headers: banned, key: one } = await key()
  const { quotas: desk } = desksFor({ ...config, stores, clock: () => noon, by: 'me' })
  await desk.ban(one.id, 60_000)
  t.strictSame(await askAll(call, forwarded, { headers: banned }), [429])
  t.equal((await call('GET', '/v1/quota', undefined, banned)).status, 200)

  await t.test('from an address that has tried too often', async (t) => {
    const more = `${deprecations}strangers: { perMinute: 1, perDay: 1 }`
    const { call } = await start(t, { more })
    t.equal((await call('GET', '/v1/pets')).status, 401)
    t.strictSame(await askAll(call, operations), [429])
  })
}

async function askUnreadably(t: Test, { call, url, server }: Gateway): Promise<void> {
  const written = (version: string, lines: string): Call =>
    contract.held(t, writtenCall(url, version, lines))
  t.strictSame(await askAll(call, operations, { query: `?${'x'.repeat(8_192)}` }), [414])
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`x-${i}`, 'x']))
  t.strictSame(await askAll(call, operations, { headers: many }), [431])
  const gzip = written('HTTP/1.1', 'Host: x\r\nTransfer-Encoding: gzip\r\n\r\n')
  t.strictSame(await askAll(gzip, operations), [501])
  t.strictSame(await askAll(written('HTTP/2.0', 'Host: x\r\n\r\n'), operations), [505])
  const looped = { via: '1.1 tollgate, 1.1 tollgate' }
  t.strictSame(await askAll(call, operations, { headers: looped }), [508])
  server.headersTimeout = 200
  // Nobody knows of a request that doesn't end that it is HEAD, and wants no body.
  const others = operations.filter(({ method }) => method !== 'HEAD')
  t.strictSame(await askAll(written('HTTP/1.1', 'Host: x\r\n'), others), [408])
}

async function askInTrouble(t: Test, call: Call, { database, file }: Store): Promise<void> {
  const other = openDatabase(file)
  other.exec('BEGIN IMMEDIATE')
  t.strictSame(await askAll(call, bodied), [503], 'while another holds the lock')
  other.exec('ROLLBACK')
  other.close()
  database.exec('ALTER TABLE pets RENAME TO lost; ALTER TABLE orders RENAME TO gone')
  t.strictSame(await askAll(call, forwarded), [500], 'without its tables')
}

async function askOutOfReach(t: Test): Promise<void> {
  await t.test('a store that takes no connections', async (t) => {
    const upstream = { url: 'http://127.0.0.1:1', seen: [] }
    const { call, key } = await start(t, { upstream, upstreamMore: neverOut })
    const { headers } = await key({ limits: hundred })
    t.strictSame(await askAll(call, forwarded, { headers }), [502])
  })
  await t.test('a store that does not answer', async (t) => {
    const upstream = await startUpstream(t, () => undefined)
    const upstreamMore = `timeout: { response: 100ms }, ${neverOut}`
    const { call, key } = await start(t, { upstream, upstreamMore })
    const { headers } = await key({ limits: hundred })
    t.strictSame(await askAll(call, forwarded, { headers }), [504])
  })
  await t.test('a body that does not come', async (t) => {
    const upstream = await startUpstream(t, () => undefined)
    const { key, url } = await start(t, { upstream, upstreamMore: 'timeout: { request: 100ms }' })
    const { headers } = await key()
    const lines = `Host: x\r\nAuthorization: ${headers.authorization}\r\nContent-Length: 9\r\n\r\n{`
    const call = contract.held(t, writtenCall(url, 'HTTP/1.1', lines, 1_000))
    t.strictSame(await askAll(call, bodied), [408])
  })
  await t.test('keys that cannot be looked up', async (t) => {
    const { call } = await start(t, { store: 'redis: "redis://127.0.0.1:1"' })
    const headers = { authorization: `Bearer ${newToken(newKeyId())}` }
    t.strictSame(await askAll(call, operations, { headers }), [503])
  })
}

async function askInVain(t: Test): Promise<void> {
  await t.test('a method that is not let through', async (t) => {
    const few = paths.map((path) => ({ path, upstream: 'animals', methods: ['OPTIONS'] }))
    const routes = JSON.stringify([{ path: '/v1/*', upstream: 'animals' }, ...few])
    const { call, key } = await start(t, { routes })
    const { headers } = await key()
    t.strictSame(await askAll(call, forwarded, { headers }), [405])
  })
  await t.test('an operation after its sunset', async (t) => {
    const sunset = Date.parse(shipped.deprecations[0]?.sunset ?? '')
    const { call, key } = await start(t, { clock: () => sunset })
    const { headers } = await key({ limits: hundred })
    t.strictSame(await askAll(call, deprecated, { headers }), [410])
  })
}
