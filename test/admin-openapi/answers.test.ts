import t, { type Test } from 'tap'
import { mostStreams } from '../../gateway/office/admin/events.ts'
import { pathExpression } from '../../gateway/front/http/paths.ts'
import {
  bodied,
  contract,
  edits,
  guarded,
  isSave,
  manyOfOptional,
  nobody,
  ofApi,
  operations,
  single,
  start,
  withSave,
  type Admin,
} from '../support/admin-contract.ts'
import { askCosts } from '../support/admin-costs.ts'
import { askIssuers } from '../support/admin-issuers.ts'
import {
  askConsole,
  askDamaged,
  askInRedis,
  askInRoles,
  askToSave,
  askUnallowed,
  askUncompared,
  askUnreadably,
  askUnsoundly,
} from '../support/admin-trouble.ts'
import { caller, json, type Answer, type Call } from '../support/http.ts'
import { askAll, examplesOf, targetOf } from '../support/openapi-asks.ts'
import { holdBodies, holdQueries } from '../support/openapi-requests.ts'
import { token } from '../support/operator.ts'
import { startRedis } from '../support/redis.ts'
import { byLimit, optionalWindows, windows } from '../../shared/windows.ts'
import { until } from '../support/until.ts'

t.test('the admin address answers all that is documented, and nothing else', async (t) => {
  const admin = await start(t, {
    more: `plans:
  free: { perMinute: 60, perDay: 1000, shadow: { perSecond: 1, perMinute: 1, perHour: 1, perWeek: 1, perMonth: 1 } }
  pro: { perMinute: 300, perDay: 10000 }
  tiny: { perMinute: 1, perDay: 1 }
${optionalWindows.map(({ name, limit }) => `  ${name}: { perMinute: 9, perDay: 9, ${limit}: 1 }`).join('\n')}
  enterprise: custom
  once: { perMinute: 60, atOnce: 1 }
  bought: { perMinute: 60, perMonth: { limit: 1, beyond: prepaid } }
  parts:
    perMinute: 90
    perDay: 900
    operations:
      reads: { paths: [/v1/*], ${windows.map(({ limit }) => `${limit}: 5`).join(', ')} }
      one: { methods: [GET], perMinute: 1 }
deprecations:
  - operation: GET /v1/old
    since: 2025-12-05
    sunset: 2099-01-01
    extensions: [ { account: extended, until: 2100-01-01 } ]
strangers: { perMinute: 1000, perDay: 1000 }
bans: { strikes: 1, grace: 1ms }`,
    routes: `
  - { path: /v1/*, upstream: animals }
  - { path: /v1/scoped, upstream: animals, scopes: [scoped] }`,
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
  await t.test('of answers that tell their cost', askCosts)
  await t.test('of callers with JWTs', askIssuers)
  await t.test('and no other answer is documented', async (t) => {
    // Without one, some of them couldn't be seen.
    await startRedis(t)
    t.strictSame(contract.unseen(), [])
  })
})

async function askWell(t: Test, { ask, url, gateway, fresh }: Admin): Promise<void> {
  const busy = await busyKey(gateway)
  for (const id of await partedKeys(gateway)) {
    for (const path of [
      `/admin/keys/${id}`,
      `/admin/requests/${id}`,
      `/admin/quota/${id}`,
      `/admin/keys/${id}/timeline`,
    ]) {
      t.equal((await ask('GET', path)).status, 200, path)
    }
  }
  await ask('PUT', `/admin/bans/${busy}`, { for: '1m', note: 'n' })
  t.equal((await ask('GET', `/admin/quota/${busy}`)).status, 200)
  await askOfActs(t, ask)
  for (const points of [
    { perDay: 5, perHour: 5, perWeek: 5, perMonth: 5 },
    { perMinute: 5, note: 'n' },
  ]) {
    await ask('POST', `/admin/quota/${busy}/grant`, points)
  }
  // The second may end before it is told.
  await until(async () => {
    const { text } = await ask('POST', `/admin/quota/${busy}/grant`, { perSecond: 5 })
    return text.includes('"perSecond":5')
  })
  await askOfPlans(t, ask, gateway)
  const earned = await bannedKey(gateway)
  const { key: bought } = await gateway.key({ plan: 'bought' })
  t.equal((await ask('GET', `/admin/quota/${bought.id}`)).status, 200)
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
    const id = path.includes('/top-up') ? bought.id : isRead ? busy : await fresh()
    if (method === 'DELETE') await ask('PUT', `/admin/bans/${id}`, { for: '1m' })
    const examples = examplesOf(operation)
    if (examples.length === 0) {
      const { status, text } = await ask(method, targetOf(operation, id))
      t.ok(status < 300, `${method} ${path}: ${status}`)
      // Without issuers, which have a test of their own, the list is empty.
      if (method === 'GET' && path !== '/admin/jwt') t.not(text, '[]', `${path} tells of something`)
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
    t.equal((await ask(method, '/admin/keys?plan=free', undefined, csv)).status, 200)
    t.equal((await ask(method, '/admin/deprecations', undefined, csv)).status, 200)
  }
}

/** Asks for acts on several keys, which the audit tells in a line each. */
async function askOfActs(t: Test, ask: Call): Promise<void> {
  const csv = { 'content-type': 'text/csv' }
  const rows = 'token,plan,account\ntoken-of-acts-1,free,acts\ntoken-of-acts-2,free,acts\n'
  for (const skipped of [0, 2]) {
    const { text } = await ask('POST', '/admin/keys/import?skipExisting=true', rows, csv)
    t.equal(text, JSON.stringify({ imported: 2 - skipped, skipped }))
  }
  t.equal((await ask('POST', '/admin/keys/disable', { account: 'acts' })).status, 200)
  t.match((await ask('GET', '/admin/audit?limit=1')).text, '"act":{')
}

/** Asks for previews of quotas that would be hit, and that were refused. */
async function askOfPlans(t: Test, ask: Call, { call, key }: Admin['gateway']): Promise<void> {
  for (const plan of ['free', 'tiny', ...optionalWindows.map(({ name }) => name)]) {
    const { headers } = await key({ plan, account: `acme ${plan}` })
    for (let i = 0; i < 2; i++) await call('GET', '/v1/pets', undefined, headers)
  }
  const json = { 'content-type': 'application/json' }
  const csv = { ...json, accept: 'text/csv' }
  const lower = { perMinute: 1, perDay: 1 }
  t.match((await ask('POST', '/admin/plans/free/preview', lower, json)).text, '"acme free"')
  t.match((await ask('POST', '/admin/plans/free/preview', lower, csv)).text, '"acme free"')
  t.match((await ask('POST', '/admin/plans/tiny/preview', { perDay: 2 })).text, '"acme tiny"')
  const first = Object.fromEntries(optionalWindows.map(({ limit }) => [limit, 1]))
  t.match((await ask('POST', '/admin/plans/free/preview', first, json)).text, '"acme free"')
  for (const { name, limit } of optionalWindows) {
    const { text } = await ask('POST', `/admin/plans/${name}/preview`, { [limit]: 2 }, json)
    t.match(text, `"acme ${name}"`)
    t.match((await ask('GET', `/admin/plans/${name}/demand`)).text, `"${name}":`)
    t.match((await ask('GET', '/admin/usage')).text, `"${name}":1`)
  }
  t.match((await ask('GET', '/admin/shadow')).text, '"month":1')
  const changed = 'plans: { free: { perMinute: 1, perDay: 1 } }\nroutes: []'
  const yaml = { 'content-type': 'application/yaml' }
  const checked = await ask('POST', '/admin/config/check?impact=14', changed, yaml)
  t.match(checked.text, /"impact":.*"acme free"/)
  t.equal((await ask('POST', '/admin/config/check?impact=0', changed, yaml)).status, 400)
  const wrong = `{ routes: [${'{},'.repeat(80)}] }`
  t.match((await ask('POST', '/admin/config/check', wrong, yaml)).text, '"more":61')
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
    ...{
      limits: { ...manyOfOptional, perMinute: 1, perDay: 9, atOnce: 5 },
      account: 'extended',
      test: true,
    },
  })
  await call('GET', '/v1/old', undefined, headers)
  await call('GET', '/v1/pets', undefined, { ...headers, 'x-request-id': one.id })
  await desk.rotate(one.id, 60_000)
  const limits = { ...manyOfOptional, perMinute: 2, perDay: 8, atOnce: 'unlimited' as const }
  await desk.edit(one.id, desk.changing({ plan: 'pro', limits }))
  return one.id
}

/** Keys that were refused by an operation of their plan, by their cap, for want of a scope, and beside one under way. */
async function partedKeys({ call, key, app }: Admin['gateway']): Promise<string[]> {
  const made = [
    await key({
      plan: 'parts',
      account: 'parted',
      cap: { ...byLimit(() => 9), atOnce: 9 },
      name: 'Operation',
    }),
    await key({ plan: 'parts', account: 'capped', cap: byLimit(() => 1), name: 'Cap' }),
  ]
  for (const { headers, key: one } of made) {
    for (let i = 0; i < 6; i++) {
      await call('GET', '/v1/pets', undefined, { ...headers, 'x-request-id': one.id })
    }
  }
  const scoped = await key({ scopes: ['other'], name: 'Scoped' })
  await call('GET', '/v1/scoped', undefined, { ...scoped.headers, 'x-request-id': scoped.key.id })
  const once = await key({ plan: 'once', name: 'Once', account: 'crowded' })
  // The request of another gateway.
  const told = {
    by: 'other',
    number: 1,
    settled: 0,
    held: new Map(['', 'op:one', 'cap:x'].map((part) => [part, 1])),
  }
  await app.front.stores.quota.tellPlaces([{ quota: 'account:crowded', told }])
  await call('GET', '/v1/pets', undefined, { ...once.headers, 'x-request-id': once.key.id })
  await app.front.flushCounts()
  return [...made, scoped, once].map(({ key: one }) => one.id)
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

async function askOddly(t: Test, { ask, fresh, gateway }: Admin): Promise<void> {
  const id = await fresh()
  const { key: bought } = await gateway.key({ plan: 'bought' })
  await ask('POST', `/admin/quota/${bought.id}/top-up`, { points: 9_000, id: 'all' })
  const parameters = new Set(operations.flatMap((each) => each.parameters))
  const known = [...parameters]
    .filter((each) => each.in === 'query')
    .map((each) => (each.example === 'k3yVb0TQnW8d' ? { ...each, example: id } : each))
  for (const operation of guarded) {
    const { method, path, content } = operation
    // Others may have taken away what this one changes.
    const isOfBought = operation.path.includes('/top-up')
    const own = isOfBought ? bought.id : single.includes(operation) ? await fresh() : id
    const asked = { ask, operation, target: targetOf(operation, own) }
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
    if (!isChecked) await holdBodies(t, asked, path === '/admin/keys/import')
  }
  t.strictSame(await askAll(ask, bodied, { id, query: '?all=true' }), [400])
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
