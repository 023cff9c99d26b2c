import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { format as ofFile } from '../../../gateway/front/stores/embedded/database.ts'
import { format as ofRedis } from '../../../gateway/front/stores/redis/format.ts'
import { Gateway } from '../../../gateway/gateway.ts'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { filled, storeAt } from '../../support/filled-store.ts'
import { folderOf } from '../../support/folder.ts'
import { configFor } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startCluster, startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const { url, client } = await startRedis(t)
const epoch = '00000000-0000-4000-8000-000000000000'
const later = String(ofRedis + 1)
const unavailable = new RegExp(`has format ${later}|out of reach`)

/** Everything that is in a Redis. */
async function contentOf(client: Redis): Promise<unknown> {
  const names = (await client.keys('*')).sort()
  return Promise.all(names.map(async (name) => [name, await client.dumpBuffer(name)]))
}

/** What a command with a store says. */
async function refusedOr(t: Test, store: string): Promise<{ code: number; out: string }> {
  const config = join(folderOf(t), 'gateway.yaml')
  writeFileSync(config, configFor('http://127.0.0.1:9', store))
  return runCommand(['bans', 'list', '--config', config], {})
}

/** Starts a gateway and runs commands with a store; all are refused with a sentence. */
async function refuses(t: Test, folder: string, store: string, sentence: RegExp): Promise<void> {
  const config = join(folder, 'gateway.yaml')
  const yaml = configFor('http://127.0.0.1:9', store)
  writeFileSync(config, yaml)
  const gateway = Gateway.open({ config: parseConfig(yaml, {}, config) })
  await t.rejects(gateway, { message: sentence })
  const other = join(folder, 'other.db')
  await (await filled(t, storeAt(other))).stores.close()
  for (const words of [
    'keys list',
    'keys create --name x --plan free',
    'usage',
    'audit',
    `store backup ${join(folder, 'backup.db')}`,
    `store copy --from ${other}`,
    `store copy --from ${other} --dry-run`,
    `store copy --from config:${config} --to ${join(folder, 'new.db')}`,
  ]) {
    const { code, out } = await runCommand([...words.split(' '), '--config', config], {})
    t.equal(code, 1, words)
    t.match(out, sentence, words)
  }
}

t.test('a new store has the format of the version that opens it first', async (t) => {
  await client.flushall()
  const stores = await openStores(storeAt({ url }, 'new:'), { forCommandLine: true })
  t.teardown(() => stores.close())
  t.equal(await stores.keys.get('a'), undefined)
  t.match(await client.hgetall('new:{keys}:store'), {
    format: String(ofRedis),
    epoch: /^[0-9a-f-]{36}$/,
  })
  const file = join(folderOf(t), 'gateway.db')
  await (await openStores(storeAt(file))).close()
  t.equal(new Sqlite(file).pragma('user_version', { simple: true }), ofFile)
})

for (const format of [String(ofRedis - 1), later, undefined]) {
  const has = format === undefined ? 'has keys and no format' : `has format ${format}`
  t.test(`a Redis that ${has} is refused by gateways and commands, and stays`, async (t) => {
    await client.flushall()
    await client.hset('tollgate:{keys}:records', 'a', '{}')
    if (format) await client.hset('tollgate:{keys}:store', { format, epoch })
    const before = await contentOf(client)
    const sentence = new RegExp(
      `what is in Redis ${has}, .* knows format ${ofRedis} alone: start the version that wrote it, set another store.prefix, or`,
    )
    await refuses(t, folderOf(t), `redis: "${url}"`, sentence)
    t.strictSame(await contentOf(client), before)
  })
}

t.test('a record that a gateway writes anew is waited for', async (t) => {
  await client.flushall()
  await client.hset('tollgate:{keys}:records', 'a', '{}')
  setTimeout(() => void client.hset('tollgate:{keys}:store', { format: ofRedis, epoch }), 200)
  const { code, out } = await refusedOr(t, `redis: "${url}"`)
  t.equal(code, 0, out)
})

for (const format of [ofFile - 1, ofFile + 1]) {
  t.test(`a file of format ${format} is refused by gateways and commands, and stays`, async (t) => {
    const folder = folderOf(t)
    const file = join(folder, 'gateway.db')
    await (await filled(t, storeAt(file))).stores.close()
    const database = new Sqlite(file)
    database.pragma(`user_version = ${format}`)
    database.close()
    const before = readFileSync(file)
    const sentence = new RegExp(
      `gateway.db can't be used: it has format ${format}, .* knows format ${ofFile} alone: start the version that wrote it, or`,
    )
    await refuses(t, folder, `file: ${file}`, sentence)
    t.strictSame(readFileSync(file), before)
  })
}

t.test('config check says why a Redis is refused', async (t) => {
  await client.flushall()
  await client.hset('tollgate:{keys}:store', { format: later, epoch })
  const config = join(folderOf(t), 'gateway.yaml')
  writeFileSync(config, configFor('http://127.0.0.1:9', `redis: "${url}"`))
  t.match(await runCommand(['config', 'check', '--config', config], {}), {
    out: `what is in Redis has format ${later}`,
  })
})

/**
 * A gateway whose Redis takes on another format later on, and is emptied again. `change` gives the content that must stay
 * where the gateway can't have written before.
 */
async function refusesLater(
  t: Test,
  store: string,
  clients: readonly Redis[],
  change: () => Promise<unknown>,
): Promise<void> {
  const lines: string[] = []
  const log = { level: 'warn', target: { write: (line: string) => void lines.push(line) } } as const
  const { gateway, operate } = await startAdmin(t, { store, log })
  const { stores, directory, quotas } = gateway.app.front
  const kept = await change()
  const warnings = async () => String(json(await operate('GET', '/readyz'))['warnings'])
  await until(async () => (await warnings()).includes(`has format ${later}`))
  const contents = () => Promise.all(clients.map(contentOf))
  const before = kept ?? (await contents())
  const limits = { perMinute: 9, perDay: 9 }
  const decide = async () => stores.quota.decide('q', { key: 'k', cost: 1, limits })
  await t.rejects(stores.audit.since(), unavailable)
  await t.rejects(decide(), unavailable)
  await t.rejects(gateway.key(), unavailable)
  await until(() => lines.some((line) => line.includes(`has format ${later}`)))
  t.strictSame(await contents(), before, 'nothing is changed there')
  await Promise.all(clients.map((client) => client.flushall()))
  await until(() => directory.isMet && quotas.isReachable)
  await until(async () => !(await warnings()).includes(`has format ${later}`))
  await until(() =>
    gateway.key().then(
      () => true,
      () => false,
    ),
  )
}

t.test('a gateway that starts while Redis is away looks as soon as it answers', async (t) => {
  const { url, client, kill, restart } = await startRedis(t, '--appendonly', 'yes')
  await client.hset('tollgate:{keys}:store', { format: later, epoch })
  const content = await contentOf(client)
  await kill()
  await refusesLater(t, `redis: "${url}", timeout: 200ms`, [client], async () => {
    await restart()
    return [content]
  })
})

t.test('a gateway whose Redis takes on another format asks it nothing more', async (t) => {
  await client.flushall()
  await refusesLater(t, `redis: "${url}"`, [client], async () => {
    await client.hset('tollgate:{keys}:store', { format: later, epoch })
  })
})

t.test('and one whose Cluster does', async (t) => {
  const { nodes, clients } = await startCluster(t)
  const store = `redis: { cluster: [ ${nodes.map((node) => `"${node}"`).join()} ] }`
  await refusesLater(t, store, clients, async () => {
    const set = (client: Redis) => client.hset('tollgate:{keys}:store', { format: later, epoch })
    await Promise.any(clients.map(set))
  })
})
