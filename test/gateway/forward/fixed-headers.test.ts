import t, { type Test } from 'tap'
import { WebSocket } from 'undici'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { startAdmin } from '../../support/admin.ts'
import { startCollector } from '../../support/collector.ts'
import { runCommand } from '../../support/command.ts'
import { startForCaller } from '../../support/first-caller.ts'
import { configFor, startUpstream, type Upstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startModelsWithKey, valuesOf } from '../../support/model-server.ts'
import { isAt, swapOf, unlimitedPlan } from '../../support/sides.ts'
import { tracing } from '../../support/spans.ts'
import { until } from '../../support/until.ts'

const key = { authorization: 'Bearer sk-canary-1', 'x-api-key': 'canary-2' }
const forward = `forward: { headers: ${JSON.stringify(key)} }`
const checked = 'health: { path: /healthz, every: 10ms }'
const chat = { model: 'echo', messages: [{ role: 'user', content: 'one two' }] }
const forged = ['X-Api-Key: mine', 'X_Api_Key: mine', 'x.api-key: mine', 'authorization-: mine']

/** Whether none of the requests of a backend has brought a header of the key. */
const nothingOf = ({ seen }: Upstream): boolean =>
  seen.every((request) => Object.keys(key).every((name) => valuesOf(request, name).length === 0))

t.test('a backend gets its key with whatever the gateway sends, just once', async (t) => {
  const models = await startModelsWithKey(t, key)
  const isUnknown = await fetch(`${models.url}/v1/models`, {
    headers: { ...key, 'x-api-key': 'canary-2, mine' },
  })
  t.equal(isUnknown.status, 401, 'it insists on that')
  models.refused.length = 0
  const { get, ask, call, url, headers, log } = await withLog(t, {
    targets: `[ "http://127.0.0.1:1", "${models.url}" ]`,
    upstreamMore: `${forward}, ${checked}`,
  })

  const lines = forged.map((line) => `${line}\r\n`).join('')
  t.match(await ask('GET /v1/models', lines), /^HTTP\/1\.1 200/)
  t.match(await ask('GET /v1/models', 'Connection: x-api-key, authorization\r\n'), / 200 /)
  for (let i = 0; i < 4; i++) t.equal((await get('/v1/models')).status, 200, 'and with each try')
  // A POST isn't tried again: a check must have found that nobody is at the first target.
  await until(
    async () => (await call('POST', '/v1/chat/completions', chat, headers)).status === 200,
  )

  const socket = new WebSocket(`${url.replace('http:', 'ws:')}/v1/realtime`, {
    headers: { ...headers, 'x-api-key': 'mine' },
  })
  const heard = await new Promise<unknown>((resolve) => {
    socket.onmessage = ({ data }) => resolve(data)
    socket.onerror = ({ error }) => resolve(error)
  })
  t.equal(heard, 'hi')

  const checks = () => models.seen.filter((request) => request.url === '/healthz').length
  const before = checks()
  await until(() => checks() > before + 2)
  t.strictSame(models.refused, [])
  t.notMatch(log.join(''), /canary|mine/)
})

/** A gateway for a caller, and all that it logs. */
async function withLog(t: Test, options: Parameters<typeof startForCaller>[1]) {
  const log: string[] = []
  const target = { write: (line: string) => void log.push(line) }
  return { ...(await startForCaller(t, { ...options, log: { level: 'trace', target } })), log }
}

t.test('callers may have their own keys in a header of that name', async (t) => {
  const models = await startModelsWithKey(t, key)
  const more = 'keys: { from: [x-api-key, authorization] }'
  const { call, token } = await startForCaller(t, {
    ...{ upstream: models, upstreamMore: forward, more },
  })
  for (const headers of [{ 'x-api-key': token }, { authorization: `Bearer ${token}` }]) {
    t.equal((await call('GET', '/v1/models', undefined, headers)).status, 200)
  }
})

t.test('beside them the gateway says what only it may say', async (t) => {
  const upstream = await startUpstream(t)
  const collector = await startCollector(t)
  const { get } = await startForCaller(t, {
    upstream,
    upstreamMore: 'forward: { headers: { X-Tenant: acme, x-zone: "7" } }',
    more: tracing(collector),
    secret: 'a-secret',
  })
  await get('/v1/x')
  t.match(upstream.seen[0]?.headers, {
    ...{ 'x-tenant': 'acme', 'x-zone': '7', via: '1.1 tollgate' },
    ...{ traceparent: /^00-/, signature: /./, 'x-caller-plan': 'free' },
  })
})

t.test('a changed key is sent with the next request', async (t) => {
  const models = await startModelsWithKey(t, { 'x-api-key': 'new' })
  const store = 'file: ":memory:"'
  const withKey = (value: string) => ({
    upstream: models,
    upstreamMore: `forward: { headers: { x-api-key: ${value} } }, ${checked}`,
  })
  const { get, app } = await startForCaller(t, { ...withKey('old'), store })
  await until(async () => (await get('/v1/models')).status === 503)
  const text = configFor(models.url, store, withKey('new'))
  await app.change(parseConfig(text, {}, 'test.yaml'))
  t.equal((await get('/v1/models')).status, 200)
})

t.test('the new side of a swap has the key, also for the check before it', async (t) => {
  const [old, next] = [await startModelsWithKey(t, key), await startModelsWithKey(t, key)]
  let now = Date.now()
  const swap = `swap: { to: ["${next.url}"], steps: [100], every: 5m }`
  const probes = 'probes: [ { request: GET /v1/models, status: 200 } ]'
  const { gateway } = await startAdmin(t, {
    ...{ upstream: old, upstreamMore: `${forward}, ${checked}, ${swap}, ${probes}` },
    ...{ more: unlimitedPlan, clock: () => now },
  })
  await until(() => swapOf(gateway).progress?.state === 'moving')
  now += 2_000
  await until(isAt(gateway, 0))
  const { headers } = await gateway.key()
  t.equal((await gateway.call('GET', '/v1/asked', undefined, headers)).status, 200)
  t.ok(next.seen.some((request) => request.url === '/v1/asked'))
  t.strictSame([...old.refused, ...next.refused], [])
})

t.test('an address that the upstream doesn’t name never gets the key', async (t) => {
  const models = await startModelsWithKey(t, key)
  const [locked, open] = [await startModelsWithKey(t, key), await startUpstream(t)]
  const probes = 'probes: [ { request: GET /v1/models } ]'
  const { ask, file } = await startAdmin(t, {
    ...{ upstream: models, upstreamMore: `${forward}, ${checked}, ${probes}` },
  })
  const check = async (url: string) => json(await ask('POST', '/admin/upstreams/check', { url }))
  t.match(await check(locked.url), {
    fit: false,
    findings: [
      { got: '401', breaks: [], compared: false },
      { breaks: [], compared: false, note: /^not compared: forward\.headers go only to targets/ },
    ],
  })
  t.match(await check(open.url), { findings: [{ got: '200' }, { got: '200', compared: true }] })
  t.match(
    await check(models.url.replace('127.0.0.1', 'LOCALHOST')),
    { fit: false },
    'as it is named',
  )
  models.refused.length = 0
  t.match(await check(models.url), { fit: true }, 'the present one has it')

  const byHand = await runCommand(['upstream', 'check', locked.url, '--config', file], {})
  t.match(byHand.out, /go only to targets that the upstream names[^]*Nothing was compared in 2 of/)
  t.notMatch(byHand.out, 'is it running?')
  t.ok(nothingOf(open) && nothingOf(locked))
  t.strictSame(models.refused, [])
})
