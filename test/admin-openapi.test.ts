import { readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { mostStreams } from '../gateway/admin/events.ts'
import {
  bodySchema,
  isInPath,
  parametersAt,
  plainParameters,
  withoutPath,
} from '../gateway/admin/given.ts'
import { operations as table } from '../gateway/operations/all.ts'
import { roles } from '../gateway/operations/role.ts'
import { pathExpression } from '../gateway/http/paths.ts'
import { openGatewayFile } from '../gateway/stores/embedded/database.ts'
import { startAdmin, type AdminOptions } from './support/admin.ts'
import { startUpstream } from './support/gateway.ts'
import { caller, json, type Answer, type Call } from './support/http.ts'
import { contractOf } from './support/openapi.ts'
import { askAll, examplesOf, targetOf, writtenCall } from './support/openapi-asks.ts'
import { lintFaults, type Parameter } from './support/openapi-document.ts'
import { holdBodies, holdQueries } from './support/openapi-requests.ts'
import { token } from './support/operator.ts'
import { root } from './support/process.ts'
import { startRedis } from './support/redis.ts'
import { until } from './support/until.ts'

const file = join(root, 'config/openapi/admin.yaml')
const contract = contractOf(file)
const { operations } = contract
/** Those of the console: its session takes the place of a token, and is no operation of the table. */
const ofConsole = operations.filter(({ path }) => path.startsWith('/console'))
const ofApi = operations.filter((each) => !ofConsole.includes(each))
const open = ofApi.filter(({ isOpen }) => isOpen)
const guarded = ofApi.filter(({ isOpen }) => !isOpen)
const single = guarded.filter(({ path }) => path.includes('{id}'))
const bodied = guarded.filter(({ method }) => method !== 'GET' && method !== 'HEAD')
/** Documented operations that ask the store. */
const stored = guarded.filter(({ path, responses }) => '503' in responses && path !== '/admin/live')
/** Changes of a key that exists. */
const edits = bodied.filter(({ path }) => path.startsWith('/admin/keys/{id}'))
/** Saving the file needs a header that names its version. */
const isSave = ({ method, path }: { method: string; path: string }): boolean =>
  method === 'PUT' && path === '/admin/config/file'
/** An admin address where the file may be read and saved. */
const withSave = '{ host: 127.0.0.1, port: 0, save: true }'
const nobody = 'k3yVb0TQnW8e'

type Admin = Awaited<ReturnType<typeof start>>

/** A gateway and its admin address; each answer to an operator is held to the document. */
async function start(t: Test, options: AdminOptions = {}) {
  const upstream = options.upstream ?? (await startUpstream(t))
  // To the same server by another name.
  const to = upstream.url.replace('127.0.0.1', 'localhost')
  const swap = `swap: { to: ["${to}"], steps: [50], every: 1h }`
  // Nobody listens there.
  const hook = '{ to: http://127.0.0.1:1, secret: sixteen characters, about: [key.created] }'
  const more = `${options.more ?? ''}\nnotices: [ ${hook} ]`
  const admin = await startAdmin(t, { upstreamMore: swap, ...options, upstream, more })
  const ask = contract.held(t, admin.ask)
  const written = (version: string, lines: string): Call =>
    contract.held(t, writtenCall(admin.url, version, lines))
  const { call, key, app } = admin.gateway
  /** The id of a new key, and of a request that was refused. */
  const fresh = async () => {
    const { id } = (await key()).key
    await call('GET', '/v1/pets', undefined, { 'x-request-id': id })
    await until(() => app.core.recentRefusals.find(id).length > 0)
    return id
  }
  return { ...admin, operate: contract.held(t, admin.operate), ask, written, fresh }
}

t.test('the document is sound by itself', async (t) => {
  t.strictSame(await lintFaults(file), [])
})

t.test('its operations are the routes of the admin address', async (t) => {
  const { admin } = await startAdmin(t)
  const documented = operations.map(({ method, path }) => `${method} ${path}`)
  const routes = routesIn(admin.printRoutes({ commonPrefix: false }))
  // The files of the console's page have other paths in each version, and only the page asks for them.
  const lasting = routes.filter((route) => !/ \/console\/[0-9a-f]{16}\//.test(route))
  t.ok(lasting.length < routes.length, 'the page has files')
  t.strictSame(lasting.sort(), documented.sort())
})

t.test('it is the table of operations, to the last parameter', (t) => {
  const served = table.filter((each) => each.where !== 'command line')
  const endpoints = served.flatMap((operation) => operation.at.map((at) => ({ at, operation })))
  const documented = guarded.filter(({ method }) => method !== 'HEAD')
  t.strictSame(
    documented.map(({ method, path }) => `${method} ${path}`).sort(),
    endpoints.map(({ at }) => at).sort(),
  )
  for (const { at, operation } of endpoints) {
    const [method = '', path = ''] = at.split(' ')
    const { name, role } = operation
    const parameters = parametersAt(at, operation.parameters)
    for (const each of guarded.filter((each) => each.path === path)) {
      const isHead = method === 'GET' && each.method === 'HEAD'
      if (each.method !== method && !isHead) continue
      t.strictSame([each.command, each.role], [name, role], `${each.method} ${path}`)
      const plain = plainParameters(parameters).filter(([name]) => !isInPath(name, path))
      const inPath = each.parameters.filter(({ in: place }) => place === 'path')
      t.equal(inPath.length, path.includes('{') ? 1 : 0, `${at}: its key`)
      const query = each.parameters.filter(({ in: place }) => place === 'query')
      const whole = Object.values(parameters).find((parameter) => 'types' in parameter)
      const asked = ['GET', 'DELETE'].includes(method) || whole ? plain : []
      t.strictSame(query.map(plainly).sort(), asked.map(documentedAs).sort(), `${at}: its query`)
      const types = whole?.types ?? (asked.length < plain.length ? ['application/json'] : [])
      t.strictSame(Object.keys(each.content), [...types], `${at}: its media types`)
      if (whole || types.length === 0) continue
      const { schema = {} } = each.content['application/json'] ?? {}
      t.strictSame(
        shapeOf(schema),
        shapeOf(bodySchema(withoutPath(parameters, path))),
        `${at}: its body`,
      )
    }
  }
  const here = table.flatMap((each) => (each.where === 'command line' ? [each] : []))
  for (const { name, because } of here) t.ok(because.length > 20, `${name} says why`)
  t.end()
})

/** A parameter of a query as a line: its name, and what it may be. */
function plainly({ name, schema: { type, minimum, maximum } }: Parameter): string {
  return JSON.stringify([name, type, minimum, maximum])
}

function documentedAs([name, { kind }]: ReturnType<typeof plainParameters>[number]): string {
  const { type, minimum, maximum } = kind.schema as Parameter['schema']
  return JSON.stringify([name, type, minimum, maximum])
}

type Shape = Readonly<{ [member: string]: Shape }>

/** The members of a body: with `!` if one must be there, with `?` if `null` takes it away. */
function shapeOf(schema: object): Shape {
  const { properties, required = [] } = [schema, ...choicesIn(schema)].find(hasMembers) ?? {}
  return Object.fromEntries(
    Object.entries(properties ?? {})
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => {
        const isNeeded = required.includes(name) ? '!' : ''
        return [name + isNeeded + (takesNull(member) ? '?' : ''), shapeOf(member)]
      }),
  )
}

function hasMembers(
  schema: object,
): schema is { properties: Record<string, object>; required?: readonly string[] } {
  return 'properties' in schema
}

function takesNull(schema: object): boolean {
  const types = [schema, ...choicesIn(schema)].map((each) => Reflect.get(each, 'type') as unknown)
  return types.flat().includes('null')
}

function choicesIn(schema: object): readonly object[] {
  const { anyOf, oneOf } = schema as { anyOf?: readonly object[]; oneOf?: readonly object[] }
  return anyOf ?? oneOf ?? []
}

/** The routes of a tree such as Fastify prints, with their parameters as a document has them. */
function routesIn(tree: string): string[] {
  const above: string[] = []
  return [...tree.matchAll(/^(.*)── (\S+) \((.+)\)$/gm)].flatMap(
    ([, indent = '', part = '', methods = '']) => {
      const depth = Math.floor(indent.length / 4)
      const path = (above[depth - 1] ?? '') + part.replace(/:(\w+)/g, '{$1}')
      above[depth] = path
      return methods.split(', ').map((method) => `${method} ${path}`)
    },
  )
}

t.test('the admin address answers all that is documented, and nothing else', async (t) => {
  const admin = await start(t, {
    more: `usage: { routes: true }
plans:
  free: { perMinute: 60, perDay: 1000, shadow: { perMinute: 1 } }
  pro: { perMinute: 300, perDay: 10000 }
  tiny: { perMinute: 1, perDay: 1 }
  enterprise: custom
deprecations:
  - operation: GET /v1/old
    since: 2025-12-05
    sunset: 2099-01-01
    extensions: [ { account: extended, until: 2100-01-01 } ]
strangers: { perMinute: 1000, perDay: 1000 }
bans: { strikes: 1, grace: 1ms }`,
    admin: withSave,
  })
  await t.test('to what is asked well', (t) => askWell(t, admin))
  await t.test('to what is asked badly', (t) => askBadly(t, admin))
  await t.test('to what is asked oddly', (t) => askOddly(t, admin))
  await t.test('to whoever may not ask', (t) => askUnallowed(t, admin))
  await t.test('to operators of each role', askInRoles)
  await t.test('to what cannot be read', (t) => askUnreadably(t, admin))
  await t.test('to who saves the file', (t) => askToSave(t, admin))
  await t.test('of a file that is unsound, and while it stops', (t) => askUnsoundly(t, admin))
  await t.test('while its own file is damaged', (t) => askDamaged(t, admin))
  await t.test('where others change the same, and when the store is gone', askInRedis)
  await t.test('while the present backend is gone', askUncompared)
  await t.test('by the console’s page', askConsole)
  t.strictSame(contract.unseen(), [])
})

async function askWell(t: Test, { ask, url, gateway, fresh }: Admin): Promise<void> {
  const busy = await busyKey(gateway)
  await ask('PUT', `/admin/bans/${busy}`, { for: '1m' })
  for (const points of [{ perDay: 5 }, { perMinute: 5, note: 'n' }]) {
    await ask('POST', `/admin/quota/${busy}/grant`, points)
  }
  await askOfPlans(t, ask, gateway)
  await ask('POST', '/admin/keys', { name: 'Told', plan: 'free' })
  const failed = async () => (await ask('GET', '/admin/notices?failed=true')).text
  await until(async () => (await failed()).includes('"tries":1'))
  const swaps = async () => (await ask('GET', '/admin/swaps')).text
  await until(async () => (await swaps()).includes('"state":"moving"'))
  const changeSwap = (verb: string, name = 'animals') =>
    ask('POST', `/admin/upstreams/${name}/swap/${verb}`)
  t.equal((await changeSwap('resume')).status, 409)
  for (const operation of ofApi) {
    const { method, path } = operation
    if (isSave(operation)) continue
    const isRead = method === 'GET' || method === 'HEAD'
    const id = isRead ? busy : await fresh()
    if (method === 'DELETE') await ask('PUT', `/admin/bans/${id}`, { for: '1m' })
    const examples = examplesOf(operation)
    if (examples.length === 0) {
      const { status, text } = await ask(method, targetOf(operation, id))
      t.ok(status < 300, `${method} ${path}: ${status}`)
      if (method === 'GET') t.not(text, '[]', `${path} tells of something`)
    }
    for (const { type, value } of examples) {
      const target = targetOf(operation, id)
      const { status, text } = await ask(method, target, value, { 'content-type': type })
      t.ok(status < 300, `${method} ${path} takes the examples of what it takes: ${text}`)
    }
  }
  t.match(json(await ask('POST', `/admin/keys/${busy}/rotate`)), { oldTokenUntil: /Z$/ })
  for (const verb of ['pause', 'finish', 'back']) {
    t.equal((await changeSwap(verb)).status, 409, `${verb}, of a swap that is back`)
  }
  for (const verb of ['pause', 'resume', 'finish', 'back']) {
    t.equal((await changeSwap(verb, 'nobody')).status, 404)
  }
  t.equal((await ask('GET', '/admin/swaps?upstream=nobody')).status, 404)
  t.equal((await ask('HEAD', '/admin/swaps?upstream=nobody')).status, 404)
  await askToCompare(t, ask, gateway)
  const earned = await bannedKey(gateway)
  await until(async () => {
    const { text } = await ask('GET', `/admin/quota/${earned}`)
    return /"ban":\{"by":"gateway","since":"[^"]+","strikes":1\}/.test(text)
  })
  t.match(json(await ask('GET', `/admin/keys/${earned}`)), { bannedUntil: /Z$/ })
  const events = { accept: 'text/event-stream' }
  await ask('HEAD', '/admin/live', undefined, events)
  const watch = contract.held(t, () => askEvents(t, url))
  for (let i = 0; i < mostStreams; i++) {
    t.equal((await watch('GET', '/admin/live')).status, 200)
  }
  t.equal((await ask('HEAD', '/admin/live', undefined, events)).status, 503)
  t.equal((await ask('GET', '/admin/live', undefined, events)).status, 503)
  const csv = { accept: 'text/csv' }
  for (const method of ['GET', 'HEAD']) {
    t.equal((await ask(method, '/admin/ledger?by=key', undefined, csv)).status, 200)
  }
  for (const method of ['GET', 'HEAD']) {
    await ask(method, '/admin/keys?all=true')
    await ask(method, '/admin/keys?limit=1')
    t.equal((await ask(method, '/admin/deprecations', undefined, csv)).status, 200)
  }
}

/** Compares a backend that would break something, while callers ask. */
async function askToCompare(t: Test, ask: Call, { call, key }: Admin['gateway']): Promise<void> {
  const other = await startUpstream(t, (_request, response) => {
    response.setHeader('content-type', 'application/json').end('{}')
  })
  const path = '/admin/upstreams/compare'
  const { headers } = await key({ plan: 'pro' })
  let isOver = false
  const compared = ask('POST', path, { url: other.url, share: '100%', for: '2s' }).finally(
    () => (isOver = true),
  )
  while (!isOver) await call('GET', '/v1/pets', undefined, headers)
  t.match(json(await compared), { fit: false, routes: [{ breaks: [{ what: '.up is missing' }] }] })
  const two = [1, 2].map(() => ask('POST', path, { url: other.url, for: '1s' }))
  const [taken, refused] = (await Promise.all(two)).sort((a, b) => a.status - b.status)
  t.strictSame([taken?.status, refused?.status], [200, 409])
  t.match(taken && json(taken), { ended: 'time', requests: { compared: 0 } })
  const events = { accept: 'text/event-stream' }
  t.match((await ask('POST', path, { url: other.url, for: '1s' }, events)).text, 'event: end\n')
}

/** Asks for previews of quotas that would be hit, and that were refused. */
async function askOfPlans(t: Test, ask: Call, { call, key }: Admin['gateway']): Promise<void> {
  for (const plan of ['free', 'tiny']) {
    const { headers } = await key({ plan, account: `acme ${plan}` })
    for (let i = 0; i < 2; i++) await call('GET', '/v1/pets', undefined, headers)
  }
  const json = { 'content-type': 'application/json' }
  const csv = { ...json, accept: 'text/csv' }
  const lower = { perMinute: 1, perDay: 1 }
  t.match((await ask('POST', '/admin/plans/free/preview', lower, json)).text, '"acme free"')
  t.match((await ask('POST', '/admin/plans/free/preview', lower, csv)).text, '"acme free"')
  t.match((await ask('POST', '/admin/plans/tiny/preview', { perDay: 2 })).text, '"acme tiny"')
  const changed = 'plans: { free: { perMinute: 1, perDay: 1 } }\nroutes: []'
  const yaml = { 'content-type': 'application/yaml' }
  const checked = await ask('POST', '/admin/config/check?impact=14', changed, yaml)
  t.match(checked.text, /"impact":.*"acme free"/)
  t.equal((await ask('POST', '/admin/config/check?impact=0', changed, yaml)).status, 400)
  t.equal((await ask('POST', '/admin/plans/gone/preview', lower, json)).status, 404)
  for (const method of ['GET', 'HEAD']) {
    t.equal((await ask(method, '/admin/plans/gone/demand')).status, 404)
    t.equal((await ask(method, '/admin/shadow?plan=gone')).status, 404)
    t.equal((await ask(method, '/admin/shadow', undefined, { accept: 'text/csv' })).status, 200)
  }
}

/** Begins to watch; gives the beginning of the answer, and leaves with its test. */
async function askEvents(t: Test, url: string): Promise<Answer> {
  const leaving = new AbortController()
  t.teardown(() => leaving.abort())
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const answer = await fetch(`${url}/admin/live`, { headers, signal: leaving.signal })
  const { value } = (await answer.body?.getReader().read()) ?? {}
  const text = new TextDecoder().decode(value)
  return { status: answer.status, headers: Object.fromEntries(answer.headers), text }
}

/** A key that has done what can be told of: it was let in, and refused. */
async function busyKey({ call, key, desk }: Admin['gateway']): Promise<string> {
  const { key: one, headers } = await key({
    ...{ limits: { perMinute: 1, perDay: 9 }, account: 'extended', test: true },
  })
  await call('GET', '/v1/old', undefined, headers)
  await call('GET', '/v1/pets', undefined, { ...headers, 'x-request-id': one.id })
  await desk.rotate(one.id, 60_000)
  const untilMs = Date.now() + 3_600_000
  const ends = { plan: untilMs, limits: untilMs }
  await desk.edit(one.id, desk.changing({ plan: 'pro', limits: { perMinute: 2, perDay: 8 } }, ends))
  return one.id
}

/** A key that went on after it was refused. */
async function bannedKey({ call, key }: Admin['gateway']): Promise<string> {
  const { key: one, headers } = await key({ limits: { perMinute: 1 } })
  await until(async () => {
    const { text } = await call('GET', '/v1/pets', undefined, headers)
    return text.includes('key_banned')
  })
  return one.id
}

async function askBadly(t: Test, admin: Admin): Promise<void> {
  const { ask, written, fresh } = admin
  const twoHosts = written('HTTP/1.1', 'Host: x\r\nHost: y\r\n\r\n')
  t.strictSame(await askAll(twoHosts, operations), [400])
  const lines = `Host: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`
  const large = written('HTTP/1.1', `${lines}Content-Length: ${64 * 2 ** 20 + 1}\r\n\r\n`)
  t.strictSame(await askAll(large, bodied), [413])
  t.strictSame(await askAll(ask, single, { id: nobody }), [404])
  t.equal((await ask('POST', '/admin/keys/find', { token: 'nobodys-token' })).status, 404)
  for (const method of ['GET', 'HEAD']) {
    t.equal((await ask(method, `/admin/deprecations?key=${nobody}`)).status, 404)
  }
  const account = 'nobodys'
  t.equal((await ask('PATCH', '/admin/keys', { account, plan: 'pro' })).status, 404)
  for (const what of ['disable', 'enable', 'revoke']) {
    t.equal((await ask('POST', `/admin/keys/${what}`, { account })).status, 404)
  }
  const revoked = await fresh()
  t.equal((await ask('POST', `/admin/keys/${revoked}/revoke`)).status, 200)
  t.strictSame(await askAll(ask, edits, { id: revoked }), [200, 409], 'only revoking it goes on')
  await askOtherwise(t, admin)
}

async function askOddly(t: Test, { ask, fresh }: Admin): Promise<void> {
  const id = await fresh()
  const parameters = new Set(operations.flatMap((each) => each.parameters))
  const known = [...parameters]
    .filter((each) => each.in === 'query')
    .map((each) => (each.example === 'k3yVb0TQnW8d' ? { ...each, example: id } : each))
  for (const operation of guarded) {
    const { method, path, content } = operation
    const asked = { ask, operation, target: targetOf(operation, id) }
    if (!bodied.includes(operation)) {
      await holdQueries(t, asked, known)
      continue
    }
    const types = Object.keys(content)
    const said = (types.length > 0 ? types : ['application/json']).join(' or ')
    const xml = json(await ask(method, asked.target, '<x/>', { 'content-type': 'text/xml' }))
    t.match(xml, { message: `Send the body as ${said}.`, status: 415 }, `${method} ${path}`)
    // A check answers that a text is unsound; a token can be imported once.
    const isChecked = path === '/admin/config/check' || isSave(operation)
    const isLong = path === '/admin/upstreams/compare'
    if (!isChecked) await holdBodies(t, asked, isLong || path === '/admin/keys/import')
  }
  t.strictSame(await askAll(ask, bodied, { id, query: '?all=true' }), [400])
}

const minuteNow = () => Math.floor(Date.now() / 60_000)

async function askUnallowed(t: Test, { operate }: Admin): Promise<void> {
  t.strictSame(await askAll(operate, guarded), [401])
  const headers = { authorization: 'Bearer nonsense' }
  t.strictSame(await askAll(operate, guarded, { headers }), [401])
  await t.test('and who has guessed too often', async (t) => {
    const { ask, operate } = await start(t, { more: 'strangers: { perMinute: 1, perDay: 1000 }' })
    const guess = async () => (await operate('GET', '/admin/keys', undefined, headers)).status
    let minute: number
    let statuses: number[]
    do {
      minute = minuteNow()
      while ((await guess()) !== 429);
      statuses = await askAll(operate, guarded, { headers })
      // Where a minute has ended meanwhile, some are heard again.
    } while (minuteNow() !== minute)
    t.strictSame(statuses, [429])
    t.equal(
      (await ask('GET', '/admin/keys')).status,
      200,
      'a token that works is not asked to wait',
    )
  })
  await t.test('where there is no token', async (t) => {
    const { ask } = await start(t, { tokens: '' })
    t.strictSame(await askAll(ask, guarded), [403])
    t.strictSame(await askAll(ask, open), [200])
  })
}

async function askInRoles(t: Test): Promise<void> {
  const names = { read: 'eve/read', support: 'bob/support', all: 'alice' }
  const tokens = Object.entries(names).map(([role, name]) => `${name}:the-token-for-${role}`)
  const { ask, fresh } = await start(t, { tokens: tokens.join(), admin: withSave })
  const all = { authorization: 'Bearer the-token-for-all' }
  const { text } = await ask('POST', '/admin/keys', { name: 'A', plan: 'free' }, all)
  const id = String((JSON.parse(text) as { id: string }).id)
  for (const [at, role] of roles.entries()) {
    const headers = { authorization: `Bearer the-token-for-${role}` }
    for (const operation of guarded) {
      const needed = roles.findIndex((each) => each === operation.role)
      const [status] = await askAll(ask, [operation], { id, headers })
      const named = `${operation.method} ${operation.path} as ${role}: ${status}`
      t.equal(status === 403, at < needed, named)
    }
  }
  const eve = { authorization: 'Bearer the-token-for-read' }
  const id2 = await fresh()
  t.match(await ask('POST', `/admin/keys/${id2}/rotate`, '{', eve), {
    text: /This needs the role support; eve has the role read\./,
  })
  const bob = { authorization: 'Bearer the-token-for-support' }
  t.equal((await ask('POST', `/admin/keys/${id2}/rotate`, {}, bob)).status, 200)
  t.match(json(await ask('GET', '/admin/audit?limit=1', undefined, eve)), [
    { what: 'keys.rotate', by: 'bob' },
  ])
}

/** Other methods of a path get 405, and `Allow` names the path's own. */
async function askOtherwise(t: Test, { url }: Admin): Promise<void> {
  const call = caller(url)
  for (const path of new Set(operations.map((each) => each.path))) {
    const target = path.replace('{id}', nobody)
    const fitting = operations.filter((each) => pathExpression(each.path).test(target))
    const documented = fitting.map(({ method }) => method).sort()
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      if (documented.includes(method)) continue
      const { status, headers } = await call(method, target)
      t.equal(status, 405, `${method} ${path} is no operation`)
      t.equal(headers['allow'], documented.join(', '), `${path} allows what is documented`)
    }
  }
}

async function askUnreadably(t: Test, { ask, written, admin }: Admin): Promise<void> {
  t.strictSame(await askAll(ask, operations, { query: `?${'x'.repeat(8_192)}` }), [414])
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`x-${i}`, 'x']))
  t.strictSame(await askAll(ask, operations, { headers: many }), [431])
  const elsewhere = { headers: { host: 'page.example' } }
  t.strictSame(await askAll(ask, operations, elsewhere), [421])
  const gzip = written('HTTP/1.1', 'Host: x\r\nTransfer-Encoding: gzip\r\n\r\n')
  t.strictSame(await askAll(gzip, operations), [501])
  t.strictSame(await askAll(written('HTTP/2.0', 'Host: x\r\n\r\n'), operations), [505])
  admin.server.headersTimeout = 200
  // Nobody knows of a request that doesn't end that it is HEAD, and wants no body.
  const others = operations.filter(({ method }) => method !== 'HEAD')
  t.strictSame(await askAll(written('HTTP/1.1', 'Host: x\r\n'), others), [408])
  admin.server.headersTimeout = 60_000
}

async function askToSave(t: Test, { ask, file }: Admin): Promise<void> {
  const path = '/admin/config/file'
  const yaml = { 'content-type': 'application/yaml' }
  const { text, headers } = await ask('GET', path)
  t.equal(text, readFileSync(file, 'utf8'))
  const match = { ...yaml, 'if-match': String(headers['etag']) }
  const asJson = json(await ask('GET', path, undefined, { accept: 'application/json' }))
  await ask('HEAD', path, undefined, { accept: 'application/json' })
  t.strictSame(asJson, { file, text, hash: match['if-match'].slice(1, -1) })
  t.equal((await ask('PUT', path, text, yaml)).status, 428)
  t.match(json(await ask('PUT', path, text, match)), { result: 'unchanged' })
  t.match(json(await ask('PUT', path, `${text}# more\n`, match)), { result: 'changed' })
  t.equal((await ask('PUT', path, text, match)).status, 412)
  const latest = async () => String((await ask('GET', path)).headers['etag'])
  const unsound = await ask('PUT', path, 'plans: 5', { ...yaml, 'if-match': await latest() })
  t.match(json(unsound), {
    status: 400,
    message: /^Nothing was saved: body:1:1: routes is missing; body:1:8/,
  })
  await chmod(file, 0o444)
  t.equal((await ask('PUT', path, text, { ...yaml, 'if-match': await latest() })).status, 409)
  await chmod(file, 0o644)
  const whole = readFileSync(file)
  await writeFile(file, Buffer.concat([whole, Buffer.from([0x23, 0xff, 0x0a])]))
  t.strictSame([(await ask('GET', path)).status, (await ask('HEAD', path)).status], [409, 409])
  await writeFile(file, whole)
}

async function askUnsoundly(t: Test, { ask, write, stop }: Admin): Promise<void> {
  write((text) => text.replace('plans:', 'plams:'))
  t.equal((await ask('POST', '/admin/config/reload')).status, 409)
  t.match(json(await ask('GET', '/readyz')), { ready: true, config: { mistakes: 1 } })
  t.match(json(await ask('GET', '/admin/live')), { configs: [{ refusals: [{}] }] })
  write((text) => text.replace('plams:', 'plans:'))
  stop()
  t.strictSame(await askAll(ask, open), [200, 503])
  t.match(json(await ask('GET', '/readyz')), { ready: false, stopping: true })
}

async function askDamaged(t: Test, { ask, gateway, fresh }: Admin): Promise<void> {
  const id = await fresh()
  const other = openGatewayFile(gateway.config.store.file)
  t.teardown(() => other.close())
  const tables = ['keys', 'quotas', 'tallies', 'audit', 'refusals', 'swaps', 'notices']
  for (const table of tables) other.exec(`ALTER TABLE ${table} RENAME TO lost_${table}`)
  // An embedded gateway knows of itself without its file.
  const asked = stored.filter(({ path }) => path !== '/admin/gateways')
  t.strictSame(await askAll(ask, asked, { id }), [500])
  for (const table of tables) other.exec(`ALTER TABLE lost_${table} RENAME TO ${table}`)
  const others = guarded.filter((each) => !stored.includes(each) && !isSave(each))
  t.strictSame(await askAll(ask, others, { id }), [200], 'what does not ask the store goes on')
}

async function askUncompared(t: Test): Promise<void> {
  const url = 'http://127.0.0.1:1'
  const upstreamMore = 'probes: [ { request: GET /v1/pets } ]'
  const { ask } = await start(t, { upstream: { url, seen: [] }, upstreamMore })
  const checked = await ask('POST', '/admin/upstreams/check', { url: (await startUpstream(t)).url })
  t.match(json(checked), { fit: false, findings: [{}, { compared: false }] })
}

async function askConsole(t: Test): Promise<void> {
  let now = Date.now()
  const { operate } = await start(t, { clock: () => now })
  const url = '/console/session'
  const own = { 'sec-fetch-site': 'same-origin' }
  const ofSession = ofConsole.filter(({ path }) => path === url)
  const reads = ofSession.filter(({ method }) => method === 'GET' || method === 'HEAD')
  const ofPage = ofConsole.filter(({ path }) => path !== url)
  t.strictSame(await askAll(operate, ofPage), [200, 308])
  t.strictSame(await askAll(operate, ofSession), [403], 'another page')
  t.strictSame(await askAll(operate, ofSession, { headers: own, query: '?x=1' }), [400])
  t.strictSame(await askAll(operate, reads, { headers: own }), [401])
  const stale = { ...own, cookie: 'tollgate_console=x' }
  t.strictSame(await askAll(operate, reads, { headers: stale }), [401])

  const signedIn = await operate('POST', url, { token }, own)
  t.equal(signedIn.status, 201)
  const [cookie = ''] = String(signedIn.headers['set-cookie']).split(';')
  const headers = { ...own, cookie, 'x-console-secret': String(json(signedIn)['secret']) }
  now += 60_000
  t.strictSame(await askAll(operate, reads, { headers }), [200])

  const xml = { ...own, 'content-type': 'text/xml' }
  t.equal((await operate('POST', url, '<x/>', xml)).status, 415)
  t.equal((await operate('POST', url, { token: 'x'.repeat(20_000) }, own)).status, 413)
  const statuses = new Set<number>()
  for (let i = 0; i < 6; i++) {
    statuses.add((await operate('POST', url, { token: 'nobodys-token-at-all' }, own)).status)
  }
  t.strictSame([...statuses], [401, 429])
  t.equal((await operate('DELETE', url, undefined, headers)).status, 204)
}

async function askInRedis(t: Test): Promise<void> {
  const redis = await startRedis(t)
  const { ask, fresh } = await start(t, { store: `redis: "${redis.url}"`, admin: withSave })
  await until(async () => (await ask('GET', '/admin/bans')).status === 200)
  for (const operation of edits) {
    const target = targetOf(operation, await fresh())
    const body = examplesOf(operation)[0]?.value
    const statuses = new Set<number>()
    for (let round = 0; round < 10 && statuses.size < 2; round++) {
      const asked = Array.from({ length: 40 }, () => ask(operation.method, target, body))
      for (const { status } of await Promise.all(asked)) statuses.add(status)
    }
    t.strictSame([...statuses].sort(), [200, 409], `${target}, by forty at a time`)
  }
  await redis.client.set('tollgate:{keys}:import', 'another', 'PX', 60_000)
  const rows = Array.from({ length: 501 }, (_, i) => `many-tokens-${i},free`)
  const csv = { 'content-type': 'text/csv' }
  const many = ['token,plan', ...rows].join('\n')
  t.equal((await ask('POST', '/admin/keys/import', many, csv)).status, 409)
  const id = await fresh()
  await redis.kill()
  t.strictSame(await askAll(ask, stored, { id }), [503])
  const others = ofApi.filter((each) => !stored.includes(each) && !isSave(each))
  t.strictSame(await askAll(ask, others, { id }), [200], 'what does not ask the store goes on')
}
