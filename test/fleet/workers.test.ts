import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Pool } from 'undici'
import { runCommand } from '../support/command.ts'
import { newKeyId, newToken } from '../../gateway/front/keys/token.ts'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { startAsProcess as start, unlimited } from '../support/operator.ts'
import { startProcess, type Service } from '../support/process.ts'
import { anyPort, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { pause, startTraffic, statusesOf } from '../support/traffic.ts'
import { folderOf } from '../support/folder.ts'

const size = 3

const plans = unlimited.replace(' } }', ' }, limited: { perMinute: 200, perDay: 200, bans: off } }')

/** A gateway of several workers, on a Redis of its own. */
async function startWorkers(t: Test) {
  const redis = await startRedis(t)
  const upstream = await startUpstream(t)
  const gateway = await start(t, {
    upstream: upstream.url,
    store: `redis: "${redis.url}"`,
    more: `${plans}\nworkers: ${size}\ndrain: 3s\nshutdown: 15s`,
  })
  return { ...gateway, upstream }
}

/** The processes that a process has started. */
function childrenOf({ child: { pid } }: Service): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.trim().split(' ').filter(Boolean).map(Number)
}

function sumOf(metrics: string, name: string): number {
  const lines = metrics.split('\n').filter((line) => line.startsWith(`${name}{`))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

t.test('a crew of workers', async (t) => {
  const crew = await startWorkers(t)
  await t.test('admits together what one limit allows', (t) => admitsTogether(t, crew))
  await t.test('explains what any worker has refused', (t) => explainsAll(t, crew))
  await t.test('loses with a worker that is killed only its connections', (t) =>
    losesOneWorker(t, crew),
  )
  await t.test('is replaced as a whole without a lost request', (t) => isReplaced(t, crew))
})

type Crew = Awaited<ReturnType<typeof startWorkers>>

async function admitsTogether(t: Test, { url, key, gateway, ask }: Crew): Promise<void> {
  t.equal(childrenOf(gateway).length, size)
  const headers = await key({ plan: 'limited' })
  const pool = new Pool(url, { connections: 32, pipelining: 1 })
  const statuses: Record<number, number> = {}
  await Promise.all(
    Array.from({ length: 600 }, async () => {
      const { statusCode, body } = await pool.request({ method: 'GET', path: '/v1/x', headers })
      await body.dump()
      statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
    }),
  )
  await pool.close()
  t.strictSame(statuses, { 200: 200, 429: 400 })

  const { text } = await ask('GET', '/metrics')
  t.equal(sumOf(text, 'tollgate_requests_total'), 600, 'numbers are those of all workers')
  t.equal(sumOf(text, 'tollgate_refusals_total'), 400)
  t.equal(sumOf(text, 'tollgate_request_duration_seconds_count'), 600)
  t.match(
    text,
    /^tollgate_upstream_healthy\{.*\} 1$/m,
    'and what is no number of things is not added',
  )
  t.match(text, /^tollgate_config_info\{.*\} 1$/m)
  t.match(text, /^tollgate_store_fallback 0$/m)
}

async function explainsAll(t: Test, { url, ask, run }: Crew): Promise<void> {
  const ids = Array.from({ length: 24 }, (_, i) => `stranger-${i}`)
  for (const id of ids) {
    // A connection each, so that all workers get some.
    const pool = new Pool(url, { connections: 1 })
    const { body } = await pool.request({
      method: 'GET',
      path: '/',
      headers: { 'x-request-id': id },
    })
    await body.dump()
    await pool.close()
  }
  type Found = { answers: { gateway: string }[]; gateways: { answered: number } }
  const found: Found[] = []
  for (const id of ids)
    found.push(json(await ask('GET', `/admin/requests/${id}`)) as unknown as Found)
  t.ok(found.every(({ answers, gateways }) => answers.length === 1 && gateways.answered === size))
  const names = new Set(found.map(({ answers: [first] }) => first?.gateway))
  t.ok(names.size > 1, `told apart: ${[...names].join()}`)
  t.match((await run('explain', 'stranger-3')).stdout, /^401 missing_api_key/)
}

async function losesOneWorker(t: Test, { url, key, gateway, ask }: Crew): Promise<void> {
  const traffic = startTraffic(t, url, await key(), { connections: 24 })
  await until(() => traffic.asked.length > 500)
  const before = childrenOf(gateway)
  const [, victim = 0] = before
  process.kill(victim, 'SIGKILL')
  await until(() => childrenOf(gateway).filter((pid) => !before.includes(pid)).length === 1)
  const atMs = performance.now()
  await until(() => traffic.between(atMs).length > 500)
  await traffic.stop()
  const { 200: fine = 0, ...others } = statusesOf(traffic.asked)
  const lost = Object.values(others).reduce((sum, count) => sum + count, 0)
  // One worker may have taken all connections; each of them has one request under way.
  t.ok(lost <= 24, `${lost} of ${fine} requests lost, on 24 connections: ${JSON.stringify(others)}`)
  t.notOk(childrenOf(gateway).includes(victim))
  t.equal(childrenOf(gateway).length, size)
  t.match(gateway.output(), 'a worker has ended; another one takes its place')

  const [leader = 0] = before
  process.kill(leader, 'SIGKILL')
  await until(async () => {
    const answer = await ask('GET', '/readyz').catch(() => undefined)
    return answer?.status === 200 && !childrenOf(gateway).includes(leader)
  })
  t.pass('operators are served again when the worker that did so was killed')
  await until(() => childrenOf(gateway).length === size)
}

async function isReplaced(t: Test, crew: Crew): Promise<void> {
  const { url, key, gateway, write, state, file } = crew
  const traffic = startTraffic(t, url, await key(), { connections: 24 })
  await until(() => traffic.asked.length > 500)
  const before = childrenOf(gateway)
  gateway.signal('SIGUSR2')
  await until(() => childrenOf(gateway).every((pid) => !before.includes(pid)), 30_000)
  t.equal(childrenOf(gateway).length, size)
  await until(() => gateway.output().includes('done: all workers are new'))
  t.match(gateway.output(), /"service":"overseer","workers":3,"msg":"replacing: new workers take/)
  t.match(gateway.output(), '"reason":"another worker takes its place"')
  t.notMatch(gateway.output(), 'parent gone')
  const { hash } = (await state()) as { hash: string }
  write((text) => text.replace('1000000', '1000001'))
  await until(async () => ((await state()) as { hash: string }).hash !== hash)
  const changes = () => gateway.output().match(/the configuration is changed/g) ?? []
  await until(() => changes().length >= size)
  t.equal(changes().length, size, 'each follows the configuration')
  const { stdout } = await runCommand(['audit', '--json', '--config', file], {})
  const audit = JSON.parse(stdout) as { what: string }[]
  t.equal(audit.filter(({ what }) => what === 'config.change').length, 1, 'one writes it down')
  gateway.signal('SIGHUP')
  await until(() => (gateway.output().match(/configuration is unchanged/g) ?? []).length === size)

  gateway.signal('SIGTERM')
  const stoppedMs = performance.now()
  await pause(400)
  await traffic.stop()
  t.strictSame(await gateway.ended, { code: 0, signal: null })
  const { 200: fine = 0, ...lost } = statusesOf(traffic.between(0, stoppedMs))
  t.strictSame(lost, {}, `${fine} requests were answered`)
  // The port closes when the overseer hears of its last worker. The system resets connections that nobody accepted then.
  const after = Object.keys(statusesOf(traffic.between(stoppedMs)))
  const odd = after.filter((status) => !/^200$|ECONNREFUSED|ECONNRESET/.test(status))
  t.strictSame(odd, [], 'whoever comes during the stop is answered, or finds no gateway')
}

t.test('strangers get no more guesses from four crews than from one gateway', async (t) => {
  const redis = await startRedis(t)
  const upstream = await startUpstream(t)
  // The workers of one crew take any port that they ask for to be the same one, an admin address' too.
  const { urls, key } = await startFleet(t, {
    upstream: upstream.url,
    store: `redis: "${redis.url}"`,
    environments: Array.from({ length: 4 }, () => ({ ADMIN_PORT: anyPort })),
    admin: '{ host: 127.0.0.1, port: "${ADMIN_PORT}" }',
    more: `${unlimited}\nworkers: 2\nstrangers: { perMinute: 60, perDay: 100000 }`,
  })
  // Several connections to each gateway, so that all workers get some.
  const pools = [1, 2, 3, 4].flatMap(() => urls.map((url) => new Pool(url, { connections: 1 })))
  t.teardown(() => Promise.all(pools.map((pool) => pool.destroy())))
  const send = async (i: number, authorization: string) => {
    const pool = pools[i % pools.length]
    const headers = { authorization }
    const answer = await pool?.request({ method: 'GET', path: '/v1/x', headers })
    const text = (await answer?.body.text()) ?? ''
    const minute = String(answer?.headers['x-ratelimit-reset'])
    return { minute, kind: `${answer?.statusCode} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}` }
  }
  const { authorization } = await key()
  const minutes = new Map<string, Record<string, number>>()
  for (let i = 0; i < 2_000; i++) {
    const { minute, kind } = await send(i, `Bearer ${newToken(newKeyId())}`)
    const kinds = minutes.get(minute) ?? {}
    kinds[kind] = (kinds[kind] ?? 0) + 1
    minutes.set(minute, kinds)
    if (i % 100 === 0) t.equal((await send(i / 100, authorization)).kind, '200 ')
  }
  t.comment(JSON.stringify(Object.fromEntries(minutes)))
  for (const kinds of minutes.values()) {
    const {
      '401 invalid_api_key': heard = 0,
      '429 too_many_failed_attempts': refused,
      ...more
    } = kinds
    // The limit, and for each worker what it had not told yet, or not learnt.
    t.ok(heard <= 60 + 8 * 5, `${heard} guesses were answered, ${refused} refused`)
    t.strictSame(more, {})
  }
  const [, calls] = /cmdstat_incrby:calls=(\d+)/.exec(await redis.client.info('commandstats')) ?? []
  t.ok(Number(calls) <= 100 * minutes.size, `${calls} calls of Redis for 2,000 guesses`)

  await redis.kill()
  for (let i = 0; i < 400; i++) {
    // Its form gives it away, so that no store need be asked when a new minute begins.
    const { kind } = await send(i, 'Bearer tg_mistyped')
    t.match(kind, /^401 invalid_api_key|^429 too_many_failed_attempts/)
  }
})

t.test('a crew that can’t begin says why, and ends', async (t) => {
  const { url } = await startRedis(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const folder = folderOf(t, {
    'gateway.yaml': `
plans: { free: { perMinute: 60, perDay: 1000 } }
listen: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: 0 }
store: { redis: "${url}" }
upstreams: { animals: { targets: ['http://127.0.0.1:9'] } }
routes: [ { path: /v1/*, upstream: animals } ]
workers: 2
`,
  })
  const env = { TOLLGATE_CONFIG: `${folder}/gateway.yaml` }
  const gateway = startProcess(t, 'gateway/main.ts', { env })
  t.strictSame(await gateway.ended, { code: 2, signal: null })
  t.match(
    gateway.output(),
    'set another port with --port, GATEWAY_PORT or listen.port in the configuration',
  )
})

t.test('one gateway alone is not ended by the signal that replaces workers', async (t) => {
  const upstream = await startUpstream(t)
  const { gateway, url, key } = await start(t, { upstream: upstream.url })
  gateway.signal('SIGUSR2')
  await until(() => gateway.output().includes('workers is 1: nothing was done'))
  const { status } = await fetch(`${url}/v1/x`, { headers: await key() })
  t.equal(status, 200)
  gateway.signal('SIGTERM')
  t.strictSame(await gateway.ended, { code: 0, signal: null })
})

t.test('with a file for a store there is one worker', async (t) => {
  const folder = folderOf(t, {
    'gateway.yaml': `
plans: { free: { perMinute: 60, perDay: 1000 } }
upstreams: { animals: { targets: ['http://127.0.0.1:9'] } }
routes: [ { path: /v1/*, upstream: animals } ]
workers: auto
`,
  })
  const env = { TOLLGATE_CONFIG: `${folder}/gateway.yaml` }
  const gateway = startProcess(t, 'gateway/main.ts', { env })
  const listened = gateway.url.then(() => 'it listens')
  t.strictSame(await Promise.race([gateway.ended, listened]), { code: 2, signal: null })
  t.match(gateway.output(), 'workers needs a store in Redis')
})
