import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { verifySignature } from '../../../gateway/index.ts'
import { plenty, startForCaller } from '../../support/first-caller.ts'
import { startGateway, startRawUpstream, startUpstream } from '../../support/gateway.ts'
import { json, raw } from '../../support/http.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'

t.test('bodies', async (t) => {
  const got: number[] = []
  const upstream = await startUpstream(t, (request, response) => {
    let size = 0
    request.on('data', (chunk: Buffer) => (size += chunk.length))
    request.on('end', () => {
      got.push(size)
      response.end('{}')
    })
  })
  const { url, ask, token } = await startForCaller(t, {
    upstream,
    routes: '[ { path: /v1/*, upstream: animals, bodyLimit: 64KiB } ]',
  })
  const limit = 64 * 1024
  const chunked = (size: number) => {
    const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`
    return `${chunk.repeat(Math.floor(size / 4_096))}${size % 4_096 ? `1\r\nx\r\n` : ''}0\r\n\r\n`
  }
  const te = 'Transfer-Encoding: chunked\r\n'
  const types = ['', 'Content-Type: text/plain\r\n', 'Content-Type: application/json\r\n']

  t.test(
    'up to the limit go through, announced or chunked, and one byte more does not',
    async (t) => {
      for (const type of types) {
        for (const [name, answer] of [
          [
            'announced',
            ask('POST /v1/x', `${type}Content-Length: ${limit}\r\n`, 'x'.repeat(limit)),
          ],
          ['chunked', ask('POST /v1/x', type + te, chunked(limit))],
        ] as const) {
          t.match(await answer, /^HTTP\/1\.1 200/, `${name} ${type}`)
          t.equal(got.pop(), limit)
        }
        for (const [name, answer] of [
          [
            'announced',
            ask('POST /v1/x', `${type}Content-Length: ${limit + 1}\r\n`, 'x'.repeat(limit + 1)),
          ],
          ['chunked', ask('POST /v1/x', type + te, chunked(limit + 1))],
        ] as const) {
          t.match(await answer, /^HTTP\/1\.1 413 [^]*"payload_too_large"/, `${name} ${type}`)
        }
      }
      t.strictSame(got, [], 'the backend had no whole request of those')
    },
  )

  t.test('a refusal arrives at who is still sending, and little of the rest is read', async (t) => {
    const { hostname, port } = new URL(url)
    const size = 50 * 2 ** 20
    let unread = 0
    for (let i = 0; i < 20; i++) {
      const key = i % 2 ? `Bearer ${token}` : 'Bearer wrong'
      const status = await new Promise<number>((resolve, reject) => {
        const request = httpRequest({
          hostname,
          port,
          method: 'POST',
          path: '/v1/x',
          headers: {
            authorization: key,
            ...(i % 4 < 2 ? { 'content-length': size } : { 'transfer-encoding': 'chunked' }),
          },
        })
        request.once('response', (response) => {
          resolve(response.statusCode ?? 0)
          // The rest of the body is not written, because the socket closes.
          unread += size - (request.socket?.bytesWritten ?? 0)
          request.destroy()
        })
        request.once('error', reject)
        const block = Buffer.alloc(65_536)
        let left = size
        const send = (): void => {
          while (left > 0 && !request.destroyed) {
            left -= block.length
            if (!request.write(block)) return void request.once('drain', send)
          }
          request.end()
        }
        send()
      })
      t.equal(status, i % 2 ? 413 : 401)
    }
    t.ok(
      unread > 20 * 0.8 * size,
      `on average ${Math.round(unread / 20 / 2 ** 20)} of 50 MB were never sent`,
    )
  })

  t.test('who expects to be invited is, once it is admitted', async (t) => {
    const { hostname, port } = new URL(url)
    const begin = async (key: string) => {
      const socket = connect(Number(port), hostname)
      t.teardown(() => socket.destroy())
      socket.write(
        `POST /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
      )
      const [first] = (await once(socket, 'data')) as [Buffer]
      return { socket, first: first.toString() }
    }
    const { socket, first } = await begin(token)
    t.match(first, /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
    socket.write('hello')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    t.match(answer.toString(), /^HTTP\/1\.1 200/)
    t.equal(got.pop(), 5)
    const refused = await begin('wrong')
    t.match(refused.first, /^HTTP\/1\.1 401 [^]*connection: close/i, 'a stranger is not')
  })

  t.test('GET and HEAD have none; others may, or not', async (t) => {
    t.match(await ask('GET /v1/x', 'Content-Length: 2\r\n', '{}'), /^HTTP\/1\.1 400/)
    t.match(await ask('HEAD /v1/x', te, '0\r\n\r\n'), /^HTTP\/1\.1 400/)
    t.match(await ask('GET /v1/x', 'Content-Length: 0\r\n'), /^HTTP\/1\.1 200/)
    t.match(await ask('DELETE /v1/x', 'Content-Length: 2\r\n', '{}'), /^HTTP\/1\.1 200/)
    t.match(await ask('POST /v1/x'), /^HTTP\/1\.1 200/)
    t.match(await ask('POST /v1/x', 'Content-Length: 0\r\n'), /^HTTP\/1\.1 200/)
    t.match(
      await ask('POST /v1/x', 'Content-Type: nonsense\r\nContent-Length: 2\r\n', '{}'),
      /^HTTP\/1\.1 415/,
    )
  })

  t.test('one that does not come in time is a 408, and does not hold a backend', async (t) => {
    for (const secret of ['a-secret-of-the-test', '']) {
      const quick = await startForCaller(t, {
        ...{ upstream, secret, upstreamMore: 'timeout: { request: 400ms }' },
        store: 'file: ":memory:"',
      })
      const before = upstream.seen.length
      const started = performance.now()
      const answer = await raw(quick.url, quick.head('POST /v1/x', 'Content-Length: 10\r\n') + 'x')
      t.match(answer, /^HTTP\/1\.1 408 [^]*"request_timeout"/)
      const waited = performance.now() - started
      t.ok(waited > 390 && waited < 4_500, `${Math.round(waited)} ms`)
      t.equal(upstream.seen.length, before)
    }
  })
})

t.test('bodies that do not come take no room, and no connection', async (t) => {
  const upstream = await startUpstream(t)
  const gateway = await startGateway(t, { upstream, upstreamMore: 'maxInFlight: 100' })
  const { key, call, url } = gateway
  const { port } = new URL(url)
  const sockets: Socket[] = []
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  const greedy = await Promise.all(Array.from({ length: 20 }, () => key(plenty)))
  for (const lengths of [
    'Content-Length: 10',
    'Content-Length: 100000',
    'Transfer-Encoding: chunked',
  ]) {
    for (const { headers } of greedy) {
      for (let i = 0; i < 10; i++) {
        const socket = connect(Number(port), '127.0.0.1')
        socket.on('error', () => undefined)
        socket.write(
          `POST /v1/quick HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\n${lengths}\r\n\r\n`,
        )
        sockets.push(socket)
      }
    }
  }
  const other = await key(plenty)
  for (let i = 0; i < 20; i++) {
    const { status } = await call('POST', '/v1/quick', { a: 1 }, other.headers)
    t.equal(status, 200)
    await pause(10)
  }
  t.equal(upstream.seen.length, 20, 'the backend has heard of nobody else')
})

t.test('a body that comes late is sent on whole, and signed', async (t) => {
  const secret = 'a-secret-of-the-test'
  let got = ''
  const upstream = await startUpstream(t, (request, response) => {
    got = ''
    request.on('data', (bytes: Buffer) => (got += bytes.toString()))
    request.on('end', () => response.end('{}'))
  })
  const { key, url } = await startGateway(t, { upstream, secret })
  const { headers } = await key(plenty)
  const { port } = new URL(url)
  const post = `POST /v1/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${headers.authorization}\r\n`
  const send = async (lines: string, parts: readonly string[]): Promise<string> => {
    let answer = ''
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('data', (bytes: Buffer) => (answer += bytes.toString()))
    socket.write(`${post}${lines}\r\n\r\n`)
    for (const part of parts) {
      await pause(30)
      socket.write(part)
    }
    await until(() => socket.destroyed, 10_000)
    return answer
  }
  t.match(await send('Content-Length: 10', ['hello', 'world']), /^HTTP\/1\.1 200 /)
  t.equal(got, 'helloworld')
  const verify = (body: string) => {
    const { method = '', url: target = '', headers = {} } = upstream.seen.at(-1) ?? {}
    return verifySignature({ method, target, headers, secret, body: Buffer.from(body) })
  }
  t.match(upstream.seen.at(-1)?.headers, { 'content-digest': /^sha-256=:.{43}=:$/ })
  t.match(verify('helloworld'), { plan: 'free', account: undefined })
  t.equal(verify('helloWorld'), undefined)
  t.match(
    await send('Content-Length: 2\r\nExpect: 100-continue', ['ok']),
    /^HTTP\/1\.1 100 [^]* 200 /,
  )
  t.match(await send('Transfer-Encoding: chunked', ['2\r\nok\r\n', '0\r\n\r\n']), / 200 /)
  t.notMatch(upstream.seen.at(-1)?.headers, { 'content-digest': /./ })
  const large = 'x'.repeat(100_000)
  t.match(await send(`Content-Length: ${large.length}`, [large]), / 200 /)
  t.equal(got.length, large.length)
})

t.test('a backend that hangs up on a body has been asked, and that costs', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () => socket.resetAndDestroy())
  })
  const { key, url, call } = await startGateway(t, { upstream })
  const { headers } = await key(plenty)
  const body = 'x'.repeat(900_000)
  const answer = await raw(
    url,
    `POST /v1/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${headers.authorization}\r\nContent-Length: 1000000\r\n\r\n${body}`,
  )
  t.match(answer, /^HTTP\/1\.1 502 /)
  const quota = json(await call('GET', '/v1/quota', undefined, headers))
  t.match(quota, { day: { remaining: 999_999 } }, 'the day’s point is not given back')
})
