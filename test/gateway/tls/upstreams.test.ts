import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { rmSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { pairFor, selfSigned, type Certificate } from '../../support/certificate.ts'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { runCommand } from '../../support/command.ts'
import { configFor, startGateway } from '../../support/gateway.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

/** A backend by TLS that notes who asks. */
async function startSecure(t: Test, options: ServerOptions) {
  /** The fingerprint and the server name of each connection. */
  const connections: [fingerprint: string | undefined, name: unknown][] = []
  const sockets = new Set<TLSSocket>()
  const server = createServer(options, (_request, response) => response.end('{}'))
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    connections.push([socket.getPeerX509Certificate()?.fingerprint256, socket.servername])
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const hangUp = (): void => sockets.forEach((socket) => socket.destroy())
  return { url: `https://127.0.0.1:${port}`, port, connections, hangUp }
}

/** Gives the status of a request through a gateway in front of a backend. */
async function startFor(t: Test, target: string, tls: string, more = '') {
  const gateway = await startGateway(t, {
    targets: `[ "${target}" ]`,
    upstreamMore: `tls: ${tls}${more}`,
    store: `file: "${join(folderOf(t), 'gateway.db')}"`,
  })
  const { headers } = await gateway.key()
  const ask = async () => (await gateway.call('GET', '/v1/x', undefined, headers)).status
  return { ...gateway, ask }
}

function fingerprint({ cert }: Certificate): string {
  return new X509Certificate(cert).fingerprint256
}

t.test('a backend that asks for a certificate gets the gateway’s', async (t) => {
  const [backend, mine, next] = [selfSigned(), selfSigned(), selfSigned()]
  const known = { requestCert: true, ca: [mine.cert, next.cert] }
  const { url, connections, hangUp } = await startSecure(t, { ...backend, ...known })
  const { cert: ca } = pairFor(t, backend)
  const pair = pairFor(t, mine)
  const without = await startFor(t, url, `{ ca: "${ca}" }`)
  t.equal(await without.ask(), 502)
  connections.length = 0
  const tls = `{ ca: "${ca}", cert: "${pair.cert}", key: "${pair.key}" }`
  const { ask, app } = await startFor(t, url, tls, ', health: { path: /well, every: 1h }')
  t.equal(await ask(), 200)
  t.ok(connections.every(([shown]) => shown === fingerprint(mine)))
  const before = connections.length

  pair.write(next)
  app.front.certificates.readAgain()
  t.equal(await ask(), 200)
  t.equal(connections.length, before, 'the connection goes on')
  hangUp()
  await until(async () => (await ask()) === 200)
  t.equal(connections.at(-1)?.[0], fingerprint(next), 'the next one shows the new one')

  await t.test('and so does the check of a would-be backend', async (t) => {
    const folder = folderOf(t)
    const file = join(folder, 'gateway.yaml')
    const probes = 'probes: [ { request: GET /v1/pets } ]'
    const upstreamMore = `tls: ${tls}, ${probes}`
    writeFileSync(file, configFor(url, `file: "${folder}/x.db"`, { upstreamMore }))
    t.match(await runCommand(['upstream', 'check', url, '--config', file], {}), { code: 0 })
    pair.put(pair.key, mine.key)
    const { code, out } = await runCommand(['upstream', 'check', url, '--config', file], {})
    t.equal(code, 2)
    t.match(out, /tls\.key isn’t the private key of the certificate beside it/)
  })
})

t.test('a name stands in for the host of the target', async (t) => {
  const backend = selfSigned({ names: ['animals.internal'], address: false })
  const { url, connections } = await startSecure(t, backend)
  const { cert: ca } = pairFor(t, backend)
  t.equal(await (await startFor(t, url, `{ ca: "${ca}" }`)).ask(), 502)
  const named = await startFor(t, url, `{ ca: "${ca}", name: animals.internal }`)
  t.equal(await named.ask(), 200)
  t.equal(connections.at(-1)?.[1], 'animals.internal', 'and is sent as SNI')
  t.equal(await (await startFor(t, url, `{ ca: "${ca}", name: other.internal }`)).ask(), 502)
})

t.test('a reload that fails at a file leaves no upstream behind', async (t) => {
  const { url, app } = await startGateway(t)
  const configOf = (target: string, upstreamMore = '') =>
    parseConfig(configFor(target, 'file: x.db', { upstreamMore }), {}, 'x.yaml')
  const ca = join(folderOf(t), 'ca.pem')
  writeFileSync(ca, selfSigned().cert)
  const missing = configOf('https://localhost:9', `tls: { ca: "${ca}" }`)
  rmSync(ca)
  const sound = configOf(url)
  const renamed = [...missing.upstreams.values()].map((each) => ['secured', each] as const)
  const upstreams = new Map([...sound.upstreams, ...renamed])
  await t.rejects(app.change({ ...sound, upstreams }), { message: /tls\.ca.*can't be read/ })
  t.equal(app.front.upstreams.all.length, 1)
})
