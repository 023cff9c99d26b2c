import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { TargetAttempt } from '../../../gateway/front/forwarding/target-attempt.ts'
import { Upstream } from '../../../gateway/front/forwarding/upstream.ts'
import { Meters } from '../../../gateway/front/counts/meters.ts'
import { startForCaller } from '../../support/first-caller.ts'
import { startGateway, startRawUpstream, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { bound } from '../../support/promises.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'

t.test('what a backend answers with is what its caller gets', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    const status = Number(/\d{3}/.exec(request.url ?? '')?.[0])
    response.writeHead(status, { 'Retry-After': '77', 'Content-Length': status === 204 ? 0 : 2 })
    response.end(status === 204 || status === 304 ? undefined : 'no')
  })
  const { get, ask, call, headers } = await startForCaller(t, { upstream })
  for (const status of [400, 404, 409, 422, 429, 500, 502, 503, 504, 599]) {
    const answer = await get(`/v1/${status}`)
    t.match(answer, { status, text: 'no', headers: { 'retry-after': '77' } })
  }
  t.equal(upstream.seen.length, 10, 'each was asked for once, a 503 too')
  t.match(await get('/v1/204'), { status: 204, text: '' })
  t.match(await get('/v1/304'), { status: 304, text: '' })
  t.match(await call('HEAD', '/v1/200', undefined, headers), {
    status: 200,
    text: '',
    headers: { 'content-length': '2' },
  })
  t.notMatch(await ask('GET /v1/204'), /content-length|transfer-encoding/i)
})

t.test(
  'a backend that fails is a 502 or a 504, asked once, and costs no day’s point',
  async (t) => {
    const log: string[] = []
    const misbehave: Record<string, (socket: Socket) => void> = {
      closed: (socket) => socket.end(),
      reset: (socket) => socket.resetAndDestroy(),
      garbage: (socket) => socket.end('SSH-2.0-OpenSSH\r\n\r\n'),
      nonsense: (socket) => socket.end('HTTP/1.1 200 OK\r\nbad header\r\n\r\n'),
      huge: (socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`),
      'header-of-control-characters': (socket) =>
        socket.end('HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 0\r\n\r\n'),
      999: (socket) => socket.end('HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'),
      'switch-unasked': (socket) => socket.end('HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n'),
      silent: () => undefined,
    }
    let asked = 0
    const upstream = await startRawUpstream(t, (socket) => {
      socket.on('data', (bytes) => {
        asked++
        const name = /\/v1\/(\S+) /.exec(bytes.toString())?.[1] ?? ''
        misbehave[name]?.(socket)
      })
    })
    const { get, dayLeft, call, headers } = await startForCaller(t, {
      upstream,
      upstreamMore: 'timeout: { response: 300ms }, health: { unhealthyAfter: 1000 }',
      log: { level: 'error', target: { write: (line: string) => void log.push(line) } },
    })
    for (const name of Object.keys(misbehave)) {
      asked = 0
      log.length = 0
      const started = performance.now()
      const before = await dayLeft()
      const answer = await get(`/v1/${name}`)
      const late = name === 'silent'
      t.match(answer, {
        status: late ? 504 : 502,
        text: late
          ? '{"code":"gateway_timeout","message":"The backend did not answer in time.","status":504}'
          : '{"code":"bad_gateway","message":"The backend closed the connection or sent an invalid response.","status":502}',
      })
      t.equal(asked, 1, `${name}: one request of the backend`)
      t.equal(await dayLeft(), before, `${name}: the day's point is back`)
      t.equal(log.filter((line) => line.includes('"upstream":"animals"')).length, 1, name)
      t.ok(performance.now() - started < bound(1_500), name)
      asked = 0
      t.match((await call('POST', `/v1/${name}`, { a: 1 }, headers)).status, late ? 504 : 502)
      t.equal(asked, 1, `${name}: a POST is sent once, too`)
    }
  },
)

t.test('the last of several types is the answer’s, if all are well formed', async (t) => {
  const log: string[] = []
  let types: readonly string[] = []
  const upstream = await startRawUpstream(t, (socket) => {
    socket.on('data', () => {
      const lines = types.map((type) => `Content-Type: ${type}\r\n`).join('')
      socket.write(`HTTP/1.1 200 OK\r\n${lines}Content-Length: 2\r\n\r\nok`)
    })
  })
  const { get } = await startForCaller(t, {
    upstream,
    log: { level: 'error', target: { write: (line: string) => void log.push(line) } },
  })
  const fine = [
    ['text/plain', 'text/html'],
    ['text/html; charset=utf-8', 'application/vnd.api+json'],
    ['a/b', 'a/b', 'text/html; charset="a\\"b;c" ; ;x=y;'],
  ]
  for (types of fine) {
    const { status, text, headers } = await get('/v1/x')
    t.match({ status, text }, { status: 200, text: 'ok' }, types.join(', '))
    t.equal(headers['content-type'], types.at(-1))
  }
  t.strictSame(log, [])
  const ambiguous = [
    ['text/plain', ''],
    ['text', 'text/plain'],
    ['text/html; charset', 'text/plain'],
    ['text/html, text/xml', 'text/plain'],
    ['text/plain', `text/html${'; '.repeat(2_000)}x`],
  ]
  const message =
    'The backend’s answer can’t be forwarded: it has several Content-Type headers, and not all are media types.'
  for (types of ambiguous) {
    const { status, text } = await get('/v1/x')
    const name = types.join(', ').slice(0, 80)
    t.match({ status, ...json(text) }, { status: 502, code: 'bad_gateway', message }, name)
    t.match(log.pop(), '"cause":"the header content-type"', name)
  }
})

t.test('an answer that breaks off is never a whole one', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', (bytes) => {
      const isChunked = bytes.includes('/chunked')
      socket.write(
        isChunked
          ? 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'
          : 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello',
      )
      if (!bytes.includes('/pause')) setTimeout(() => socket.destroy(), 50)
    })
  })
  const { ask } = await startForCaller(t, { upstream, upstreamMore: 'timeout: { idle: 200ms }' })
  const half = await ask('GET /v1/length')
  t.match(half, /content-length: 100\r\n[^]*\r\n\r\nhello$/i)
  t.notMatch(await ask('GET /v1/chunked'), /\r\n0\r\n\r\n$/)
  const started = performance.now()
  t.match(await ask('GET /v1/pause'), /hello$/)
  t.ok(performance.now() - started < 4_500, 'nor does one that pauses for too long go on for ever')
})

t.test('bytes go through as they come, in both directions', async (t) => {
  let release: () => void = () => undefined
  const heard: string[] = []
  const upstream = await startUpstream(t, (request, response) => {
    request.on('data', (chunk: Buffer) => heard.push(chunk.toString()))
    if (request.url === '/v1/events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.flushHeaders()
      release = () => response.write('data: one\n\n')
    } else request.on('end', () => response.end(heard.join('')))
  })
  const { url, head } = await startForCaller(t, { upstream })
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  let text = ''
  socket.on('data', (bytes: Buffer) => (text += bytes.toString()))
  socket.write(head('GET /v1/events'))
  await until(() => text.includes('\r\n\r\n'))
  t.match(text, /content-type: text\/event-stream/i, 'the headers come before there is an event')
  release()
  await until(() => text.includes('data: one'))
  release()
  await until(() => text.split('data: one').length === 3)

  const up = connect(Number(port), hostname)
  t.teardown(() => up.destroy())
  up.write(head('POST /v1/up', 'Transfer-Encoding: chunked\r\nContent-Type: text/plain\r\n'))
  up.write('3\r\none\r\n')
  await until(() => heard.join('') === 'one')
  up.write('3\r\ntwo\r\n0\r\n\r\n')
  const [answer] = (await once(up, 'data')) as [Buffer]
  t.match(answer.toString(), /onetwo$/, 'a text is not waited for either')
})

t.test('a caller that hangs up ends the work of its backend', async (t) => {
  let ended = 0
  const upstream = await startUpstream(t, (request, response) => {
    response.once('close', () => ended++)
    if (request.url === '/v1/begun') response.writeHead(200).write('x')
  })
  const { url, head } = await startForCaller(t, { upstream })
  const { hostname, port } = new URL(url)
  for (const [line, more] of [
    ['GET /v1/waiting', ''],
    ['GET /v1/begun', ''],
    ['POST /v1/sending', 'Content-Length: 100000\r\n'],
  ] as const) {
    const before = upstream.seen.length
    const socket = connect(Number(port), hostname, () => socket.write(head(line, more) + 'x'))
    await until(() => upstream.seen.length > before)
    await pause(20)
    ended = 0
    socket.destroy()
    await until(() => ended === 1, 1_000)
    t.pass(line)
  }
})

t.test('an early answer is passed on while its request is still coming', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () =>
      socket.end('HTTP/1.1 403 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno'),
    )
  })
  const { url, head } = await startForCaller(t, {
    upstream,
    routes: '[ { path: /v1/*, upstream: animals, bodyLimit: 100MiB } ]',
  })
  const { hostname, port } = new URL(url)
  for (let i = 0; i < 5; i++) {
    const socket = connect(Number(port), hostname)
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.write(head('POST /v1/x', `Content-Length: ${50 * 2 ** 20}\r\n`))
    socket.write(Buffer.alloc(1_000_000))
    const [answer] = (await once(socket, 'data')) as [Buffer]
    t.match(answer.toString(), /^HTTP\/1\.1 403 [^]*no$/)
  }
})

t.test('an answer that can’t be handed on fails its own request, and nothing else', async (t) => {
  const { url } = await startUpstream(t, ({ url }, response) => {
    if (url === '/stream') response.write('a beginning')
    else response.end('all')
  })
  const { app, config } = await startGateway(t, { upstream: { url, seen: [] } })
  const { certificates } = app.front
  const settings = config.upstreams.get('animals')
  if (!settings) throw new Error('there is an upstream')
  const log = { out: () => t.fail('is not taken out'), back: () => undefined }
  const upstream = new Upstream({
    ...{ settings, log, certificates, meters: new Meters(), swap: undefined },
  })
  const [first] = upstream.targets
  if (!first) throw new Error('there is a target')
  for (const target of ['/', '/stream']) {
    const events: unknown[] = []
    await new Promise<void>((resolve) => {
      const attempt = new TargetAttempt(
        first,
        {
          ...{ method: 'GET', target, callerId: 'k', headers: ['host', ''], body: undefined },
          ...{ sentAtMs: performance.now(), upgrade: false, host: undefined },
        },
        settings.timeouts,
        {
          answered: () => {
            throw new Error('of ours')
          },
          piece: () => undefined,
          trailed: () => undefined,
          left: () => undefined,
          upgraded: () => t.fail(),
          failed: ({ kind, cause }) => events.push(kind, cause.message),
          ended: () => {
            events.push('ended')
            resolve()
          },
        },
      )
      attempt.begin()
    })
    await pause(50)
    t.strictSame(events, ['broken', 'of ours', 'ended'], `${target}: once, and its end last`)
  }
  await upstream.close()
})
