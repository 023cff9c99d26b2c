import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import t from 'tap'
import { pairFor, selfSigned } from '../support/certificate.ts'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { tlsCaller } from '../support/http.ts'
import { anyPort, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

t.test('workers at one port renew their certificate, and lose no connection', async (t) => {
  const redis = await startRedis(t)
  const upstream = await startUpstream(t)
  const first = selfSigned()
  const pair = pairFor(t, first)
  const { urls, processes, key } = await startFleet(t, {
    upstream: upstream.url,
    store: `redis: "${redis.url}"`,
    listen: `{ host: 127.0.0.1, port: ${anyPort}, tls: ${pair.yaml} }`,
    more: 'plans: { p: { perMinute: unlimited, perDay: unlimited } }\nworkers: 2',
    environments: [{ LOG_LEVEL: 'info' }],
  })
  const [url = ''] = urls
  const [overseer] = processes
  if (!overseer) throw new Error('one was asked for')
  const headers = await key()
  const port = Number(new URL(url).port)
  const sockets = Array.from({ length: 12 }, () =>
    connect({ port, host: '127.0.0.1', ca: first.cert }),
  )
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  const ask = async (socket: TLSSocket): Promise<string> => {
    const authorization = `Authorization: ${headers.authorization}\r\n`
    socket.write(`GET /v1/x HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`)
    return String(((await once(socket, 'data')) as [Buffer])[0])
  }
  for (const socket of sockets) t.match(await ask(socket), /^HTTP\/1\.1 200/)

  const next = selfSigned()
  pair.write(next)
  overseer.child.kill('SIGHUP')
  const renewals = () => overseer.output().split('changed certificates are in use').length - 1
  await until(() => renewals() === 2)
  for (let i = 0; i < 12; i++) {
    const answer = await tlsCaller(url, next.cert)('GET', '/v1/x', undefined, headers)
    t.equal(answer.status, 200, 'a new connection to either of them')
  }
  for (const socket of sockets) t.match(await ask(socket), /^HTTP\/1\.1 200/, 'an old one')
})
