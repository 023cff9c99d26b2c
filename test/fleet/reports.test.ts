import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { request } from 'undici'
import type { KeySettings } from '../../gateway/front/keys/key.ts'
import type { LedgerLine } from '../../gateway/office/ledger/lines.ts'
import { mostQuestions } from '../../gateway/office/thread/office-thread.ts'
import { newKey } from '../contracts/keys.ts'
import { startAdmin } from '../support/admin.ts'
import { runCommand } from '../support/command.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, json, type Answer } from '../support/http.ts'
import { startAsProcess as start, token } from '../support/operator.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const plans = `plans:
  free: { perMinute: 60, perDay: 1000, shadow: { perMinute: 2, perDay: 2 } }
  pro: custom
deprecations: [ { operation: "GET /v1/old", since: 2026-01-01 } ]`

/** A caller's requests, so that there is something to report. */
async function send(call: (path: string) => Promise<unknown>): Promise<void> {
  for (const path of ['/v1/pets', '/v1/old', '/v1/pets', '/v1/pets']) await call(path)
}

/** A list, which is streamed in any order, in the order of its texts. */
function inOrder(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  return value.map((each) => JSON.stringify(each)).sort()
}

/** The threads of a process that let others go first. */
function niceThreads(pid = 0): number {
  const niceIn = (id: string): number => {
    const stat = readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')')).split(' ')[17])
  }
  return readdirSync(`/proc/${pid}/task`).filter((id) => niceIn(id) > 0).length
}

/** A gateway in this process, or one of its own with Redis, where a thread could keep it from ending. */
async function startReporting(t: Test, kind: 'embedded' | 'redis') {
  if (kind === 'embedded') {
    const { gateway, ...at } = await startAdmin(t, { more: plans, thread: {} })
    const key = async (settings: Partial<KeySettings>) => (await gateway.key(settings)).headers
    return { ...at, key, call: gateway.call, pid: process.pid }
  }
  const upstream = (await startUpstream(t)).url
  const store = `redis: '${(await startRedis(t)).url}'`
  const at = await start(t, { upstream, store, more: plans })
  const end = async (): Promise<void> => {
    at.gateway.signal('SIGTERM')
    t.equal((await at.gateway.ended).code, 0)
  }
  return { ...at, call: caller(at.url), pid: at.gateway.child.pid, end }
}

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`${kind}: a gateway reports what the commands report`, async (t) => {
    const at = await startReporting(t, kind)
    const { ask, operate, call, file, pid } = at
    const run = (...words: string[]) => runCommand([...words, '--config', file], {})
    const runJson = async (...words: string[]): Promise<unknown> =>
      JSON.parse((await run(...words, '--json')).stdout)
    const issued = await Promise.all([
      at.key({ plan: 'free', name: 'Acme', account: 'acme' }),
      at.key({ plan: 'free', name: 'Zoo' }),
    ])
    for (const headers of issued) await send((path) => call('GET', path, undefined, headers))
    const lower = { perDay: 2, days: 2 }
    const preview = await ask('POST', '/admin/plans/free/preview', lower)
    if (process.platform === 'linux') t.equal(niceThreads(pid), 1)
    t.match(json(preview), { hitQuotas: 2, hitNow: 2, quotas: 2 }, 'counters are those of now')
    const pairs: [Promise<Answer>, string[]][] = [
      [Promise.resolve(preview), ['plans', 'preview', 'free', '--per-day', '2', '--days', '2']],
      [ask('GET', '/admin/plans/free/demand'), ['plans', 'demand', 'free']],
      [ask('GET', '/admin/shadow'), ['shadow', 'report']],
      [ask('GET', '/admin/deprecations'), ['deprecations', 'report']],
      [ask('GET', '/admin/deprecations/days'), ['deprecations', 'days']],
      [ask('GET', '/admin/usage'), ['usage']],
      [ask('GET', '/admin/keys?neverUsed=true'), ['keys', 'list', '--never-used']],
      [ask('GET', '/admin/keys'), ['keys', 'list']],
    ]
    for (const [asked, command] of pairs) {
      const { status, text, headers } = await asked
      t.equal(status, 200)
      t.equal(headers['content-type'], 'application/json; charset=utf-8')
      const [told, expected] = [JSON.parse(text) as unknown, await runJson(...command)]
      t.strictSame(inOrder(told), inOrder(expected), command.join(' '))
    }
    const ledger = await ask('GET', '/admin/ledger?by=key')
    t.match(json(ledger), [{ account: 'acme', points: 4 }, { points: 4 }], 'nothing is left over')
    t.strictSame(json(ledger), await runJson('usage', 'export', '--by', 'key'))
    const accept = { accept: 'text/csv' }
    const csv = await ask('POST', '/admin/plans/free/preview', lower, accept)
    t.equal(csv.headers['content-type'], 'text/csv; charset=utf-8')
    const command = ['plans', 'preview', 'free', '--per-day', '2', '--days', '2', '--csv']
    t.equal(`${csv.text}\n`, (await run(...command)).stdout)
    const changed = readFileSync(file, 'utf8').replace('perDay: 1000', 'perDay: 3')
    const checked = await ask('POST', '/admin/config/check?impact=2', changed, {
      'content-type': 'application/yaml',
    })
    t.match(json(checked), {
      sound: true,
      differences: [{ place: 'plans.free.perDay', before: 1000, after: 3 }],
      keys: { free: 2 },
      impact: [{ plan: 'free', hitQuotas: 2 }],
    })
    t.equal((await operate('GET', '/admin/shadow')).status, 401, 'who may not ask gets nothing')

    at.write((text) => text.replace('perMinute: 60', 'perMinute: 50').replace('pro:', 'other:'))
    t.equal((await ask('POST', '/admin/config/reload')).status, 200)
    const after = await ask('POST', '/admin/plans/free/preview', lower)
    t.match(json(after), { now: { perMinute: 50 } }, 'the thread follows the configuration')
    t.equal((await ask('GET', '/admin/plans/other/demand')).status, 200)
    t.equal((await ask('GET', '/admin/plans/pro/demand')).status, 404)

    if ('end' in at) await at.end()
  })
}

t.test('a long list comes in pieces, at the pace of its client', async (t) => {
  const { ask, url, gateway } = await startAdmin(t, { thread: {} })
  const many = Array.from({ length: 3_000 }, (_, i) => newKey({ name: `Key ${i}` }))
  await gateway.stores.keys.add(many)
  const keys = JSON.parse((await ask('GET', '/admin/keys')).text) as { name: string }[]
  t.equal(new Set(keys.map(({ name }) => name)).size, 3_000)
  const headers = { authorization: `Bearer ${token}` }
  for (let i = 0; i < mostQuestions; i++) {
    const { body } = await request(`${url}/admin/keys`, { headers })
    body.on('error', () => undefined)
    await once(body, 'readable')
    body.destroy()
    t.equal((await ask('GET', '/admin/shadow')).status, 200, 'others don’t wait for it')
  }
  await until(async () => (await ask('GET', '/admin/shadow')).status === 200)
  t.equal((await gateway.call('GET', '/v1/quota')).status, 401)
})

t.test('the ledger tells keys apart, and comes as CSV in pieces', async (t) => {
  const { ask, gateway } = await startAdmin(t, {
    thread: {},
    more: 'portal: { path: /docs, openapi: config/openapi/animal-store.yaml }',
    routes: `[ { path: /v1/*, upstream: animals }, { path: /v1/dear, upstream: animals, cost: 5 },
      { path: "/v1/pets/{id}", upstream: animals, methods: [ GET ], cost: 2 } ]`,
    upstream: await startUpstream(t, ({ url, socket }, response) => {
      if (url === '/v1/lost') socket.destroy()
      else response.end('{}')
    }),
  })
  const key = { limits: { perMinute: 12, perDay: 1_000 } }
  const [acme, alone, trial] = await Promise.all([
    gateway.key({ ...key, account: 'acme' }),
    gateway.key({ ...key, name: 'Alone' }),
    gateway.key({ ...key, test: true }),
  ])
  const send = async (of: typeof acme, paths: readonly string[], method = 'GET') => {
    for (const path of paths) await gateway.call(method, path, undefined, of.headers)
  }
  const paths = ['/v1/a', '/v1/lost', '/v1/dear', '/v1/pets/7', '/nowhere', '/v1/quota', '/docs']
  await send(acme, [...paths, '/v1/pets/8', '/v1/dear'])
  await send(alone, ['/v1/pets/9'], 'PUT')
  await send(trial, paths)
  const ledger = async (by: string) => {
    const lines = json(await ask('GET', `/admin/ledger?by=${by}`)) as unknown as LedgerLine[]
    return lines.map(({ id, requests, points, refused }) =>
      [id.slice(11).replace(alone.key.id, 'ALONE'), requests, points, refused].join(' '),
    )
  }
  t.strictSame(await ledger('account'), ['account:acme 6 11 1', 'key:ALONE 1 2 0'])
  t.strictSame(await ledger('key'), [`account:acme:key:${acme.key.id} 6 11 1`, 'key:ALONE 1 2 0'])
  const usage = json(await ask('GET', '/admin/usage')) as unknown as { admitted: number }[]
  t.match(usage, [
    { admitted: 6, points: 11, refused: { rate_limit_exceeded: 1 } },
    { admitted: 5, test: true },
    { admitted: 1, points: 2, refused: {} },
  ])
  const own = json(await gateway.call('GET', '/v1/usage', undefined, acme.headers))
  t.match(own, { days: [{ admitted: 6, points: 11 }] })
  t.strictSame(json(await ask('GET', '/admin/deprecations')), [])

  const many = Array.from({ length: 2_000 }, () => newKey({ account: 'acme' }))
  await gateway.stores.keys.add(many)
  const day = Math.floor(Date.now() / 86_400_000)
  const tallies = many.map(({ id: key }) => {
    return { day, key, what: 'admitted 2xx', count: 3, lastMs: 0 }
  })
  await gateway.stores.tallies.add({ by: 'many', number: 1, lines: tallies })
  const csv = await ask('GET', '/admin/ledger?by=key', undefined, { accept: 'text/csv' })
  t.equal(csv.headers['content-type'], 'text/csv; charset=utf-8')
  t.equal(csv.headers['content-length'], undefined, 'it is streamed')
  const rows = csv.text.split('\r\n')
  // The counters know nothing of what was only tallied: a rest below 0 makes the sum right.
  t.equal(rows.length, 1 + 3 + many.length)
  t.match(csv.text, /:rest",.*"-6000","0","false"/)
  const points = rows.slice(1).map((row) => Number(row.split('","')[6]))
  t.equal(
    points.reduce((sum, each) => sum + each, 0),
    13,
  )
})
