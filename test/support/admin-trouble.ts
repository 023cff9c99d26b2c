import { readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import type { Test } from 'tap'
import { roles } from '../../shared/role.ts'
import { openGatewayFile } from '../../gateway/front/stores/embedded/database.ts'
import {
  edits,
  guarded,
  isSave,
  ofApi,
  ofConsole,
  open,
  operations,
  start,
  stored,
  withSave,
  type Admin,
} from './admin-contract.ts'
import { startUpstream } from './gateway.ts'
import { json } from './http.ts'
import { askAll, examplesOf, targetOf } from './openapi-asks.ts'
import { token } from './operator.ts'
import { startRedis } from './redis.ts'
import { until } from './until.ts'

const minuteNow = () => Math.floor(Date.now() / 60_000)

/** Asks without a token, with a wrong one, as a guesser, and where there is none: 401, 429 and 403. */
export async function askUnallowed(t: Test, { operate }: Admin): Promise<void> {
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

/** Asks as an operator of each role: those below the needed one get 403. */
export async function askInRoles(t: Test): Promise<void> {
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

/** Sends what can't be read as a request: 400s and 500s of HTTP itself. */
export async function askUnreadably(t: Test, { ask, written, admin }: Admin): Promise<void> {
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

/** Reads the configuration's file, and saves it well, late, unsound and where it can't be written. */
export async function askToSave(t: Test, { ask, file }: Admin): Promise<void> {
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

/** Asks while the configuration's file is unsound, and from then on while the gateway stops. */
export async function askUnsoundly(t: Test, { ask, write, stop, gateway }: Admin): Promise<void> {
  write((text) => text.replace('plans:', 'plams:'))
  t.equal((await ask('POST', '/admin/config/reload')).status, 409)
  const set = { deprecations: Array.from({ length: 60 }, () => ({})) }
  t.match(json(await ask('POST', '/admin/config/edit', { set })), { more: 20 })
  gateway.app.office.storeWarnings.emptied()
  t.match(json(await ask('GET', '/readyz')), {
    ready: true,
    warnings: [/emptied/],
    config: { mistakes: 1 },
  })
  t.match(json(await ask('GET', '/admin/live')), { configs: [{ refusals: [{}] }] })
  const wrong = Array.from({ length: 130 }, (_, i) => `x${i}: 1\n`).join('')
  write((text) => `${text.replace('plams:', 'plans:')}${wrong}`)
  t.equal((await ask('POST', '/admin/config/reload')).status, 409)
  t.match(json(await ask('GET', '/admin/config')), { more: 30 })
  write((text) => text.replace(wrong, ''))
  stop()
  t.strictSame(await askAll(ask, open), [200, 503])
  t.match(json(await ask('GET', '/readyz')), { ready: false, stopping: true })
}

/** Asks while tables of the store are missing: 500 where the store is asked. */
export async function askDamaged(t: Test, { ask, gateway, fresh }: Admin): Promise<void> {
  const id = await fresh()
  const other = openGatewayFile(gateway.config.store.file)
  t.teardown(() => other.close())
  const tables = [
    'keys',
    'quotas',
    'counts_tallies',
    'list_audit',
    'counts_timeline',
    'documents',
    'list_notices',
  ]
  for (const table of tables) other.exec(`ALTER TABLE ${table} RENAME TO lost_${table}`)
  // An embedded gateway knows of itself without its file.
  const asked = stored.filter(({ path }) => path !== '/admin/gateways')
  t.strictSame(await askAll(ask, asked, { id }), [500])
  for (const table of tables) other.exec(`ALTER TABLE lost_${table} RENAME TO ${table}`)
  const others = guarded.filter((each) => !stored.includes(each) && !isSave(each))
  t.strictSame(await askAll(ask, others, { id }), [200], 'what does not ask the store goes on')
}

/** Checks a backend while the present one is gone, and another one meanwhile. */
export async function askUncompared(t: Test): Promise<void> {
  const url = 'http://127.0.0.1:1'
  const upstreamMore =
    'probes: [ { request: GET /v1/pets } ], health: { path: /healthz, every: 50ms, unhealthyAfter: 1 }'
  const { ask, gateway } = await start(t, { upstream: { url, seen: [] }, upstreamMore })
  let goOn: () => void = () => undefined
  const candidate = await startUpstream(t, (_request, response) => {
    goOn = () => response.end('{}')
  })
  const check = () => ask('POST', '/admin/upstreams/check', { url: candidate.url })
  const checked = check()
  await until(() => candidate.seen.length > 0)
  t.equal((await check()).status, 409)
  goOn()
  t.match(json(await checked), { fit: false, findings: [{}, { compared: false }] })
  await gateway.call('GET', '/v1/pets', undefined, (await gateway.key()).headers)
  await until(async () => (await ask('GET', '/admin/live')).text.includes('connection refused'))
}

/** Asks as the console's page does, and as others try to. */
export async function askConsole(t: Test): Promise<void> {
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

/** Changes the same at once from many sides, 409, then asks when Redis is gone, 503. */
export async function askInRedis(t: Test): Promise<void> {
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
