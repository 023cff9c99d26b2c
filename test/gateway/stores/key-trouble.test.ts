import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect as tcpConnect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedKeys } from '../../../gateway/front/stores/embedded/keys.ts'
import { connect, duplicate } from '../../../gateway/front/stores/redis/connect.ts'
import { newKey } from '../../contracts/keys.ts'
import { keyViews } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const server = await startRedis(t)

t.test('a listener whose connection ends as it is ready ends nothing else', async (t) => {
  const { port, client } = server
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

t.test('in Redis', async (t) => {
  const { first, second } = await keyViews(t, { url: server.url }, 'test:')
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
  const folder = folderOf(t)
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
    t.equal(after.get(id), undefined)
    t.equal(after.find(secrets[0]?.hash ?? ''), undefined)
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
