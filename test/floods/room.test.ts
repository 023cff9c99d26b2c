import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createService } from '../../shared/service.ts'
import { startFleet } from '../support/fleet.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { answerFrom, json, raw } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { until } from '../support/until.ts'
import { pause } from '../support/traffic.ts'

/** Connections from an address of this machine that ask once, and stay. */
async function crowd(t: Test, url: string, from: string, size: number, ask: string) {
  const sockets: Socket[] = []
  for (let i = 0; i < size; i++) {
    const socket = connect({
      port: Number(new URL(url).port),
      host: '127.0.0.1',
      localAddress: from,
    })
    socket.on('error', () => undefined)
    socket.on('data', () => undefined)
    socket.once('connect', () => socket.write(ask))
    sockets.push(socket)
  }
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  await until(() => sockets.every((socket) => socket.destroyed || socket.bytesRead > 0), 20_000)
  return sockets
}

const stranger = 'GET /v1/x HTTP/1.1\r\nHost: x\r\n\r\n'

t.test('idle connections of one stranger lock nobody out', { timeout: 120_000 }, async (t) => {
  const upstream = await startUpstream(t)
  const fleet = await startFleet(t, {
    upstream: upstream.url,
    more: 'plans: { p: { perMinute: unlimited, perDay: unlimited } }',
  })
  const headers = await fleet.key()
  // The same configuration and store, in a process that may have few files and connections open.
  const few = startProcess(t, 'gateway/main.ts', {
    shell: 'ulimit -n 256',
    env: { TOLLGATE_CONFIG: fleet.file, LOG_LEVEL: 'warn' },
  })
  const url = await few.url
  const idle = await crowd(t, url, '127.0.0.9', 300, stranger)
  const open = (): number => idle.filter(({ destroyed }) => !destroyed).length
  t.ok(open() <= 96, `${open()} of 300 are open`)
  for (let i = 0; i < 20; i++) {
    // A new connection each time, from another address and from the same.
    for (const from of ['127.0.0.1', '127.0.0.9']) {
      const socket = connect({
        port: Number(new URL(url).port),
        host: '127.0.0.1',
        localAddress: from,
      })
      socket.on('error', () => undefined)
      socket.write(
        stranger.replace('\r\n\r\n', `\r\nAuthorization: ${headers.authorization}\r\n\r\n`),
      )
      const [bytes] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [
        Buffer,
      ]
      t.equal(answerFrom(bytes.toString()).status, 200, `${from} is served`)
      socket.destroy()
    }
  }
  await until(() => open() === 0, 12_000)
  t.pass('and those of strangers are soon gone')
})

t.test('callers behind one address are many, and stay', async (t) => {
  const { url, key } = await startGateway(t)
  const { headers } = await key({ limits: { perMinute: 10_000, perDay: 10_000 } })
  const ask = stranger.replace('\r\n\r\n', `\r\nAuthorization: ${headers.authorization}\r\n\r\n`)
  const sockets = await crowd(t, url, '127.0.0.1', 500, ask)
  await pause(100)
  t.equal(sockets.filter(({ destroyed }) => destroyed).length, 0)
  const refused = await raw(url, stranger, 1_500)
  t.match(refused, /^keep-alive: timeout=5\r$/im, 'only strangers are told to be quick')
})

t.test('blank lines keep no connection open', async (t) => {
  const app = createService({ name: 'test', settings: { keepAliveTimeout: 1_000 } })
  app.get('/', () => 'ok')
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'data')
  const timer = setInterval(() => socket.write('\r\n'), 100)
  await until(() => socket.destroyed || socket.readableEnded, 10_000)
  clearInterval(timer)
  t.pass('it is ended all the same')
  socket.destroy()
})

t.test('a stranger over its limit writes one line a second', async (t) => {
  const log: string[] = []
  let nowMs = Date.parse('2026-11-21T10:00:10Z')
  const { url, call } = await startGateway(t, {
    clock: () => nowMs,
    more: 'strangers: { perMinute: 5, perDay: 1000 }',
    log: { level: 'info', target: { write: (line: string) => void log.push(line) } },
  })
  const long = `/v1/${'x'.repeat(4_000)}`
  for (let i = 0; i < 200; i++) await call('GET', long)
  await raw(url, 'GET /v1/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  nowMs += 1_100
  await call('GET', long)
  const lines = log.filter((line) => line.includes('too_many_failed_attempts'))
  t.equal(lines.length, 2, 'two lines of 196')
  const told = lines
    .map((line) => Number(json(line)['droppedLines'] ?? 0) + 1)
    .reduce((a, b) => a + b, 0)
  t.equal(told, 196, 'which say how many there were')
  t.ok(
    log.every((line) => line.length < 1_000),
    'and none is long',
  )
})
