import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/config/config.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedKeys } from '../../gateway/stores/embedded/keys.ts'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { redisKeys } from '../../gateway/stores/redis/keys.ts'
import { keyStoreContract, newKey, type TwoViews } from '../contracts/keys.ts'
import { selfSigned, type Certificate } from '../support/certificate.ts'
import {
  freePort,
  startCluster,
  startRedis,
  startSentinel,
  tlsPortOf,
  until,
} from '../support/redis.ts'

/** Connections as a gateway makes them, once they are made: a gateway doesn't wait for a store. */
async function redisViews(t: Test, settings: RedisSettings): Promise<TwoViews> {
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 2_000 }))
  const [first, second] = connections.map((connection) =>
    redisKeys({ connection, prefix: 'test:', timeoutMs: 2_000 }),
  )
  if (!first || !second) throw new Error('two were asked for')
  t.teardown(async () => {
    await Promise.all([first.close(), second.close()])
    for (const connection of connections) connection.disconnect()
  })
  await until(() => connections.every(({ status }) => status === 'ready'))
  return { first, second }
}

keyStoreContract(t, 'embedded, in a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const [first, second] = [embeddedKeys(openGatewayFile(file)), embeddedKeys(openGatewayFile(file))]
  t.teardown(() => Promise.all([first.close(), second.close()]))
  return { first, second }
})

keyStoreContract(t, 'redis, a single server', async (t) =>
  redisViews(t, { url: (await startRedis(t)).url }),
)

keyStoreContract(t, 'redis, found by Sentinel', async (t) => {
  const { sentinel, name } = await startSentinel(t)
  return redisViews(t, { sentinels: [sentinel], name })
})

keyStoreContract(t, 'redis, a Cluster', async (t) =>
  redisViews(t, { cluster: (await startCluster(t)).nodes }),
)

/** Makes a key through one view and finds it through the other. */
async function holdKey(t: Test, settings: RedisSettings): Promise<void> {
  const { first, second } = await redisViews(t, settings)
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
  const dir = t.testdir()
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
    const port = await freePort()
    const { name } = await startSentinel(t, {
      more: [...protectedBy, ...options],
      sentinelMore: [
        `tls-port ${port}`,
        ...lines,
        `sentinel auth-pass gw ${access.password}\n`,
      ].join('\n'),
    })
    const found = { sentinels: [`localhost:${port}`], name }
    await holdKey(t, { ...found, ...access, tls: { ca } })
    t.ok(await isClosed({ ...found, ...access }), 'nothing is said in the clear')
    t.ok(await isClosed({ ...found, ...access, tls: { ca: others } }))
  })
})

t.test('in Redis', async (t) => {
  const server = await startRedis(t)
  const { first, second } = await redisViews(t, { url: server.url })
  const heard = new Map<string, string>()
  const troubles: (string | undefined)[] = []
  const watch = first.watch({
    changed: (keys) => keys.forEach(({ key }) => heard.set(key.id, key.name)),
    trouble: (error) => troubles.push(error && 'trouble'),
  })
  t.teardown(() => watch.close())

  t.test('a message that was lost is caught up with', async (t) => {
    await until(
      async () => Number((await server.client.pubsub('NUMSUB', 'test:{keys}:changed'))[1]) === 1,
    )
    const key = newKey({ name: 'quiet' })
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await second.add([key])
    await until(() => heard.get(key.id) === 'quiet', 1_000)
    t.pass('within a second')
  })

  t.test('what is damaged, stored or told, is passed over', async (t) => {
    await server.client.publish('test:{keys}:changed', 'nonsense')
    await server.client.publish('test:{keys}:changed', '7 {"id":5}')
    const [damaged, later] = [newKey(), newKey({ name: 'later' })]
    await second.add([damaged])
    await server.client.hset('test:{keys}:records', damaged.id, '{"half":')
    await t.rejects(Promise.resolve(first.get(damaged.id)), { message: /JSON|damaged/ })
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await second.add([later])
    await until(() => heard.get(later.id) === 'later', 1_000)
    const ids: string[] = []
    for await (const { id } of first.list()) ids.push(id)
    t.ok(ids.includes(later.id) && !ids.includes(damaged.id))
  })

  t.test('scripts that were flushed are sent again', async (t) => {
    await server.client.script('FLUSH')
    const key = newKey()
    t.strictSame(await first.add([key]), {})
    await server.client.script('FLUSH')
    t.ok(await first.find(key.secrets[0]?.hash ?? ''))
  })

  t.test(
    'what an import that died has left is never seen, and taken back by the next',
    async (t) => {
      const key = newKey({ secrets: [{ hash: 'left' }] })
      await second.add([key])
      await server.client.hset('test:{keys}:pending', key.id, '1')
      t.equal(await first.find('left'), undefined)
      t.equal(await first.get(key.id), undefined)
      await first.add(Array.from({ length: 600 }, () => newKey()))
      t.strictSame(
        await first.add([newKey({ secrets: [{ hash: 'left' }] })]),
        {},
        'its token is free again',
      )
    },
  )

  t.test('an import that has lost its lock adds nothing, and says so', async (t) => {
    const keys = Array.from({ length: 1_500 }, () => newKey())
    await t.rejects(
      first.add(keys, (written) => {
        if (written === 500) void server.client.set('test:{keys}:import', 'somebody else')
      }),
      { message: /another import has begun meanwhile/ },
    )
    for (const key of [keys[0], keys[499], keys[1_499]])
      t.equal(await first.get(key?.id ?? ''), undefined)
    await server.client.del('test:{keys}:import')
    t.strictSame(await first.add(keys), {}, 'the next one takes its place')
  })

  t.test('a change is heard of even from a Redis that has lost earlier ones', async (t) => {
    const key = newKey({ name: 'one' })
    await second.add([key])
    const dump = await Promise.all(
      ['records', 'versions', 'version', 'secrets'].map(async (what) => {
        const name = `test:{keys}:${what}`
        return [name, await server.client.dumpBuffer(name)] as const
      }),
    )
    for (const name of ['two', 'three']) {
      const { version = 0 } = (await second.get(key.id)) ?? {}
      await second.replace({ ...key, name }, version)
    }
    await until(() => heard.get(key.id) === 'three')
    await new Promise((go) => setTimeout(go, 300))
    for (const [name, value] of dump) await server.client.restore(name, 0, value ?? '', 'REPLACE')
    const back = await second.get(key.id)
    t.equal(back?.key.name, 'one', 'two changes are lost')
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await second.replace({ ...key, name: 'revoked', revokedAtMs: 1 }, back?.version ?? 0)
    await until(() => heard.get(key.id) === 'revoked', 1_000)
    t.pass('within a second')
  })

  t.test('an outage is told once, and so is its end; nothing is denied meanwhile', async (t) => {
    const key = newKey({ name: 'before' })
    await second.add([key])
    await until(() => heard.has(key.id))
    await server.kill()
    await until(() => troubles.length === 1)
    await t.rejects(
      Promise.resolve(first.find(key.secrets[0]?.hash ?? '')),
      'it throws, it does not say no',
    )
    await new Promise((go) => setTimeout(go, 600))
    t.strictSame(troubles, ['trouble'])
    const staleAt = watch.upToDateAtMs
    await server.restart()
    await until(() => troubles.length === 2)
    t.strictSame(troubles, ['trouble', undefined])
    t.ok(watch.upToDateAtMs > staleAt)
    const later = newKey({ name: 'after' })
    await until(() =>
      second.add([later]).then(
        () => true,
        () => false,
      ),
    )
    await until(() => heard.get(later.id) === 'after', 1_000)
  })
})

t.test('embedded, an import that died is unseen, and the next one takes it back', async (t) => {
  const folder = t.testdir()
  const [file, dead] = [join(folder, 'gateway.db'), join(folder, 'dead.db')]
  const database = openGatewayFile(file)
  const store = embeddedKeys(database)
  t.teardown(() => store.close())
  const first = newKey()
  await store.add([first])
  const keys = Array.from({ length: 3_000 }, () => newKey())
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await store.add(keys, (written) => {
    // As it is left by a process that is killed now.
    if (written < 2_700 || existsSync(dead)) return
    database.prepare('VACUUM INTO ?').run(dead)
  })
  isOver = true
  t.ok(turns >= 10, `callers are served meanwhile: ${turns} turns of the loop`)

  let now = Date.now()
  const left = openGatewayFile(dead)
  const rows = left.prepare('SELECT count(*) FROM keys').pluck()
  t.equal(rows.get(), 3_001)
  const after = embeddedKeys(left, () => now)
  t.teardown(() => after.close())
  const found = []
  for await (const { id } of after.list()) found.push(id)
  t.strictSame(found, [first.id])
  for (const { id, secrets } of keys.slice(0, 10)) {
    t.equal(await after.get(id), undefined)
    t.equal(await after.find(secrets[0]?.hash ?? ''), undefined)
  }
  await after.add([newKey()])
  await t.rejects(after.add(keys), /another import is running; wait until it has ended/)
  now += 31_000
  t.strictSame(await after.add(keys), {})
  t.equal(rows.get(), 3_002)
  const again = [...Array.from({ length: 600 }, () => newKey()), keys[5] ?? first]
  t.strictSame(await after.add(again), { clash: 600 })
  const twice = newKey()
  t.strictSame(await after.add([...again.slice(0, 300), twice, ...again.slice(300, 400), twice]), {
    clash: 401,
  })
  t.equal(rows.get(), 3_002, 'and nothing of them stays')
  t.equal(left.prepare('SELECT count(*) FROM secrets').pluck().get(), 3_002)
})
