import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import t from 'tap'
import { Pool, request } from 'undici'
import { peakMemory, startFleet, type Fleet } from '../support/fleet.ts'
import { startAsProcess as start, token } from '../support/operator.ts'
import { startUpstream } from '../support/gateway.ts'
import { adminOf, startProcess } from '../support/process.ts'
import { caller, json } from '../support/http.ts'
import { bound, isLong } from '../support/promises.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { pause } from '../support/traffic.ts'

/** Requests over some connections, until told to stop; gives the statuses and failures. */
function hammer(
  url: string,
  headers: Record<string, string>,
  {
    connections,
    path = '/v1/x',
    pauseMs = 0,
  }: { connections: number; path?: string; pauseMs?: number },
) {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const statuses: Record<string, number> = {}
  let isOn = true
  const ask = async (): Promise<void> => {
    while (isOn) {
      const status = await pool.request({ method: 'GET', path, headers }).then(
        async ({ statusCode, body }) => body.dump().then(() => String(statusCode)),
        (error: Error) => error.message,
      )
      statuses[status] = (statuses[status] ?? 0) + 1
      if (pauseMs > 0) await pause(pauseMs)
    }
  }
  const asking = Array.from({ length: connections }, ask)
  return async () => {
    isOn = false
    await Promise.all(asking)
    await pool.close()
    return statuses
  }
}

t.test(
  'reload after reload under 64 connections fails no request and leaves nothing behind',
  async (t) => {
    const { url: upstream } = await startUpstream(t)
    const { url, key, write, reload, gateway, operate } = await start(t, { upstream })
    const headers = await key()
    // With a pause, so that the processors have time for the reloads.
    const quiet = hammer(url, headers, { connections: 64, pauseMs: 500 })
    const change = async (i: number): Promise<void> => {
      write((text) => text.replace('1000000', String(1_000_000 + i)))
      const answer = await reload()
      if (answer.status !== 200) t.fail(answer.text)
    }
    const [first, all] = isLong ? [300, 1_000] : [100, 400]
    for (let i = 1; i <= first; i++) await change(i)
    const before = peakMemory(gateway)
    const started = performance.now()
    for (let i = first + 1; i <= all; i++) await change(i)
    const each = (performance.now() - started) / (all - first)
    const statuses = await quiet()
    t.strictSame(
      Object.keys(statuses),
      ['200'],
      `${each.toFixed(1)} ms each; ${statuses['200']} requests`,
    )
    const grown = peakMemory(gateway) - before
    t.ok(grown < 80, `${Math.round(grown)} MB more by the last ${all - first} of them`)
    const { day } = json(await caller(url)('GET', '/v1/quota', undefined, headers)) as {
      day: { limit: number; remaining: number }
    }
    t.equal(day.limit, 1_000_000 + all)
    t.equal(day.limit - day.remaining, statuses['200'], 'and the counter has counted each of them')
    t.match(json(await operate('GET', '/readyz')), { ready: true, store: 'reachable' })
  },
)

t.test('requests in flight finish on what they began with', async (t) => {
  const { url: upstream } = await startUpstream(t, (request, response) => {
    if (request.url !== '/v1/long') return void response.end('{}')
    let left = 20
    const timer = setInterval(() => {
      response.write('x')
      if (--left === 0) {
        clearInterval(timer)
        response.end()
      }
    }, 100)
  })
  const { url, key, write, reload } = await start(t, { upstream })
  const headers = await key()
  const long = request(`${url}/v1/long`, { headers })
  const { body } = await long
  write((text) => text.replace('/v1/*', '/v2/*'))
  t.equal((await reload()).status, 200)
  t.equal((await caller(url)('GET', '/v1/x', undefined, headers)).status, 404)
  t.equal((await caller(url)('GET', '/v2/x', undefined, headers)).status, 200)
  t.equal((await body.text()).length, 20, 'a download of two seconds is whole')
})

t.test('a WebSocket outlives what it began with', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { createServer } = await import('node:net')
  const echo = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
        )
        socket.on('data', (bytes) => socket.write(bytes))
      })
  })
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  const { port } = echo.address() as AddressInfo
  t.teardown(() => echo.close())
  const { url, key, write, reload } = await start(t, { upstream: `http://127.0.0.1:${port}` })
  const { authorization } = await key()
  const { hostname, port: at } = new URL(url)
  const socket = connect(Number(at), hostname)
  t.teardown(() => socket.destroy())
  let heard = ''
  socket.on('data', (bytes: Buffer) => (heard += bytes.toString()))
  socket.write(
    `GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: ${authorization}\r\n\r\n`,
  )
  await until(() => heard.startsWith('HTTP/1.1 101'))
  write((text) => text.replace(`127.0.0.1:${port}`, new URL(upstream).host))
  t.equal((await reload()).status, 200)
  await new Promise((go) => setTimeout(go, 200))
  socket.write('still here')
  await until(() => heard.endsWith('still here'))
})

t.test('another backend is put there under load, and back, without a request lost', async (t) => {
  const named = (name: string) => (request: IncomingMessage, response: ServerResponse) => {
    const slow = request.url === '/v1/slow' ? 700 : 0
    setTimeout(() => response.end(name), slow)
  }
  const [one, two] = [await startUpstream(t, named('one')), await startUpstream(t, named('two'))]
  const { url, key, write, reload, text } = await start(t, { upstream: one.url })
  const headers = await key()
  const [fast, slow] = [
    hammer(url, headers, { connections: 16 }),
    hammer(url, headers, { connections: 8, path: '/v1/slow' }),
  ]
  for (let i = 0; i < 6; i++) {
    await new Promise((go) => setTimeout(go, 300))
    write(() => (i % 2 ? text : text.replace(one.url, two.url)))
    t.equal((await reload()).status, 200)
    const answer = await caller(url)('GET', '/v1/x', undefined, headers)
    t.equal(answer.text, i % 2 ? 'one' : 'two', 'from the next request on')
  }
  t.strictSame(Object.keys(await fast()), ['200'])
  t.strictSame(Object.keys(await slow()), ['200'])
})

t.test('the file is followed, however it is changed', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { file, state, text, gateway, operate, url, key } = await start(t, { upstream })
  const headers = await key()
  const limitOf = async () => {
    const { config } = (await state()) as {
      config: { plans: { p: { perDay: number } } }
    }
    return config.plans.p.perDay
  }
  const folder = dirname(file)
  const withLimit = (limit: number): string => text.replace('1000000', String(limit))
  const ways: [string, (limit: number) => void][] = [
    ['written in place', (limit) => writeFileSync(file, withLimit(limit))],
    [
      'put in its place',
      (limit) => {
        writeFileSync(`${file}.new`, withLimit(limit))
        renameSync(`${file}.new`, file)
      },
    ],
    [
      'emptied first, then written a piece at a time',
      (limit) => {
        writeFileSync(file, '')
        const whole = withLimit(limit)
        setTimeout(() => writeFileSync(file, whole.slice(0, 50)), 40)
        setTimeout(() => writeFileSync(file, whole), 80)
      },
    ],
    [
      'a link that is turned, as ConfigMaps are',
      (limit) => {
        const version = join(folder, `..v${limit}`)
        mkdirSync(version)
        writeFileSync(join(version, 'gateway.yaml'), withLimit(limit))
        symlinkSync(`..v${limit}`, join(folder, '..data.new'))
        renameSync(join(folder, '..data.new'), join(folder, '..data'))
        rmSync(file)
        symlinkSync('..data/gateway.yaml', file)
      },
    ],
    [
      'the same link, turned again',
      (limit) => {
        const version = join(folder, `..v${limit}`)
        mkdirSync(version)
        writeFileSync(join(version, 'gateway.yaml'), withLimit(limit))
        symlinkSync(`..v${limit}`, join(folder, '..data.new'))
        renameSync(join(folder, '..data.new'), join(folder, '..data'))
      },
    ],
    [
      'taken away and given back',
      (limit) => {
        rmSync(file)
        setTimeout(() => writeFileSync(file, withLimit(limit)), 50)
      },
    ],
  ]
  for (const [i, [way, change]] of ways.entries()) {
    const limit = 2_000_000 + i
    const started = performance.now()
    change(limit)
    await until(async () => (await limitOf()) === limit)
    const ms = performance.now() - started
    t.ok(ms < bound(1_000), `${way}: in force after ${Math.round(ms)} ms`)
  }
  t.notMatch(gateway.output(), /refused/, 'half a file is not taken for a bad one')

  writeFileSync(file, withLimit(3_000_000).replace('perDay', 'perDey'))
  await until(() => gateway.output().includes('the configuration is refused'))
  t.match(json(await operate('GET', '/readyz')), {
    ready: true,
    config: { mistakes: 1 },
  })
  t.match(await state(), {
    mistakes: [/gateway\.yaml:\d+:\d+: plans\.p has no setting "perDey"; did you mean perDay\?/],
  })
  const metrics = (await operate('GET', '/metrics')).text
  t.match(metrics, /^tollgate_config_reloads_total\{result="refused"\} 1$/m)
  t.match(metrics, /^tollgate_config_info\{hash="\w{12}"\} 1$/m)
  t.match(metrics, /^tollgate_upstream_healthy\{upstream="animals",target="http:[^"]+"\} 1$/m)
  t.match(metrics, /^tollgate_store_fallback 0$/m)
  t.equal(await limitOf(), 2_000_005, 'nothing changes')
  t.equal((await caller(url)('GET', '/v1/x', undefined, headers)).status, 200)
  t.equal(gateway.output().split('the configuration is refused').length, 2, 'told once')
  writeFileSync(file, withLimit(3_000_001))
  await until(async () => (await limitOf()) === 3_000_001)
  t.notMatch((await operate('GET', '/readyz')).text, /mistakes/)

  writeFileSync(file, withLimit(4_000_000).replace('store: {', 'store: { prefix: other,'))
  await until(() => gateway.output().includes('restart it'))
  t.match(await state(), {
    mistakes: [/gateway\.yaml:\d+:\d+: store can’t be changed while the gateway runs: restart it/],
  })
  writeFileSync(file, withLimit(5_000_000))
  gateway.signal('SIGHUP')
  await until(async () => (await limitOf()) === 5_000_000)

  const diff = async (text: string) => {
    const other = join(folder, 'other.yaml')
    writeFileSync(other, text)
    const args = ['config', 'diff', other]
    const cli = startProcess(t, 'gateway/office/cli/main.ts', { args, env: { ADMIN_TOKEN: token } })
    await cli.ended
    return cli.output()
  }
  t.match(await diff(withLimit(5_000_000)), /changes nothing/)
  const told = await diff(withLimit(6_000_000))
  t.match(told, /plans\.p\.perDay +5000000 +6000000\n\n1 key has the plan p\./)
})

t.test(
  'a plan’s limits act on the next request of every gateway, and keep the counts',
  async (t) => {
    const { url: redis } = await startRedis(t)
    const { url: upstream } = await startUpstream(t)
    const fleet: Fleet = await startFleet(t, {
      upstream,
      store: `redis: "${redis}"`,
      more: 'plans: { p: { perMinute: unlimited, perDay: 10 } }',
      environments: [{}, {}],
    })
    const headers = await fleet.key()
    const calls = fleet.urls.map((url) => caller(url))
    const day = async () =>
      Promise.all(
        calls.map(async (call) => {
          const { day } = json(await call('GET', '/v1/quota', undefined, headers)) as {
            day: { limit: number; remaining: number }
          }
          return [day.limit, day.remaining]
        }),
      )
    for (let i = 0; i < 8; i++) await calls[i % 2]?.('GET', '/v1/x', undefined, headers)
    t.strictSame(await day(), [
      [10, 2],
      [10, 2],
    ])
    const text = readFileSync(fleet.file, 'utf8')
    writeFileSync(fleet.file, text.replace('perDay: 10 ', 'perDay: 100 '))
    await until(async () => (await day()).every(([limit]) => limit === 100))
    t.strictSame(await day(), [
      [100, 92],
      [100, 92],
    ])
    writeFileSync(fleet.file, text.replace('perDay: 10 ', 'perDay: 5 '))
    await until(async () => (await day()).every(([limit]) => limit === 5))
    for (const call of calls) {
      t.equal((await call('GET', '/v1/x', undefined, headers)).status, 429)
    }
  },
)

t.test('the admin address is for those who have the token', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { operate, url, key } = await start(t, { upstream })
  t.match(await operate('GET', '/healthz'), { status: 200 })
  for (const authorization of [
    '',
    'Bearer',
    'Bearer wrong',
    `Basic ${token}`,
    `Bearer ${token}x`,
  ]) {
    const answer = await operate('GET', '/admin/config', undefined, { authorization })
    t.match(answer, { status: 401, text: /"invalid_api_key"/ })
  }
  const known = { ...(await key()) }
  for (const path of ['/healthz', '/readyz', '/metrics', '/admin/keys', '/admin/config']) {
    const call = caller(url)
    t.equal((await call('GET', path)).status, 401, `not on the callers’ address: ${path}`)
    t.equal((await call('GET', path, undefined, known)).status, 404, `with a key neither: ${path}`)
    const asOperator = { authorization: `Bearer ${token}` }
    t.equal((await call('GET', path, undefined, asOperator)).status, 401, 'nor with the token')
  }
  const { processes } = await startFleet(t, { upstream, environments: [{ LOG_LEVEL: 'info' }] })
  const [closed] = processes
  if (!closed) throw new Error('one was asked for')
  const other = caller(await adminOf(closed))
  t.match(
    await other('GET', '/admin/config', undefined, { authorization: 'Bearer ' }),
    { status: 403 },
    'nobody has it where none is set',
  )
})
