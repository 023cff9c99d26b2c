import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectPlainly, type Socket } from 'node:net'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { serverOptions } from '../../../gateway/front/http/server-options.ts'
import { tollgate } from '../../../gateway/plugin.ts'
import { pairFor, selfSigned } from '../../support/certificate.ts'
import { startCollector } from '../../support/collector.ts'
import { startGateway, startRawUpstream, type GatewayOptions } from '../../support/gateway.ts'
import { raw, tlsCaller } from '../../support/http.ts'
import { until } from '../../support/until.ts'

/** A gateway whose callers' address speaks TLS. */
async function startSecure(t: Test, options: GatewayOptions = {}) {
  const first = selfSigned()
  const pair = pairFor(t, first)
  const log: string[] = []
  const gateway = await startGateway(t, {
    listen: `{ host: 127.0.0.1, port: 0, tls: ${pair.yaml} }`,
    log: { level: 'info', target: { write: (line: string) => void log.push(line) } },
    ...options,
  })
  const port = Number(new URL(gateway.url).port)
  const { headers } = await gateway.key({ limits: { perMinute: 1_000, perDay: 1_000 } })
  const request = (path = '/v1/x', more = '') =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\n${more}\r\n`
  /** Opens a connection, whoever vouches for its certificate. */
  const open = async (more: ConnectionOptions = {}): Promise<TLSSocket> => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...more })
    t.teardown(() => socket.destroy())
    await once(socket, 'secureConnect')
    return socket
  }
  const call = tlsCaller(gateway.url, first.cert)
  return { ...gateway, port, first, pair, log, headers, request, open, call }
}

async function ask(socket: Socket, request: string): Promise<string> {
  socket.write(request)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString()
}

/** The certificate that a connection has shown. */
function shownBy(socket: TLSSocket): string {
  return socket.getPeerX509Certificate()?.fingerprint256 ?? ''
}

function fingerprint({ cert }: { cert: string }): string {
  return new X509Certificate(cert).fingerprint256
}

t.test(
  'callers come by TLS of 1.2 and newer, in HTTP/1.1, and all that is told says https',
  async (t) => {
    const collector = await startCollector(t)
    const { url, call, headers, upstream, open, log } = await startSecure(t, {
      more: `traces: { to: "${collector.url}", sample: 100% }`,
    })
    t.match(url, /^https:/)
    t.ok(log.some((line) => line.includes(`Server listening at ${url}`)))
    t.match(await call('GET', '/v1/x', undefined, headers), { status: 200 })
    t.equal(upstream.seen[0]?.headers['x-forwarded-proto'], 'https')
    await until(() => collector.spans.some(({ kind }) => kind === 'server'))
    t.match(
      collector.spans.find(({ kind }) => kind === 'server'),
      { attributes: { 'url.scheme': 'https' } },
    )
    const socket = await open({ ALPNProtocols: ['h2', 'http/1.1'] })
    t.equal(socket.alpnProtocol, 'http/1.1')
    t.equal((await open({ maxVersion: 'TLSv1.2' })).getProtocol(), 'TLSv1.2')
    await t.rejects(open({ ALPNProtocols: ['h2'] }), /no application protocol/)
    const old = {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    } as const
    await t.rejects(open(old), /protocol version/)
  },
)

t.test(
  'plain HTTP at that port is closed without an answer, and isn’t counted as a stranger',
  async (t) => {
    const { port, call } = await startSecure(t, {
      more: 'strangers: { perMinute: 60, perDay: 1000 }',
    })
    const got = await raw(`http://127.0.0.1:${port}`, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n').catch(
      (error: unknown) => String(error),
    )
    t.notMatch(got, /HTTP/)
    const { headers } = await call('GET', '/v1/x')
    t.equal(headers['x-ratelimit-remaining'], '59')
  },
)

t.test('a connection is held to the bounds of all others', async (t) => {
  const { request, open, port } = await startSecure(t)
  const pipelined = await open()
  const answers = once(pipelined, 'end').then(() => undefined)
  let got = ''
  pipelined.on('data', (bytes: Buffer) => (got += bytes.toString()))
  pipelined.write(request().repeat(3) + request('/v1/x', 'Connection: close\r\n'))
  await answers
  t.equal(got.split('HTTP/1.1 200').length - 1, 4)
  t.match(await ask(await open(), 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 [^]*invalid_request/)
  const sending = await open()
  sending.write('POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n')
  t.match(await ask(sending, 'x'.repeat(1_000_000)), /^HTTP\/1\.1 401 /)
  const stranger = await open()
  t.match(await ask(stranger, 'GET /v1/x HTTP/1.1\r\nHost: x\r\n\r\n'), /^HTTP\/1\.1 401/)
  const silent = connectPlainly(port, '127.0.0.1')
  const began = performance.now()
  await Promise.all([once(stranger, 'close'), once(silent.resume(), 'close')])
  const tookMs = performance.now() - began
  t.ok(
    tookMs > 4_000 && tookMs < 12_000,
    `a stranger’s ends, and one without a handshake: ${tookMs}`,
  )
})

t.test('handshakes count as connections, and lock nobody out', async (t) => {
  // 96 descriptors leave room for 16 connections.
  const { call, headers, port, server } = await startSecure(t, { descriptors: 96 })
  const waiting = Array.from({ length: 40 }, (_, i) => {
    const socket = connectPlainly({
      port,
      host: '127.0.0.1',
      localAddress: `127.0.0.${9 + (i % 4)}`,
    })
    t.teardown(() => socket.destroy())
    return socket.on('error', () => undefined).resume()
  })
  const open = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))
  await until(() => waiting.filter(({ closed }) => closed).length >= 24)
  t.ok((await open()) <= 16)
  t.match(await call('GET', '/v1/x', undefined, headers), { status: 200 })
})

t.test('a new pair is in use for new connections, and closes none', async (t) => {
  const { pair, first, log, open, request, app } = await startSecure(t)
  const before = await open()
  t.equal(shownBy(before), fingerprint(first))
  const next = selfSigned()
  const refusals = () => log.filter((line) => line.includes('can’t be used')).length

  await t.test('a key of another certificate is refused with its reason', async (t) => {
    pair.put(pair.key, next.key)
    await until(() => refusals() === 1)
    const line = log.find((each) => each.includes('can’t be used')) ?? ''
    t.match(
      line,
      /"use":"listen".*listen\.tls\.key isn’t the private key of the certificate beside it/,
    )
    t.notMatch(line, /PRIVATE|BEGIN|tollgate-tls-/, 'and neither shows it nor its place')
    t.equal(shownBy(await open()), fingerprint(first))
  })
  pair.put(pair.cert, next.cert)
  await until(() => log.some((line) => line.includes('changed certificates are in use')))
  t.equal(shownBy(await open()), fingerprint(next))
  t.match(await ask(before, request()), /^HTTP\/1\.1 200/, 'the open connection goes on')

  await t.test('and at once where it is asked for', async (t) => {
    const third = selfSigned()
    pair.write(third)
    app.front.certificates.readAgain()
    t.equal(shownBy(await open()), fingerprint(third))
    pair.put(pair.cert, 'half a certif')
    app.front.certificates.readAgain()
    t.match(log.at(-1), /listen\.tls\.cert must be a file that begins with a certificate in PEM/)
    t.equal(shownBy(await open()), fingerprint(third))
  })
})

t.test('an app with serverOptions brings its own TLS', async (t) => {
  const { config, stores, headers, upstream } = await startSecure(t)
  const own = selfSigned()
  const app = Fastify({ ...serverOptions({ https: own }), logger: false })
  t.teardown(() => app.close())
  await app.register(tollgate, { loaded: config, stores })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.match(url, /^https:/)
  t.match(await tlsCaller(url, own.cert)('GET', '/v1/x', undefined, headers), { status: 200 })
  t.equal(upstream.seen[0]?.headers['x-forwarded-proto'], 'https')
  const plain = url.replace('https:', 'http:')
  t.notMatch(await raw(plain, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n').catch(String), /HTTP/)
})

t.test('a WebSocket goes through', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Hi\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
      socket.pipe(socket)
    })
  })
  const { open, request } = await startSecure(t, { upstream })
  const socket = await open()
  const upgrade = 'Upgrade: websocket\r\nConnection: Upgrade\r\n'
  const more = `${upgrade}Sec-WebSocket-Key: ${'A'.repeat(22)}==\r\nSec-WebSocket-Version: 13\r\n`
  t.match(await ask(socket, request('/v1/x', more)), /^HTTP\/1\.1 101/)
  t.equal(await ask(socket, 'frame'), 'frame')
})
