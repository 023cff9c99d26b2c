import { once } from 'node:events'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { pairFor, selfSigned } from '../support/certificate.ts'
import { startGateway } from '../support/gateway.ts'
import { tlsCaller } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { until } from '../support/until.ts'
import { folderOf } from '../support/folder.ts'

const program = 'backend/main.ts'

t.test('the animal store serves by TLS those whose certificate it knows', async (t) => {
  const own = selfSigned()
  const [pair, client] = [pairFor(t, own), pairFor(t)]
  const service = startProcess(t, program, {
    env: {
      ...{ PORT: '0', DATABASE: join(folderOf(t), 'a.db') },
      ...{ TLS_CERT: pair.cert, TLS_KEY: pair.key, TLS_CLIENT_CA: client.cert },
    },
  })
  const url = await service.url
  t.match(url, /^https:/)
  await t.rejects(tlsCaller(url, own.cert)('GET', '/healthz'), 'a client without one')
  const { call, key } = await startGateway(t, {
    targets: `[ "${url}" ]`,
    upstreamMore:
      `tls: { ca: "${pair.cert}", cert: "${client.cert}", key: "${client.key}" }, ` +
      'health: { path: /healthz }',
  })
  const { headers } = await key()
  t.match(await call('GET', '/v1/pets', undefined, headers), { status: 200 })

  const next = selfSigned()
  pair.write(next)
  await until(() => service.output().includes('changed certificates are in use'))
  const { port } = new URL(url)
  const unknown = { ca: next.cert, ...selfSigned() }
  const stranger = connect({ port: Number(port), host: '127.0.0.1', ...unknown })
  let got = ''
  stranger.on('error', () => undefined).on('data', (bytes: Buffer) => (got += bytes.toString()))
  stranger.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(stranger, 'close')
  t.equal(got, '', 'one whose certificate is unknown is answered nothing')
})

t.test('a stop ends its connections like those of plain HTTP', async (t) => {
  const own = selfSigned()
  const pair = pairFor(t, own)
  const service = startProcess(t, program, {
    env: {
      ...{ PORT: '0', DATABASE: join(folderOf(t), 'a.db') },
      ...{ TLS_CERT: pair.cert, TLS_KEY: pair.key },
    },
  })
  const { port } = new URL(await service.url)
  const socket = connect({ port: Number(port), host: '127.0.0.1', ca: own.cert })
  const ask = async (): Promise<string> => {
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    return String(((await once(socket, 'data')) as [Buffer])[0])
  }
  t.match(await ask(), /^connection: keep-alive/im)
  service.child.kill('SIGTERM')
  // The first answers may come before it has stopped to listen.
  await until(async () => /^connection: close/im.test(await ask()))
  t.strictSame(await service.ended, { code: 0, signal: null })
})

t.test('what is wrong with its files is told at the start', async (t) => {
  const [one, other] = [pairFor(t), pairFor(t)]
  for (const [env, sentence] of [
    [{ TLS_CERT: one.cert }, 'TLS_CERT and TLS_KEY belong together: set both to files'],
    [{ TLS_CLIENT_CA: one.cert }, 'TLS_CERT and TLS_KEY belong together: set both to files'],
    [{ TLS_CERT: one.cert, TLS_KEY: '/nowhere.pem' }, "TLS_KEY can't be read: there is no such"],
    [{ TLS_CERT: one.key, TLS_KEY: one.key }, 'TLS_CERT must be a file that begins with a cert'],
    [{ TLS_CERT: one.cert, TLS_KEY: other.key }, 'TLS_KEY isn’t the private key of the certif'],
  ] as const) {
    const more = { PORT: '0', DATABASE: join(folderOf(t), 'a.db') }
    const service = startProcess(t, program, { env: { ...env, ...more } })
    t.equal((await service.ended).code, 2)
    t.match(service.output(), `backend: ${sentence}`)
  }
})
