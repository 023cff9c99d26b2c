import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { readConfig } from '../../../gateway/office/config/load.ts'
import { startAdmin } from '../../support/admin.ts'
import { pairFor, selfSigned } from '../../support/certificate.ts'
import { folderOf } from '../../support/folder.ts'
import { configFor } from '../../support/gateway.ts'

/** A gateway that asks something of connections at both addresses, and whose certificates were renewed once. */
async function startBound(t: Test, bounds: string) {
  const pair = pairFor(t)
  const yaml = pair.yaml.replace(' }', `, ${bounds} }`)
  const { gateway, url } = await startAdmin(t, {
    listen: `{ host: 127.0.0.1, port: 0, tls: ${yaml} }`,
    admin: `{ host: 127.0.0.1, port: 0, tls: ${yaml} }`,
  })
  /** Opens a connection to each address, and tells what both speak. */
  const speak = (options: ConnectionOptions) =>
    Promise.all([gateway.url, url].map((each) => spokenBy(t, each, options)))
  const renew = (): void => {
    pair.write(selfSigned())
    gateway.app.front.certificates.readAgain()
  }
  return { speak, renew }
}

async function spokenBy(t: Test, url: string, options: ConnectionOptions) {
  const { port } = new URL(url)
  const about = { port: Number(port), host: '127.0.0.1', rejectUnauthorized: false }
  const socket: TLSSocket = connect({ ...about, ...options })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  return [socket.getProtocol(), socket.getCipher().name]
}

const old = { maxVersion: 'TLSv1.2' } as const

t.test('minVersion: 1.3 takes no TLS 1.2, also with a renewed certificate', async (t) => {
  const { speak, renew } = await startBound(t, 'minVersion: 1.3')
  for (const about of ['at the start', 'renewed']) {
    await t.rejects(speak(old), /protocol version/, about)
    t.match(await speak({}), [['TLSv1.3'], ['TLSv1.3']], about)
    renew()
  }
})

t.test('ciphers are those of TLS 1.2, and take nothing from TLS 1.3', async (t) => {
  const [chosen, other] = ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384']
  const { speak, renew } = await startBound(t, `ciphers: "${chosen}"`)
  for (const about of ['at the start', 'renewed']) {
    const both = { ...old, ciphers: `${other}:${chosen}` }
    t.match(await speak(both), Array(2).fill(['TLSv1.2', chosen]), about)
    await t.rejects(speak({ ...old, ciphers: other }), /handshake failure/, about)
    t.match(await speak({}), Array(2).fill(['TLSv1.3', 'TLS_AES_256_GCM_SHA384']), about)
    renew()
  }
})

t.test('ciphers where only TLS 1.3 is spoken are a warning', (t) => {
  const { cert, key } = pairFor(t)
  const tls = `{ cert: "${cert}", key: "${key}", minVersion: 1.3, ciphers: "HIGH:!aNULL" }`
  const written = { listen: `{ tls: ${tls} }`, admin: `{ tls: ${tls} }` }
  const file = join(folderOf(t), 'gateway.yaml')
  writeFileSync(file, configFor('http://a', 'file: x.db', written))
  t.match(readConfig(file, {}).warnings, [
    /listen\.tls\.ciphers is for TLS 1\.2, and minVersion is 1\.3$/,
    /admin\.tls\.ciphers is for TLS 1\.2, and minVersion is 1\.3$/,
  ])
  t.end()
})
