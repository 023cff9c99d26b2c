import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../../gateway/front/config/config.ts'
import { connect } from '../../../gateway/front/stores/redis/connect.ts'
import { redisKeys } from '../../../gateway/front/stores/redis/keys.ts'
import { newKey } from '../../contracts/keys.ts'
import { selfSigned, type Certificate } from '../../support/certificate.ts'
import { keyViews } from '../../support/redis-stores.ts'
import { anyPort, startRedis, startCluster, startSentinel, tlsPortOf } from '../../support/redis.ts'
import { folderOf } from '../../support/folder.ts'

/** Makes a key through one view and finds it through the other. */
async function holdKey(t: Test, settings: RedisSettings): Promise<void> {
  const { first, second } = await keyViews(t, settings)
  const key = newKey({ name: 'kept' })
  await first.add([key])
  t.match(await second.get(key.id), { key: { name: 'kept' } })
}

/** Whether a Redis gives nobody an answer who asks like this. */
async function isClosed(settings: RedisSettings): Promise<boolean> {
  const connection = connect(settings, { timeoutMs: 500 })
  const keys = redisKeys({ connection, prefix: 'test:', timeoutMs: 500 })
  const end = performance.now() + 2_000
  const isAnswered = async (): Promise<boolean> => {
    try {
      await keys.get('nobody')
      return true
    } catch {
      return false
    }
  }
  try {
    while (performance.now() < end) {
      if (await isAnswered()) return false
      await new Promise((go) => setTimeout(go, 100))
    }
    return true
  } finally {
    await keys.close()
    connection.disconnect()
  }
}

t.test('a fleet proves itself to a Redis that takes nobody else', { jobs: 4 }, async (t) => {
  const dir = folderOf(t)
  const access = { username: 'default', password: 'of-the-servers' }
  const protectedBy = ['--requirepass', access.password, '--masterauth', access.password]
  /** The file of a certificate, and what a server is told to use it. */
  const encryptedBy = (name: string, { cert, key }: Certificate) => {
    const [ca, keyFile] = [join(dir, `${name}.pem`), join(dir, `${name}.key`)]
    writeFileSync(ca, cert)
    writeFileSync(keyFile, key)
    const files = [`tls-cert-file ${ca}`, `tls-key-file ${keyFile}`, `tls-ca-cert-file ${ca}`]
    const lines = [...files, 'tls-auth-clients no', 'tls-replication yes', 'tls-cluster yes']
    return { ca, lines, options: lines.flatMap((line) => `--${line}`.split(' ')) }
  }
  const { ca, lines, options } = encryptedBy('ours', selfSigned())
  const { ca: others } = encryptedBy('others', selfSigned())

  t.test('a Cluster with a password', async (t) => {
    const { nodes } = await startCluster(t, ...protectedBy)
    await holdKey(t, { cluster: nodes, ...access })
    await holdKey(t, { cluster: nodes, username: '', password: access.password, tls: false })
    const password = 'another'
    const closed = await Promise.all(
      [{}, { password }].map((each) => isClosed({ cluster: nodes, ...each })),
    )
    t.strictSame(closed, [true, true], 'to nobody without it')
  })

  t.test('a Cluster with TLS, by a name', async (t) => {
    // For a name alone: what forgets the name for its address is refused.
    const named = encryptedBy('named', selfSigned({ address: false }))
    const { clients } = await startCluster(
      t,
      ...[...protectedBy, ...named.options, '--cluster-announce-hostname', 'localhost'],
      ...['--cluster-preferred-endpoint-type', 'hostname'],
    )
    const ports = await Promise.all(clients.map(tlsPortOf))
    const cluster = ports.map((port) => `localhost:${port}`)
    await holdKey(t, { cluster, ...access, tls: { ca: named.ca } })
    const closed = await Promise.all(
      [{}, { tls: true }, { tls: { ca: others } }].map((tls) =>
        isClosed({ cluster, ...access, ...tls }),
      ),
    )
    const none = 'nothing is said in the clear, nor to a server that nobody vouches for'
    t.strictSame(closed, [true, true, true], none)
  })

  t.test('a connection given up within its handshake ends nothing else', async (t) => {
    const { client } = await startRedis(t, ...protectedBy, ...options, '--tls-port', anyPort)
    const port = await tlsPortOf(client)
    const url = `rediss://:${access.password}@127.0.0.1:${port}`
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        [2, 4, 6, 8, 10, 14, 18].map(async (waitMs) => {
          const connection = connect({ url }, { timeoutMs: 500, patient: true })
          await new Promise((go) => setTimeout(go, waitMs))
          connection.disconnect()
        }),
      )
    }
    await new Promise((go) => setTimeout(go, 100))
    t.pass('both errors of a socket are heard')
  })

  t.test('a Sentinel with a password of its own', async (t) => {
    const { sentinel, name } = await startSentinel(t, {
      more: protectedBy,
      sentinelMore: `requirepass of-the-sentinels\nsentinel auth-pass gw ${access.password}\n`,
    })
    const found = { sentinels: [sentinel], name }
    const sentinelPassword = 'of-the-sentinels'
    await holdKey(t, { ...found, ...access, sentinelPassword })
    await holdKey(t, { ...found, ...access, sentinelUsername: 'default', sentinelPassword })
    t.ok(await isClosed({ ...found, ...access }), 'the Sentinel takes nobody without it')
    t.ok(await isClosed({ ...found, sentinelPassword }), 'nor its master without its own')
  })

  t.test('a Sentinel with TLS, as its master', async (t) => {
    const { name, tlsPort } = await startSentinel(t, {
      more: [...protectedBy, ...options],
      sentinelMore: [
        `tls-port ${anyPort}`,
        ...lines,
        `sentinel auth-pass gw ${access.password}\n`,
      ].join('\n'),
    })
    const found = { sentinels: [`localhost:${tlsPort}`], name }
    await holdKey(t, { ...found, ...access, tls: { ca } })
    t.ok(await isClosed({ ...found, ...access }), 'nothing is said in the clear')
    t.ok(await isClosed({ ...found, ...access, tls: { ca: others } }))
  })
})
