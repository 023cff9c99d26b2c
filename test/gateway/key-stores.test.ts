import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect as tcpConnect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../gateway/config/config.ts'
import { openSqlite } from '../../shared/sqlite.ts'
import type { Key } from '../../gateway/keys/key.ts'
import { recordOf } from '../../gateway/keys/record.ts'
import { migrations, openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedKeys } from '../../gateway/stores/embedded/keys.ts'
import { connect, duplicate } from '../../gateway/stores/redis/connect.ts'
import { redisKeys } from '../../gateway/stores/redis/keys.ts'
import { keyStoreContract, newKey, pagesOf, type TwoViews } from '../contracts/keys.ts'
import { selfSigned, type Certificate } from '../support/certificate.ts'
import { root } from '../support/process.ts'
import {
  anyPort,
  startRedis,
  startCluster,
  startSentinel,
  tlsPortOf,
  type RedisServer,
} from '../support/redis.ts'
import { until } from '../support/until.ts'
import { seeded } from '../support/seeded.ts'

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

t.test('a listener whose connection ends as it is ready ends nothing else', async (t) => {
  const { port, client } = await startRedis(t)
  let ends = 0
  const wire = createServer((near) => {
    const far = tcpConnect(port, '127.0.0.1')
    near.on('error', () => far.destroy()).pipe(far)
    far.on('error', () => near.destroy())
    far.on('data', (piece: Buffer) => {
      if (ends > 0 && piece.includes('redis_version') && ends-- > 0) near.end(piece)
      else near.write(piece)
    })
  }).listen(0, '127.0.0.1')
  await once(wire, 'listening')
  t.teardown(() => wire.close())
  const url = `redis://127.0.0.1:${(wire.address() as AddressInfo).port}`
  const connection = connect({ url }, { timeoutMs: 500 })
  const listener = duplicate(connection)
  t.teardown(() => [connection, listener].forEach((each) => each.disconnect()))
  const heard: string[] = []
  listener.on('ready', () => void listener.subscribe('news').catch(() => undefined))
  listener.on('message', (_channel: string, text: string) => heard.push(text))
  const hears = (text: string) =>
    until(async () => {
      await client.publish('news', text)
      return heard.includes(text)
    })
  await hears('before')
  ends = 20
  listener.disconnect(true)
  await until(() => ends <= 0)
  await hears('after')
})

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

/** The scripts of the former version, which writes to the same Redis and knows no lines. */
function formerVersion({ client }: RedisServer) {
  const name = (what: string): string => `test:{keys}:${what}`
  const names = (...whats: string[]): string[] => whats.map(name)
  const run = (script: string, keys: readonly string[], ...args: readonly (string | number)[]) => {
    const source = readFileSync(join(root, 'test/gateway/former', script), 'utf8')
    return client.eval(source, keys.length, ...keys, ...args)
  }
  const rowOf = (key: Key) => [key.id, recordOf(key), 1, key.secrets[0]?.hash ?? '']
  const ofAdd = names('secrets', 'records', 'versions', 'pending', 'version', 'import')
  return {
    add: (key: Key) => run('keys-add.lua', ofAdd, '', name('changed'), ...rowOf(key)),
    async replace(key: Key) {
      const version = (await client.zscore(name('versions'), key.id)) ?? 0
      const args = [name('changed'), key.id, version, recordOf(key)]
      const hashes = key.secrets.map(({ hash }) => hash)
      const keys = names('secrets', 'records', 'versions', 'version')
      if ((await run('keys-replace.lua', keys, ...args, ...hashes)) !== 1) throw new Error('no')
    },
    async import(keys: readonly Key[], isLost: boolean) {
      await client.set(name('import'), 'former')
      await run('keys-add.lua', ofAdd, 'former', name('changed'), ...keys.flatMap(rowOf))
      const forgotten = names('secrets', 'records', 'versions', 'pending', 'import')
      if (isLost) await run('keys-forget.lua', forgotten, 'former', keys.length)
      await run('keys-publish.lua', names('pending', 'import'), 'former')
    },
    copy: (key: Key, version: number) => {
      const [id = '', ...rest] = rowOf(key)
      const keys = names('secrets', 'records', 'versions', 'version')
      return run('copy-keys.lua', keys, name('changed'), id, version, ...rest)
    },
  }
}

t.test('a gateway of the former version may write to the same Redis meanwhile', async (t) => {
  const server = await startRedis(t)
  const former = formerVersion(server)
  const keys = new Map<string, Key>()
  const made = (name: string, more: Partial<Key> = {}): Key => {
    const key = newKey({ name, ...more })
    keys.set(key.id, key)
    return key
  }
  for (let i = 0; i < 600; i++) await former.add(made(`before ${i}`))
  const steady = made('Steady')
  await former.add(steady)
  const { first, second } = await redisViews(t, { url: server.url })
  const sameAsModel = async (what: string): Promise<void> => {
    const found = await pagesOf(second, { all: true }, { limit: 100 })
    const expected = [...keys.values()].map(recordOf).sort()
    if (!isDeepStrictEqual(found.map(recordOf).sort(), expected)) t.fail(what)
  }
  await sameAsModel('its keys are found at once')
  let isOver = false
  let looks = 0
  const looking = (async () => {
    for (; !isOver; looks++) {
      const { keys } = await second.page({ filter: { search: 'steady' }, limit: 5, nowMs: 0 })
      if (keys.length !== 1 || keys[0]?.id !== steady.id) t.fail(`look ${looks}: ${keys.length}`)
    }
  })()
  const replace = async (key: Key, isFormer: boolean): Promise<void> => {
    keys.set(key.id, key)
    if (isFormer) return former.replace(key)
    const { version = 0 } = (await first.get(key.id)) ?? {}
    if (!(await first.replace(key, version))) throw new Error('changed by another')
  }
  const random = seeded(7)
  for (let step = 0; step < 400; step++) {
    const isFormer = random(2) === 0
    const some = [...keys.values()][random(keys.size)] ?? steady
    const name = some === steady || some.id === steady.id ? 'Steady' : `renamed ${random(50)}`
    const what = random(6)
    if (what === 0) await (isFormer ? former.add(made(name)) : first.add([made(name)]))
    else if (what === 1) await replace({ ...some, name }, isFormer)
    else if (what === 2) await replace({ ...some, secrets: [{ hash: `s${step}` }] }, isFormer)
    else if (what === 3) await replace({ ...some, disabled: !some.disabled }, isFormer)
    else if (what === 4 && some.id !== steady.id) {
      await replace({ ...some, revokedAtMs: 1 }, isFormer)
    } else if (step % 50 === 5) {
      const lost = Array.from({ length: 30 }, () => newKey({ name: 'lost' }))
      await former.import(lost, true)
      await former.import([made('imported'), made('imported')], false)
    }
    if (step % 20 === 19) await sameAsModel(`after step ${step}, by ${isFormer ? 'it' : 'us'}`)
  }
  isOver = true
  await looking
  t.ok(looks > 20, `a key that both change was found by each of ${looks} looks`)
  await former.copy(made('copied, with an old version'), 5)
  await sameAsModel('what it copies here')
  // A search sees none of the lines that renames leave.
  const finds = async ({ name, id }: Key): Promise<boolean> => {
    const { keys } = await second.page({ filter: { name }, limit: 5, nowMs: 0 })
    return keys.some((key) => key.id === id)
  }
  const [one, two, three] = [made('One'), made('Two'), made('Three')]
  await former.add(one)
  t.ok(await finds(one))
  const renamed = { ...one, name: 'Renamed' }
  await replace(renamed, true)
  t.ok(await finds(renamed))
  await former.copy(two, 6)
  t.ok(await finds(two), 'a copied key is found, though a renamed one has two lines')
  await replace({ ...one, name: 'Again' }, true)
  await former.copy(three, 7)
  t.ok(await finds(three), 'also if nobody has looked between both')
  await server.client.del('test:{keys}:lines')
  await sameAsModel('and without an index')
  t.equal(await server.client.zcard('test:{keys}:lines'), keys.size, 'no other line stays')
})

t.test('what the former version wrote to a file is on the pages', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const before = openSqlite(file, { migrations: migrations.slice(0, 6), busyTimeoutMs: 100 })
  t.teardown(() => before.close())
  const insert = before.prepare('INSERT INTO keys VALUES (?, ?, ?)')
  const update = before.prepare('UPDATE keys SET version = ?, record = ? WHERE id = ?')
  const keys = Array.from({ length: 700 }, (_, i) => newKey({ name: `Key ${i}` }))
  for (const [i, key] of keys.entries()) insert.run(key.id, i + 1, recordOf(key))
  const store = embeddedKeys(openGatewayFile(file))
  t.teardown(() => store.close())
  const names = async () => (await pagesOf(store, {}, { limit: 100 })).map(({ name }) => name)
  const sorted = () => keys.map(({ name }) => name).sort()
  t.strictSame((await names()).map((name) => `K${name.slice(1)}`).sort(), sorted())
  // A gateway of the former version has the file open still.
  const [one = newKey(), two = newKey(), gone = newKey()] = keys
  const change = (key: Key, name: string) => {
    keys[keys.findIndex(({ id }) => id === key.id)] = { ...key, name }
    update.run(Date.now() * 1_000 + keys.length, recordOf({ ...key, name }), key.id)
  }
  change(one, 'Another')
  const late = newKey({ name: 'Late' })
  keys.push(late)
  insert.run(late.id, Date.now() * 1_000 + 9_000_000, recordOf(late))
  t.strictSame((await names()).sort(), sorted())
  const { version = 0 } = (await store.get(two.id)) ?? {}
  await store.replace({ ...two, name: 'Two' }, version)
  keys[1] = { ...two, name: 'Two' }
  before.prepare('DELETE FROM keys WHERE id = ?').run(gone.id)
  keys.splice(2, 1)
  t.strictSame((await names()).sort(), sorted())
  before.prepare('UPDATE keys SET record = ? WHERE id = ?').run('{"half":', late.id)
  keys.pop()
  t.strictSame((await names()).sort(), sorted(), 'what is damaged is left out')
  t.equal(before.prepare('SELECT count(*) FROM lines').pluck().get(), keys.length)
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
