import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import t from 'tap'
import { pairFor, selfSigned } from '../support/certificate.ts'
import { addKeys, get, newTokens } from './callers.ts'
import { gatewayAt } from './gateways.ts'
import { load } from './load.ts'
import { nginx } from './others.ts'
import { medianInterval, type Row } from './rows.ts'
import { started } from './server.ts'
import { contestantsByTls, tlsTable } from './tls.ts'
import { startUpstream } from './upstream.ts'

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

t.test('load by TLS has one version and cipher, and asks when all are connected', async (t) => {
  const spoken = new Set<string>()
  let connections = 0
  const server = createServer(selfSigned(), (socket) => {
    spoken.add(`${socket.getProtocol()} ${socket.getCipher().name}`)
    socket.on('error', () => undefined).on('data', () => socket.write(answer))
  }).listen(0, '127.0.0.1')
  server.on('connection', () => connections++)
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  let areOpen = false
  const opened = () => {
    areOpen = true
    t.equal(connections, 3)
  }
  const request = () => {
    t.ok(areOpen)
    return 'GET / HTTP/1.1\r\nHost: bench\r\n\r\n'
  }
  const { statuses } = await load({ url, connections: 3, seconds: 0, atLeast: 9, request, opened })
  t.strictSame(statuses, { 200: 9 })
  t.strictSame([...spoken], ['TLSv1.3 TLS_AES_256_GCM_SHA384'])
})

t.test('each contestant forwards requests that come by TLS, and those that do not', async (t) => {
  process.env['BENCH_NGINX'] ??= process.env['NGINX_BIN'] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const tokens = newTokens(2)
  const embedded = gatewayAt(upstream.url, folder, 'embedded')
  await embedded.within((stores) => addKeys(stores, tokens))
  const contestants = await contestantsByTls(
    {
      upstream: upstream.url,
      known: get(...tokens),
      embedded,
      nginx: await nginx(upstream.url, folder),
    },
    pairFor(t),
  )
  t.ok(contestants.some(({ name }) => name === 'Tollgate, TLS'))
  for (const { name, server, request } of contestants) {
    const { url, end } = await started(server)
    t.teardown(end)
    t.match(url, name.endsWith('TLS') ? /^https:/ : /^http:/, name)
    const { statuses } = await load({ url, connections: 2, seconds: 0, atLeast: 10, request })
    t.strictSame(statuses, { 200: 10 }, name)
  }
})

t.test('the interval of a median leaves out as many values at either end', (t) => {
  const values = Array.from({ length: 15 }, (_, i) => 15 - i)
  t.strictSame(medianInterval(values), [4, 12])
  t.strictSame(medianInterval([1, 6, 2, 5, 3, 4]), [1, 6])
  t.strictSame(medianInterval([1, 2, 3, 4, 5]), [-Infinity, Infinity])
  t.end()
})

t.test('a ratio whose interval has a 1 in it is told as not resolved', (t) => {
  const row = {
    ...{ name: 'ours', status: 200, cpuMicros: 1, cpuSpread: [1, 1], spread: 1, redisMicros: 0 },
    ...{ togetherMicros: 1, ratio: 1, togetherRatio: 1, perSecond: 1, p50Ms: 1, p99Ms: 1 },
    ...{ lacks: '', isVariant: false, rivalRatio: 1.1, ratioInterval: [1, 1] },
  } satisfies Partial<Row>
  const told = (rivalInterval: Row['rivalInterval']): string =>
    tlsTable([{ ...row, rivalInterval }])
  t.match(told([0.99, 1.2]), /not resolved/)
  t.match(told([1.01, 1.2]), /1\.10 \(1\.01–1\.20\)/)
  t.end()
})
