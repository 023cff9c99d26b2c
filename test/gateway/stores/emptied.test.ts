import { format } from '../../../gateway/front/stores/redis/format.ts'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { runCommand } from '../../support/command.ts'
import { startAdmin } from '../../support/admin.ts'
import { startGateway, type Gateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { bound } from '../../support/promises.ts'
import { entry, startReceiver } from '../../support/receiver.ts'
import { startCluster, startRedis } from '../../support/redis.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

/** The record of the store itself. */
const record = 'tollgate:{keys}:store'

const redis = await startRedis(t)

type Held = Awaited<ReturnType<Gateway['key']>>

const statusOf = async ({ call }: Gateway, { headers }: Held) =>
  (await call('GET', '/v1/x', undefined, headers)).status

const store = `redis: "${redis.url}"`

t.test('keys of an emptied store end within a second, and operators are told', async (t) => {
  const { got, types, url } = await startReceiver(t)
  const lines: string[] = []
  const log = { level: 'warn', target: { write: (line: string) => void lines.push(line) } } as const
  const more = `notices: [ ${entry(url, ', about: [store.*]')} ]`
  const { gateway, operate } = await startAdmin(t, { store, more, log })
  const other = await startGateway(t, { store, more })
  const key = await gateway.key()
  t.strictSame([await statusOf(gateway, key), await statusOf(other, key)], [200, 200])
  t.equal(json(await operate('GET', '/readyz'))['warnings'], undefined)
  await redis.client.flushall()
  await until(async () => (await statusOf(gateway, key)) === 401, bound(1_000))
  await until(async () => (await statusOf(other, key)) === 401, bound(1_000))
  const ready = await operate('GET', '/readyz')
  t.equal(ready.status, 200)
  t.match(json(ready), { ready: true, warnings: [/^the store was emptied, or another one took/] })
  t.match(lines.join(''), /the store was emptied/)
  t.match((await operate('GET', '/metrics')).text, /tollgate_store_emptied_total 1/)
  await until(() => got.length > 0)
  await gateway.app.office.notices.tick()
  await other.app.office.notices.tick()
  t.strictSame(types(), ['store.emptied'], 'once for both')
  const fresh = await other.key()
  t.equal(await statusOf(gateway, fresh), 200, 'new keys work')
})

t.test('a backup brings the keys of an emptied store back', async (t) => {
  const { gateway, file } = await startAdmin(t, { store })
  const { directory, meters } = gateway.app.front
  const key = await gateway.key()
  t.equal(await statusOf(gateway, key), 200)
  const backup = join(dirname(file), 'backup.db')
  t.match(await runCommand(['store', 'backup', backup, '--config', file], {}), { code: 0 })
  await redis.client.flushall()
  await until(() => meters.emptiedStores === 1 && !directory.mayExist(key.token))
  t.equal(await statusOf(gateway, key), 401)
  const copied = await runCommand(['store', 'copy', '--from', backup, '--config', file], {})
  t.match(copied, { code: 0 })
  await until(() => directory.mayExist(key.token), bound(1_000))
  t.equal(await statusOf(gateway, key), 200)
})

t.test('a warning of an emptied store ends after an hour', async (t) => {
  let now = Date.now()
  const { gateway, operate } = await startAdmin(t, { store, clock: () => now })
  gateway.app.office.storeWarnings.emptied()
  const told = async () => json(await operate('GET', '/readyz'))['warnings']
  now += 3_600_000 - 1
  t.match(await told(), [/emptied/])
  now++
  t.equal(await told(), undefined)
})

t.test('gateways that start at once agree on one epoch, which stays', async (t) => {
  await redis.client.flushall()
  const gateways = await Promise.all([1, 2, 3].map(() => startGateway(t, { store })))
  await until(async () => (await redis.client.hget(record, 'epoch')) !== null)
  t.match(await redis.client.hgetall(record), { epoch: /^[0-9a-f-]{36}$/, format: String(format) })
  const [first] = gateways
  if (!first) throw new Error('there are three')
  const key = await first.key()
  await until(async () => (await statusOf(first, key)) === 200)
  await pause(600)
  for (const { app } of gateways) t.equal(app.front.meters.emptiedStores, 0)
})

t.test(
  'a store that lost its epoch alone has its keys asked for again, and serves them',
  async (t) => {
    const gateway = await startGateway(t, { store })
    const key = await gateway.key()
    t.equal(await statusOf(gateway, key), 200)
    await redis.client.del(record)
    await until(() => gateway.app.front.meters.emptiedStores === 1, bound(1_000))
    t.equal(await statusOf(gateway, key), 200)
  },
)

t.test('an outage, a restart that loads its data and a damaged epoch empty nothing', async (t) => {
  const saving = await startRedis(t, '--appendonly', 'yes')
  const gateway = await startGateway(t, { store: `redis: "${saving.url}", timeout: 200ms` })
  const { meters } = gateway.app.front
  const key = await gateway.key()
  t.equal(await statusOf(gateway, key), 200)
  await saving.client.call('SAVE')
  await saving.kill()
  t.equal(await statusOf(gateway, key), 200)
  await saving.restart()
  await until(() => gateway.app.front.quotas.isReachable && saving.client.status === 'ready')
  const epoch = await saving.client.hgetall(record)
  await saving.client.set(record, 'of another type')
  await pause(600)
  t.equal(await statusOf(gateway, key), 200)
  await saving.client.del(record)
  await saving.client.hset(record, epoch)
  await saving.client.call('REPLICAOF', '127.0.0.1', '1')
  saving.child().kill('SIGSTOP')
  await pause(600)
  saving.child().kill('SIGCONT')
  await pause(600)
  t.equal(meters.emptiedStores, 0)
})

t.test('a replica without data empties nothing until it is a master', async (t) => {
  const server = await startRedis(t)
  const gateway = await startGateway(t, { store: `redis: "${server.url}"` })
  const key = await gateway.key()
  t.equal(await statusOf(gateway, key), 200)
  await server.client.multi().flushall().replicaof('127.0.0.1', '1').exec()
  t.equal(await server.client.exists(record), 0)
  await pause(600)
  t.equal(gateway.app.front.meters.emptiedStores, 0)
  await server.client.call('REPLICAOF', 'NO', 'ONE')
  await until(async () => (await statusOf(gateway, key)) === 401, bound(1_000))
})

t.test('of a Cluster, the node with the keys counts', async (t) => {
  const { nodes, clients } = await startCluster(t)
  const gateway = await startGateway(t, {
    store: `redis: { cluster: [ ${nodes.map((node) => `"${node}"`).join()} ] }`,
  })
  const { meters } = gateway.app.front
  const key = await gateway.key()
  await until(async () => (await statusOf(gateway, key)) === 200)
  const hold = await Promise.all(clients.map((client) => client.exists(record).catch(() => 0)))
  t.equal(hold.filter((count) => count === 1).length, 1)
  const flush = (holds: number) =>
    Promise.all(clients.filter((_, i) => hold[i] === holds).map((client) => client.flushall()))
  await flush(0)
  await pause(600)
  t.equal(meters.emptiedStores, 0)
  t.equal(await statusOf(gateway, key), 200)
  await flush(1)
  await until(async () => (await statusOf(gateway, key)) === 401, bound(1_000))
})

t.test('a restart without its data empties a store', async (t) => {
  const forgetful = await startRedis(t)
  const gateway = await startGateway(t, { store: `redis: "${forgetful.url}"` })
  const key = await gateway.key()
  t.equal(await statusOf(gateway, key), 200)
  await forgetful.kill()
  await forgetful.restart()
  await until(async () => (await statusOf(gateway, key)) === 401)
  t.equal(gateway.app.front.meters.emptiedStores, 1)
})

t.test('another epoch in a file is told as well', async (t) => {
  const gateway = await startGateway(t)
  const key = await gateway.key()
  t.equal(await statusOf(gateway, key), 200)
  const other = openGatewayFile(gateway.config.store.file)
  t.teardown(() => other.close())
  other.exec(`DELETE FROM secrets; DELETE FROM keys; UPDATE store SET epoch = 'another'`)
  await until(async () => (await statusOf(gateway, key)) === 401, bound(1_000))
})

t.test('a file that is deleted or replaced under a gateway is told', async (t) => {
  const { gateway, operate } = await startAdmin(t, { store: `file: ${join(folderOf(t), 'g.db')}` })
  const { file } = gateway.config.store
  const told = async () => json(await operate('GET', '/readyz'))['warnings']
  t.equal(await told(), undefined)
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`)
  t.match(await told(), [/g\.db was deleted or replaced while a gateway uses it/])
  openGatewayFile(file).close()
  t.match(await told(), [/deleted or replaced/])
})
