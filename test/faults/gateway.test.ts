import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { peakMemory, startFleet } from '../support/fleet.ts'
import { configFor, startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { startProcess, type Service } from '../support/process.ts'
import { answered, bound, held, heldQuick, isLong, usualWait } from '../support/promises.ts'
import { atSomePort, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { pause, startTraffic, statusesOf } from '../support/traffic.ts'
import { folderOf } from '../support/folder.ts'

const plan = 'plans: { p: { perMinute: unlimited, perDay: 100000000, bans: off } }'

/** A client that keeps its connection, and takes another gateway's when it is told to leave. */
class LoyalClient {
  readonly statuses: Record<string, number> = {}
  readonly #urls: readonly string[]
  readonly #request: string
  #isOn = true
  #socket: Socket | undefined
  #place: number

  constructor(urls: readonly string[], authorization: string, place: number) {
    this.#urls = urls
    this.#request = `GET /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`
    this.#place = place
  }

  async run(): Promise<void> {
    while (this.#isOn) {
      const status = await this.#ask()
      this.statuses[status] = (this.statuses[status] ?? 0) + 1
      await pause(isLong ? 2 : 20)
    }
    this.#socket?.destroy()
  }

  stop(): void {
    this.#isOn = false
  }

  async #ask(): Promise<string> {
    // One that was closed while nothing was asked on it has lost nothing.
    if (this.#socket?.destroyed) this.#socket = undefined
    const socket = (this.#socket ??= await this.#connected())
    return new Promise((resolve) => {
      let text = ''
      const end = (status: string): void => {
        socket.removeAllListeners()
        socket.on('error', () => undefined)
        resolve(status)
      }
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1')
        const [, length = ''] = /content-length: (\d+)\r\n/i.exec(text) ?? []
        const head = text.indexOf('\r\n\r\n')
        if (length === '' || head < 0 || text.length < head + 4 + Number(length)) return
        if (/^connection: close\r$/im.test(text)) {
          socket.destroy()
          this.#socket = undefined
        }
        end(text.slice(9, 12))
      })
      socket.on('error', (error) => end(error.message))
      socket.on('close', () => {
        this.#socket = undefined
        end('dropped')
      })
      socket.write(this.#request)
    })
  }

  /** A connection to one that takes connections; one that refuses them has lost nothing. */
  async #connected(): Promise<Socket> {
    for (;;) {
      const { hostname, port } = new URL(this.#urls[this.#place++ % this.#urls.length] ?? '')
      const socket = connect(Number(port), hostname)
      const isOpen = await new Promise<boolean>((resolve) => {
        socket.once('connect', () => resolve(true))
        socket.once('error', () => resolve(false))
      })
      socket.removeAllListeners()
      if (isOpen) return socket.on('error', () => undefined)
    }
  }
}

t.test('rolling restarts lose no request', async (t) => {
  const redis = await startRedis(t)
  const { url: upstream } = await startUpstream(t)
  const folder = folderOf(t)
  const yaml = configFor(upstream, `redis: "${redis.url}"`, { more: plan })
  const file = join(folder, 'restarting.yaml')
  const env = { TOLLGATE_CONFIG: file, LOG_LEVEL: 'warn' }
  const start = (url: string): Service =>
    startProcess(t, 'gateway/main.ts', { env: { ...env, PORT: new URL(url).port } })
  const startAnywhere = () =>
    atSomePort(async (port) => {
      const service = start(`http://127.0.0.1:${port}`)
      await service.url
      return service
    })
  const { key } = await startFleet(t, {
    ...{ upstream, store: `redis: "${redis.url}"`, more: plan, environments: [] },
  })
  const { authorization } = await key()
  // After the fleet, which begins with an empty folder.
  writeFileSync(file, yaml.replace('port: 0', 'port: "${PORT}"'))
  const services = await Promise.all([startAnywhere(), startAnywhere()])
  const urls = await Promise.all(services.map(({ url }) => url))
  const clients = Array.from({ length: 64 }, (_, i) => new LoyalClient(urls, authorization, i))
  const running = clients.map((client) => client.run())
  t.teardown(() => clients.forEach((client) => client.stop()))
  await until(() => clients.every(({ statuses }) => (statuses['200'] ?? 0) > 1), 20_000)
  const times: number[] = []
  const codes = new Set<number | null>()
  for (let round = 0; round < (isLong ? 5 : 1); round++) {
    for (const [i, url] of urls.entries()) {
      const started = performance.now()
      services[i]?.child.kill('SIGTERM')
      codes.add((await services[i]?.ended)?.code ?? null)
      times.push(performance.now() - started)
      services[i] = start(url)
      await services[i]?.url
      await pause(300)
    }
  }
  clients.forEach((client) => client.stop())
  await Promise.all(running)
  const statuses: Record<string, number> = {}
  for (const client of clients) {
    for (const [status, count] of Object.entries(client.statuses)) {
      statuses[status] = (statuses[status] ?? 0) + count
    }
  }
  const is200 = Object.keys(statuses).join() === '200'
  held(
    t,
    'rolling restarts under 64 keep-alive clients: none lost',
    JSON.stringify(statuses),
    is200,
  )
  t.strictSame([...codes], [0])
  const longest = Math.max(...times)
  held(t, 'a stop takes at most 10 s', `${(longest / 1_000).toFixed(1)} s`, longest < bound(10_000))
})

t.test('one of four is killed: the others notice nothing', async (t) => {
  const redis = await startRedis(t)
  const { url: upstream } = await startUpstream(t)
  const { urls, processes, key } = await startFleet(t, {
    upstream,
    store: `redis: "${redis.url}"`,
    more: plan,
    environments: [{}, {}, {}, {}],
  })
  const headers = await key()
  const [dying = '', ...others] = urls
  const last = startTraffic(t, dying, headers, { connections: 4 })
  const traffics = others.map((url) => startTraffic(t, url, headers, { connections: 4 }))
  await pause(1_000)
  processes[0]?.child.kill('SIGKILL')
  await pause(1_000)
  await Promise.all([last, ...traffics].map((traffic) => traffic.stop()))
  const statuses = statusesOf(traffics.flatMap(({ asked }) => asked))
  const is200 = Object.keys(statuses).join() === '200'
  held(t, 'one of four killed: no failure at the others', JSON.stringify(statuses), is200)
  const answered = [last, ...traffics]
    .flatMap(({ asked }) => asked)
    .filter(({ status }) => status === '200').length
  const { day } = json(await caller(others[0] ?? '')('GET', '/v1/quota', undefined, headers)) as {
    day: { limit: number; remaining: number }
  }
  const counted = day.limit - day.remaining
  held(
    t,
    'nothing admitted is uncounted',
    `${counted} counted, ${answered} answered`,
    counted >= answered && counted <= answered + 4,
  )
})

t.test('out of file descriptors: it lives, and is well again when there are some', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const folder = folderOf(t)
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configFor(upstream, `file: ${join(folder, 'gateway.db')}`, { more: plan }))
  const env = { TOLLGATE_CONFIG: file, LOG_LEVEL: 'silent' }
  const gateway = startProcess(t, 'gateway/main.ts', { env, shell: 'ulimit -n 256' })
  const url = await gateway.url
  const { hostname, port } = new URL(url)
  const sockets = Array.from({ length: 400 }, () =>
    connect(Number(port), hostname).on('error', () => undefined),
  )
  await pause(1_500)
  t.equal(gateway.child.exitCode, null)
  sockets.forEach((socket) => socket.destroy())
  const started = performance.now()
  await until(
    async () => (await caller(url)('GET', '/v1/x').catch(() => undefined))?.status === 401,
    5_000,
  )
  const back = performance.now() - started
  held(
    t,
    '400 clients, 256 descriptors: well again within 2 s',
    `${Math.round(back)} ms`,
    back < bound(2_000),
  )
})

t.test('bad clients do not slow down a good one', async (t) => {
  const { url: upstream } = await startUpstream(t, (request, response) => {
    response.end(request.url === '/v1/big' ? Buffer.alloc(2 ** 20) : '{}')
  })
  const { urls, processes, key } = await startFleet(t, { upstream, more: plan })
  const [url = ''] = urls
  const [gateway] = processes
  if (!gateway) return
  const headers = await key()
  const { authorization } = headers
  const traffic = startTraffic(t, url, headers, { connections: 4, pauseMs: 10 })
  await pause(1_500)
  const usual = usualWait(traffic.between(performance.now() - 1_000))
  const memory = peakMemory(gateway)
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  const open = (first: string): Socket => {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    socket.write(first)
    sockets.push(socket)
    return socket
  }
  const head = `Host: x\r\nAuthorization: ${authorization}\r\n`
  const dribbling: Socket[] = []
  for (let i = 0; i < 100; i++) {
    dribbling.push(open(`GET /v1/x HTTP/1.1\r\n${head}`))
    dribbling.push(open(`POST /v1/x HTTP/1.1\r\n${head}Content-Length: 100000\r\n\r\n`))
    open('').resume()
    open('').resume()
  }
  // Readers of next to nothing: they ask for a megabyte and leave it where it is.
  for (let i = 0; i < 20; i++) open(`GET /v1/big HTTP/1.1\r\n${head}\r\n`).pause()
  // And those that vanish amid their request.
  for (let i = 0; i < 100; i++)
    open(`POST /v1/x HTTP/1.1\r\n${head}Content-Length: 9\r\n\r\nx`).resetAndDestroy()
  const timer = setInterval(
    () => dribbling.forEach((socket) => socket.writable && socket.write('x')),
    500,
  )
  const from = performance.now()
  await pause(isLong ? 60_000 : 4_000)
  const asked = await answered(traffic, from, usual)
  clearInterval(timer)
  await traffic.stop()
  sockets.forEach((socket) => socket.destroy())
  t.strictSame(Object.keys(statusesOf(traffic.between(from))), ['200'])
  heldQuick(t, '520 bad clients: a good one within 50 ms of usual', asked, { usual, most: 50 })
  const grown = peakMemory(gateway) - memory
  held(t, '520 bad clients: less than 80 MB more', `${Math.round(grown)} MB`, grown < 80)
})

async function endsWith(t: Test, program: string, env: Record<string, string>) {
  const process = startProcess(t, program, { env })
  process.url.catch(() => undefined)
  const { code } = await process.ended
  return { code, out: process.output() }
}

t.test('a damaged file is refused with a sentence, and left as it is', async (t) => {
  const folder = folderOf(t)
  const garbage = Buffer.alloc(8_192, 'not a database ')
  for (const program of ['gateway/main.ts', 'backend/main.ts']) {
    const database = join(folder, `${program.slice(0, 4)}.db`)
    writeFileSync(database, garbage)
    const file = join(folder, 'gateway.yaml')
    writeFileSync(file, configFor('http://127.0.0.1:1', `file: ${database}`))
    const env = { TOLLGATE_CONFIG: file, DATABASE: database, PORT: '0', LOG_LEVEL: 'silent' }
    const { code, out } = await endsWith(t, program, env)
    t.ok(code !== 0 && out.trim().split('\n').length === 1, out)
    const isSame = readFileSync(database).equals(garbage)
    held(
      t,
      `${program.split('/', 1)[0]}: a damaged file is refused, not overwritten`,
      out.trim().replace(folder, ''),
      isSame && code !== 0,
    )
  }
})

t.test('a gateway whose file may not grow goes on', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const folder = folderOf(t)
  const database = join(folder, 'gateway.db')
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configFor(upstream, `file: ${database}`, { more: plan }))
  const env = { TOLLGATE_CONFIG: file, LOG_LEVEL: 'info' }
  const create = startProcess(t, 'gateway/office/cli/main.ts', {
    env,
    args: ['keys', 'create', '--plan', 'p', '--name', 'x', '--json'],
  })
  await create.ended
  const { key: token } = json(create.stdout()) as { key: string }
  // Room for the present file, and for a small journal.
  const blocks = Math.ceil(statSync(database).size / 512) + 4
  const gateway = startProcess(t, 'gateway/main.ts', { env, shell: `ulimit -S -f ${blocks}` })
  const url = await gateway.url
  const traffic = startTraffic(t, url, { authorization: `Bearer ${token}` }, { connections: 4 })
  await until(() => gateway.output().includes('can’t be written down'))
  await pause(1_000)
  await traffic.stop()
  t.ok(existsSync(database) && statSync(database).size > 0)
  const statuses = statusesOf(traffic.asked)
  const is200 = Object.keys(statuses).join() === '200'
  held(t, 'full disk: an embedded gateway goes on', JSON.stringify(statuses), is200)
  const told = gateway.output().split('"msg":"counters can’t be written down').length - 1
  t.equal(told, 1, 'and says so, once')
  t.notMatch(
    gateway.output(),
    /counters are written down again/,
    'and not that it is over while it lasts',
  )
  t.equal(gateway.child.exitCode, null)
})

t.test('an embedded gateway is killed again and again', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const folder = folderOf(t)
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configFor(upstream, `file: ${join(folder, 'gateway.db')}`, { more: plan }))
  const env = { TOLLGATE_CONFIG: file, LOG_LEVEL: 'silent' }
  const create = startProcess(t, 'gateway/office/cli/main.ts', {
    env,
    args: ['keys', 'create', '--plan', 'p', '--name', 'x', '--json'],
  })
  await create.ended
  const { key: token } = json(create.stdout()) as { key: string }
  const headers = { authorization: `Bearer ${token}` }
  const rounds = isLong ? 100 : 3
  let worst = 0
  let before = 0
  for (let i = 0; i < rounds; i++) {
    const gateway = startProcess(t, 'gateway/main.ts', { env })
    const call = caller(await gateway.url)
    const { day } = json(await call('GET', '/v1/quota', undefined, headers)) as {
      day: { limit: number; remaining: number }
    }
    const counted = day.limit - day.remaining
    worst = Math.max(worst, before - counted)
    for (let n = 0; n < 20; n++) await call('GET', '/v1/x', undefined, headers)
    await pause(700)
    // Only requests of the last second may be lost.
    before = counted + 20
    gateway.signal('SIGKILL')
    await gateway.ended
  }
  held(
    t,
    `${rounds} kills of an embedded gateway: what is older than a second is counted`,
    `${worst} lost`,
    worst === 0,
  )
})
