import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { bound, held, heldQuick, isLong, usualWait } from '../support/promises.ts'
import { atSomePort } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { pause, startTraffic, statusesOf } from '../support/traffic.ts'
import { folderOf } from '../support/folder.ts'

const plan = 'plans: { free: { perMinute: unlimited, perDay: 100000000 } }'

t.test('a backend is killed and comes back', async (t) => {
  const env = { DATABASE: join(folderOf(t), 'animals.db'), LOG_LEVEL: 'silent' }
  const start = (PORT: string) => startProcess(t, 'backend/main.ts', { env: { ...env, PORT } })
  let backend = await atSomePort(async (port) => {
    const service = start(String(port))
    await service.url
    return service
  })
  const upstream = await backend.url
  const { call, key } = await startGateway(t, {
    targets: `[ "${upstream}" ]`,
    upstreamMore: 'health: { path: /healthz, every: 1s }',
    more: plan,
  })
  const { headers } = await key()
  t.equal((await call('GET', '/v1/pets', undefined, headers)).status, 200)
  backend.child.kill('SIGKILL')
  await backend.ended
  const times: number[] = []
  const statuses = new Set<number>()
  for (let i = 0; i < 50; i++) {
    const started = performance.now()
    const answer = await call('GET', '/v1/pets', undefined, headers)
    times.push(performance.now() - started)
    statuses.add(answer.status)
    t.notMatch(answer.text, /127\.0\.0\.1|ECONN/)
  }
  const worst = Math.max(...times)
  t.ok(
    [...statuses].every((status) => status === 502 || status === 503),
    [...statuses].join(),
  )
  held(t, 'backend killed: refused at once', `${worst.toFixed(1)} ms at worst`, worst < bound(100))
  backend = start(new URL(upstream).port)
  await backend.url
  const started = performance.now()
  await until(async () => (await call('GET', '/v1/pets', undefined, headers)).status === 200, 5_000)
  const back = performance.now() - started
  held(
    t,
    'backend killed: served 1 s after it is back',
    `${Math.round(back)} ms`,
    back < bound(1_000),
  )
})

t.test('a backend hangs: its own callers are told in time, others notice nothing', async (t) => {
  const hung = await startUpstream(t, () => undefined)
  const fine = await startUpstream(t)
  // Beside other tests it may take a second until all have asked.
  const seconds = isLong ? 1 : 5
  const { url, key } = await startGateway(t, {
    more: plan,
    targets: `[ "${fine.url}" ]`,
    upstreamMore: `}, hung: { targets: [ "${hung.url}" ], timeout: { response: ${seconds}s }, maxInFlight: 20, fair: off, health: { unhealthyAfter: 1000 }`,
    routes: '[ { path: /v1/*, upstream: animals }, { path: /hung/*, upstream: hung } ]',
  })
  const { headers } = await key()
  const traffic = startTraffic(t, url, headers, { connections: 8 })
  await pause(500)
  await traffic.answeredSince(0)
  const usual = usualWait(traffic.asked)
  const from = performance.now()
  const asked = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const started = performance.now()
      const { status } = await caller(url)('GET', '/hung/x', undefined, headers)
      return { status, ms: performance.now() - started }
    }),
  )
  await traffic.stop()
  const late = asked.filter(({ status }) => status === 504).map(({ ms }) => ms)
  const shed = asked.filter(({ status }) => status === 503).map(({ ms }) => ms)
  t.strictSame(
    [late.length, shed.length],
    [20, 10],
    'as many wait as may, the others are told at once',
  )
  held(
    t,
    `backend hung: 504 after its time (${seconds} s)`,
    `${Math.round(Math.min(...late))}–${Math.round(Math.max(...late))} ms`,
    Math.min(...late) > 990 * seconds && Math.max(...late) < 1_000 * seconds + bound(500),
  )
  held(
    t,
    'overload: shed at once',
    `${Math.round(Math.max(...shed))} ms`,
    Math.max(...shed) < (isLong ? 150 : Math.min(...late)),
  )
  const others = traffic.between(from)
  t.strictSame(Object.keys(statusesOf(others)), ['200'])
  heldQuick(t, 'backend hung: other upstreams unharmed', others, { usual, most: 50 })
})

t.test(
  'a backend that closes idle connections loses no request, and acts on none twice',
  async (t) => {
    const done = new Map<string, number>()
    const server = createServer({ keepAliveTimeout: 50 }, (request, response) => {
      const id = String(request.headers['x-id'])
      request.resume().on('end', () => {
        done.set(id, (done.get(id) ?? 0) + 1)
        response.end('{}')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    t.teardown(() => {
      server.close()
      server.closeAllConnections()
    })
    const { url, key } = await startGateway(t, {
      targets: `[ "http://127.0.0.1:${port}" ]`,
      more: plan,
    })
    const { headers } = await key()
    const count = isLong ? 10_000 : 1_000
    const failed = { GET: 0, POST: 0 }
    const agent = new Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    const ask = (method: 'GET' | 'POST', id: string): Promise<number> =>
      new Promise((resolve) => {
        const request = httpRequest(`${url}/v1/x`, {
          method,
          agent,
          headers: { ...headers, 'x-id': id },
        })
        request.on('response', (response) => {
          response.resume().on('end', () => resolve(response.statusCode ?? 0))
        })
        request.on('error', () => resolve(0))
        request.end(method === 'POST' ? '{}' : undefined)
      })
    await Promise.all(
      Array.from({ length: 20 }, async (_, worker) => {
        for (let i = 0; i < count / 20; i++) {
          const method = i % 3 === 2 ? 'POST' : 'GET'
          if ((await ask(method, `${worker}-${i}`)) !== 200) failed[method]++
          await pause(40 + ((i * 7 + worker) % 26))
        }
      }),
    )
    const twice = [...done.values()].filter((times) => times > 1).length
    held(
      t,
      'idle connections closed by a backend: no GET fails',
      `${failed.GET} of ${Math.round((count * 2) / 3)}`,
      failed.GET === 0,
    )
    held(
      t,
      'idle connections closed by a backend: hardly a POST fails',
      `${failed.POST} of ${Math.round(count / 3)}`,
      failed.POST <= Math.max(1, count / 3_000),
    )
    held(t, 'nothing is done twice', `${twice} of ${done.size}`, twice === 0)
  },
)
