import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer as createHttpServer, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { InOne } from '../../shared/node/in-one.ts'
import { drain } from '../../shared/serve.ts'
import { startAdmin } from '../support/admin.ts'
import { selfSigned } from '../support/certificate.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { json, raw } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { until } from '../support/until.ts'
import { folderOf } from '../support/folder.ts'

t.test('a connection on which nonsense came is not kept', async (t) => {
  const { url, server } = await startGateway(t)
  const { hostname, port } = new URL(url)
  const open = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))
  // A client that reads the answer and then never hangs up.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined).resume()
  socket.write('nonsense\r\n\r\n')
  await new Promise((resolve) => socket.once('end', resolve))
  await until(async () => (await open()) === 0, 3_000)
  t.pass('after a moment')
})

t.test('what is for one connection alone stays on it', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, {
      Connection: 'keep-alive',
      'Keep-Alive': 'timeout=77',
      Server: 'x',
      'X-Powered-By': 'y',
    })
    response.end('{}')
  })
  const { url, key } = await startGateway(t, { upstream })
  const { token } = await key()
  const ask = (more: string) =>
    raw(
      url,
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`,
    )
  for (const more of ['', 'Keep-Alive: timeout=5\r\n', 'Upgrade: foo\r\n', 'TE: trailers\r\n']) {
    const started = performance.now()
    const answer = await ask(more)
    t.match(answer, /^HTTP\/1\.1 200/, more)
    t.notMatch(answer, /timeout=77|^server:|x-powered-by/im)
    t.ok(performance.now() - started < 4_500, 'the connection ends when its caller wants it to')
  }
})

t.test('a stop answers those who have come, however many wait at the door', async (t) => {
  const { url, key, app } = await startGateway(t)
  const { token } = await key({ limits: { perMinute: 100, perDay: 100 } })
  const { hostname, port } = new URL(url)
  const sockets = Array.from({ length: 50 }, () => connect(Number(port), hostname))
  // The system has connected all of them; the gateway has accepted one or two.
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const answers = sockets.map(async (socket) => {
    socket.write(`GET /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    return answer.toString('latin1').slice(9, 12)
  })
  await drain(app, 5_000, 10_000)
  t.strictSame(new Set(await Promise.all(answers)), new Set(['200']))
})

t.test('V8’s young generation grows only when many requests are under way', async (t) => {
  const young = startProcess(t, 'test/support/young.ts')
  t.equal((await young.ended).code, 0, young.output())
  const { idle, busy } = json(young.stdout())
  t.comment(`${Number(idle).toFixed(1)} MB, then ${Number(busy).toFixed(1)}`)
  t.ok(Number(idle) < 17)
  t.ok(Number(busy) >= 1.9 * Number(idle))
})

t.test('a backend’s certificate is believed if it is known, and else not', async (t) => {
  const { cert, key: privateKey } = selfSigned()
  let asked = 0
  const server = createServer({ cert, key: privateKey }, (_request, response) => {
    asked++
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const ca = join(folderOf(t), 'ca.pem')
  writeFileSync(ca, cert)
  const ask = async (host: string, upstreamMore = '') => {
    const { call, key } = await startGateway(t, {
      targets: `[ "https://${host}:${port}" ]`,
      upstreamMore,
      store: `file: "${join(t.testdirName, `${Math.random()}.db`)}"`,
    })
    const { headers } = await key()
    return (await call('GET', '/v1/x', undefined, headers)).status
  }
  t.equal(await ask('localhost'), 502, 'nobody has vouched for it')
  t.equal(asked, 0)
  t.equal(await ask('localhost', `tls: { ca: "${ca}" }`), 200)
  t.equal(await ask('127.0.0.1', `tls: { ca: "${ca}" }`), 200)
  t.equal(await ask('127.0.0.2', `tls: { ca: "${ca}" }`), 502, 'it is for another name')
  await t.rejects(ask('localhost', 'tls: { ca: /nowhere.pem }'), /tls\.ca.*can't be read/)
})

t.test('a certificate that is renewed is believed without a reload', async (t) => {
  const { cert, key: privateKey } = selfSigned()
  const server = createServer({ cert, key: privateKey }, (_request, response) => response.end('{}'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const ca = join(folderOf(t), 'ca.pem')
  writeFileSync(ca, selfSigned().cert)
  await t.test('of a gateway that runs', async (t) => {
    const { gateway, ask } = await startAdmin(t, {
      targets: `[ "https://localhost:${(server.address() as AddressInfo).port}" ]`,
      upstreamMore: `tls: { ca: "${ca}" }`,
    })
    const { headers } = await gateway.key()
    const status = async () => (await gateway.call('GET', '/v1/x', undefined, headers)).status
    const reload = async () => json(await ask('POST', '/admin/config/reload'))
    t.equal(await status(), 502, 'it is of another one')
    writeFileSync(ca, cert)
    await until(async () => (await status()) === 200)
    t.strictSame(json(await ask('POST', '/admin/config/reload'))['result'], 'unchanged')
    writeFileSync(ca, cert.slice(0, 100))
    t.match(await reload(), {
      status: 409,
      message: /tls\.ca must be a file that begins with a cert/,
    })
    t.equal(await status(), 200, 'one that is half written changes nothing')
    writeFileSync(ca, cert)
    t.match(await reload(), { result: 'unchanged', mistakes: [] })
  })
})

t.test('an answer that leaves in one piece is byte for byte what Node sends', async (t) => {
  const everyByte = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
  const large = 'x'.repeat(100_000)
  const answers: Record<string, (response: ServerResponse) => void> = {
    '/text': (response) => response.writeHead(200, { 'content-length': 5 }).end('hello'),
    '/beyond-ascii': (response) => response.writeHead(200, { 'content-length': 6 }).end('grüß'),
    '/every-byte': (response) => response.writeHead(200, { 'content-length': 256 }).end(everyByte),
    '/empty': (response) => response.writeHead(200, { 'content-length': 0 }).end(''),
    '/nothing': (response) => response.writeHead(200, { 'content-length': 0 }).end(),
    '/large': (response) => response.writeHead(200, { 'content-length': 100_000 }).end(large),
    '/no-head': (response) => response.end('hello'),
    '/chunked': (response) => response.writeHead(200).end('hello'),
    '/written': (response) => {
      response.writeHead(200, { 'content-length': 10 }).write('hello')
      response.end('hello')
    },
    '/base64': (response) =>
      response.writeHead(200, { 'content-length': 5 }).end('aGVsbG8=', 'base64'),
    '/no-content': (response) => response.writeHead(204).end(),
    '/latin1-head': (response) =>
      response.writeHead(200, { 'content-length': 2, 'x-y': 'ü' }).end(Buffer.from('ok')),
  }
  const said = async (Response: typeof ServerResponse): Promise<string[]> => {
    const ended: string[] = []
    const server = createHttpServer({ ServerResponse: Response }, (request, response) => {
      response.sendDate = false
      response.once('finish', () => ended.push(request.url ?? ''))
      answers[request.url ?? '']?.(response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const rest = 'HTTP/1.1\r\nHost: x\r\n'
    const asked = Object.keys(answers).flatMap((path) => [
      `GET ${path} ${rest}Connection: close\r\n\r\n`,
      `HEAD ${path} ${rest}Connection: close\r\n\r\n`,
      `GET ${path} ${rest}\r\nGET ${path} ${rest}Connection: close\r\n\r\n`,
    ])
    const all = await Promise.all(asked.map((bytes) => raw(url, bytes, 5_000, 'latin1')))
    return [...all, ended.sort().join(' ')]
  }

  const [own, nodes] = [await said(InOne), await said(ServerResponse)]
  t.strictSame(own, nodes)
  t.equal(nodes.length, Object.keys(answers).length * 3 + 1)
  t.match(own[6], `\r\n\r\n${everyByte.toString('latin1')}`, 'the body is there')
})
