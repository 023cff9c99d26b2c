import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { startFleet } from '../support/fleet.ts'
import { startGateway, startUpstream, type GatewayOptions } from '../support/gateway.ts'
import { caller, raw } from '../support/http.ts'
import { until } from '../support/until.ts'
import { pause } from '../support/traffic.ts'
import { adminOf } from '../support/process.ts'

const plenty = { limits: { perMinute: 100_000, perDay: 1_000_000 } }
const host = 'Host: x\r\n'

async function startFor(t: Test, options: GatewayOptions = {}) {
  const gateway = await startGateway(t, {
    more: 'strangers: { perMinute: 10000, perDay: 100000 }',
    ...options,
  })
  const { token } = await gateway.key(plenty)
  return { ...gateway, auth: `Authorization: Bearer ${token}\r\n` }
}

/** Statuses of the answers in some bytes, in order. */
function statusesIn(bytes: string): number[] {
  return [...bytes.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

t.test('nothing behind a last answer is done', async (t) => {
  const { url, upstream, auth } = await startFor(t, {
    routes: '[ { path: /v1/*, upstream: animals, bodyLimit: 1KiB } ]',
  })
  const get = `GET /v1/x HTTP/1.1\r\n`
  const post = `POST /v1/x HTTP/1.1\r\n${host}`
  const chunked = 'Transfer-Encoding: chunked\r\n'
  const chunks = '5\r\nhello\r\n0\r\n\r\n'
  const forms: Record<string, string> = {
    'no Host': `${get}${auth}\r\n`,
    'a bad Host': `${get}Host: a/b\r\n${auth}\r\n`,
    'two Hosts': `${get}${host}${host}${auth}\r\n`,
    'chunks in HTTP/1.0': `POST /v1/x HTTP/1.0\r\n${host}${auth}Connection: keep-alive\r\n${chunked}\r\n${chunks}`,
    'gzip, chunked': `${post}${auth}Transfer-Encoding: gzip, chunked\r\n\r\n${chunks}`,
    '120 headers': `${get}${host}${auth}${'X: y\r\n'.repeat(120)}\r\n`,
    'a target of 9 KiB': `GET /v1/${'x'.repeat(9_216)} HTTP/1.1\r\n${host}${auth}\r\n`,
    TRACE: `TRACE /v1/x HTTP/1.1\r\n${host}${auth}\r\n`,
    'HTTP/1.0': `GET /v1/x HTTP/1.0\r\n${host}${auth}\r\n`,
    'Connection: close': `${get}${host}${auth}Connection: close\r\n\r\n`,
    'a stranger with chunks': `${post}${chunked}\r\n${chunks}`,
    'a stranger with a large body': `${post}Content-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`,
    'too many chunks': `${post}${auth}${chunked}\r\n400\r\n${'x'.repeat(1_024)}\r\n400\r\n${'x'.repeat(1_024)}\r\n0\r\n\r\n`,
    'too large a body': `${post}${auth}Content-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`,
    'another protocol': `${get}${host}${auth}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`,
    'a length and chunks': `${post}${auth}Content-Length: 5\r\n${chunked}\r\n${chunks}`,
  }
  const behind = `DELETE /v1/behind HTTP/1.1\r\n${host}${auth}\r\n`
  let closed = 0
  for (const [name, bytes] of Object.entries(forms)) {
    for (const before of [0, 1, 20]) {
      upstream.seen.length = 0
      const all = `${get}${host}${auth}\r\n`.repeat(before) + bytes + behind.repeat(3)
      const answer = await raw(url, all, 1_000)
      const answers = statusesIn(answer).length - before
      const done = upstream.seen.filter(({ method }) => method === 'DELETE').length
      const isLast = /^connection: close\r$/im.test(answer)
      // A body that had come whole by the time of its refusal doesn't end the connection.
      t.equal(done, isLast ? 0 : 3, `${name}, behind ${before}: ${done} were done`)
      t.equal(answers, 1 + done, `${name}, behind ${before}: each is answered that was done`)
      if (isLast) closed++
    }
  }
  // Four of the forms have a body that may have come whole by then, which is a matter of time.
  t.ok(closed >= 36, `${closed} connections were ended`)
})

t.test('a last answer arrives at who is still writing', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    setTimeout(() => response.end('the last'), 20)
  })
  const { url, auth } = await startFor(t, { upstream })
  for (let i = 0; i < 10; i++) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `GET /v1/x HTTP/1.1\r\n${host}${auth}Connection: close\r\n\r\nGET /v1/behind HTTP/1.1\r\n`,
    )
    let received = ''
    socket.on('error', (error) => (received += error.message))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.pause()
    // It goes on, and reads only then.
    for (let n = 0; n < 40; n++) {
      await pause(2)
      socket.write(`X-${n}: ${'y'.repeat(100)}\r\n`)
    }
    socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')))
    socket.resume()
    await closed
    t.match(received, /^HTTP\/1\.1 200 [^]*the last$/)
  }
})

t.test('honest pipelines go on as before', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    setTimeout(() => response.end(request.url), Number(request.url?.at(-1)) % 3)
  })
  const { url, auth } = await startFor(t, { upstream })
  // With 17 requests of each under way they stay below half of the upstream's room, which one caller may have.
  const connections = Array.from({ length: 28 }, async (_, connection) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    let received = ''
    socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')))
    for (let round = 0; round < 5; round++) {
      const paths = Array.from({ length: 16 }, (_, i) => `/v1/${connection}/${round}/${i}`)
      received = ''
      socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\n${host}${auth}\r\n`).join(''))
      await until(() => received.split('\r\n\r\n/v1/').length > 16, 20_000)
      const answered = [...received.matchAll(/\r\n\r\n(\/v1\/\d+\/\d+\/\d+)/g)].map(
        ([, path]) => path,
      )
      t.same(answered, paths)
    }
    socket.destroy()
  })
  await Promise.all(connections)
})

t.test('a hundred of one connection are answered, and what is behind is not done', async (t) => {
  for (const perMinute of [100_000, 40]) {
    const upstream = await startUpstream(t)
    const { url, key } = await startFor(t, { upstream })
    const { token } = await key({ limits: { perMinute, perDay: 1_000_000 } })
    const ask = `GET /v1/x HTTP/1.1\r\n${host}Authorization: Bearer ${token}\r\n\r\n`
    const answer = await raw(url, ask.repeat(2_000))
    const statuses = statusesIn(answer)
    t.ok(statuses.length >= 100 && statuses.length <= 101, `${statuses.length} answers`)
    const admitted = statuses.filter((status) => status === 200).length
    t.equal(admitted, Math.min(perMinute, statuses.length))
    t.equal(upstream.seen.length, admitted)
    t.equal(answer.match(/^connection: close\r$/gim)?.length, 1)
  }
})

t.test('requests that wait and whose caller leaves are let go of, each of them', async (t) => {
  let open = 0
  const upstream = await startUpstream(t, (_request, response) => {
    open++
    response.once('close', () => open--)
  })
  const { url, auth, app } = await startFor(t, { upstream })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(`GET /v1/x HTTP/1.1\r\n${host}${auth}\r\n`.repeat(60))
  await until(() => open === 17)
  t.equal(upstream.seen.length, 17, 'one is answered, sixteen are under way behind it')
  socket.destroy()
  await until(() => open === 0)
  await app.change({ ...app.config })
  t.equal(upstream.seen.length, 17, 'the others are not asked for')
})

/** The middle time that a good key waits, once every few milliseconds, in ms. */
async function usualWait(
  url: string,
  headers: Record<string, string>,
  times: number,
): Promise<number> {
  const call = caller(url)
  const waits: number[] = []
  for (let i = 0; i < times; i++) {
    const began = performance.now()
    const { status } = await call('GET', '/v1/x', undefined, headers)
    if (status !== 200) throw new Error(`a good key got ${status}`)
    waits.push(performance.now() - began)
    await pause(10)
  }
  return waits.sort((a, b) => a - b)[Math.floor(times / 2)] ?? NaN
}

/** The memory of a gateway in MB without its young generation, which grows under any load and stays so. */
async function keptMb(pid: number | undefined, admin: string): Promise<number> {
  const { text } = await caller(admin)('GET', '/metrics')
  const young = /^nodejs_heap_space_size_total_bytes\{space="new"\} (\d+)$/m.exec(text)?.[1]
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(resident) / 1_024 - Number(young) / 1_048_576
}

/** Runs the attack in a process of its own while something is done, and gives what that gives. */
async function during<T>(
  t: Test,
  args: readonly string[],
  act: () => Promise<T>,
): Promise<{ result: T; answers: number }> {
  const file = fileURLToPath(new URL('../support/pipeliner.ts', import.meta.url))
  const child = spawn(process.execPath, [file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let answers = 0
  child.stdout?.on(
    'data',
    (text: Buffer) => (answers = Number(text.toString().trim().split('\n').at(-1))),
  )
  await until(() => answers > 0, 20_000)
  const result = await act()
  child.kill('SIGKILL')
  await once(child, 'exit')
  return { result, answers }
}

t.test('who pipelines holds up nobody but itself', { timeout: 300_000 }, async (t) => {
  const upstream = await startUpstream(t)
  const { urls, processes, key } = await startFleet(t, {
    upstream: upstream.url,
    environments: [{ LOG_LEVEL: 'info' }],
    more: 'plans: { p: { perMinute: unlimited, perDay: 100000000, bans: off }, small: { perMinute: 60, perDay: 1000 } }',
  })
  const [url = ''] = urls
  const { port } = new URL(url)
  const headers = await key()
  const greedy = (await key({ plan: 'small' })).authorization
  const ask = () => usualWait(url, headers, 40)
  const [gateway] = processes
  if (!gateway) throw new Error('one was asked for')
  const admin = await adminOf(gateway)
  const memoryNow = () => keptMb(gateway.child.pid, admin)
  await ask()
  for (const [name, ...who] of [['a stranger'], ['a key over its limit', greedy]]) {
    const control = await during(t, [port, '20', '1', ...who], ask)
    const memory = await memoryNow()
    for (const depth of ['200', '2000']) {
      const attack = await during(t, [port, '20', depth, ...who], ask)
      const [usual, now] = [control.result, attack.result]
      const seen = `${usual.toFixed(1)} → ${now.toFixed(1)} ms; ${control.answers}, ${attack.answers} answers`
      t.ok(now < 3 * usual + 2, `${name}, 20 × ${depth} beside 20 × 1: ${seen}`)
    }
    const grown = (await memoryNow()) - memory
    t.ok(grown < 40, `${name}: ${grown.toFixed(0)} MB more`)
  }
})
