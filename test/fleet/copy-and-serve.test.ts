import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { StoreSettings } from '../../gateway/front/config/config.ts'
import { runCommand } from '../support/command.ts'
import { dayUsed as allUsed, storeAt } from '../support/filled-store.ts'
import { configFor, startGateway, startUpstream } from '../support/gateway.ts'
import { caller, json, type Call } from '../support/http.ts'
import { adminOf, startProcess } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { pause } from '../support/traffic.ts'
import { until } from '../support/until.ts'
import { folderOf } from '../support/folder.ts'

t.test('the commands copy and back up, and a gateway serves from what they wrote', async (t) => {
  const upstream = await startUpstream(t)
  const folder = folderOf(t)
  const { url, port, client } = await startRedis(t)
  const configOf = (name: string, store: string): string => {
    const file = join(folder, name)
    writeFileSync(file, configFor(upstream.url, store, { more: 'drain: 0s' }))
    return file
  }
  const file = join(folder, 'gateway.db')
  const embedded = configOf('embedded.yaml', `file: ${file}`)
  const inRedis = configOf('redis.yaml', `file: ${file}, redis: "${url}"`)
  const run = (config: string, ...args: string[]) => runCommand([...args, '--config', config], {})
  const gateway = async (config: string) => {
    const env = { TOLLGATE_CONFIG: config, LOG_LEVEL: 'info' }
    const service = startProcess(t, 'gateway/main.ts', { env })
    return { service, call: caller(await service.url) }
  }
  const stop = async ({ service }: Awaited<ReturnType<typeof gateway>>) => {
    service.child.kill('SIGTERM')
    await service.ended
  }
  const made = await run(embedded, 'keys', 'create', '--plan', 'free', '--name', 'A', '--json')
  const madeAtMs = Date.now()
  const { key } = json(made.stdout)
  const headers = { authorization: `Bearer ${String(key)}` }
  const first = await gateway(embedded)
  const ask = async ({ call }: Readonly<{ call: Call }>) =>
    (await call('GET', '/v1/pets', undefined, headers)).status
  const dayUsed = async (settings: StoreSettings) => (await allUsed(settings))[0]
  for (let i = 0; i < 5; i++) t.equal(await ask(first), 200)
  await until(async () => (await dayUsed(storeAt(file))) === 5)

  const backup = join(folder, 'kept/backup.db')
  t.match(await run(embedded, 'store', 'backup', backup), { code: 0, out: /backup\.db: 1 key, / })
  t.equal(statSync(backup).mode & 0o777, 0o600)
  const saved = readFileSync(backup)
  for (const [config, name] of [
    [embedded, 'a gateway’s file'],
    [inRedis, 'Redis'],
  ] as const) {
    const again = await run(config, 'store', 'backup', backup)
    t.match(again, { code: 1, out: /exists already, and stays as it is: name a file that doesn't/ })
    t.ok(readFileSync(backup).equals(saved), `the backup of ${name} stays as it is`)
    t.strictSame(readdirSync(join(folder, 'kept')), ['backup.db'])
  }
  await t.test('a backup', async (t) => {
    t.equal(await ask(await startGateway(t, { upstream, store: `file: ${backup}` })), 200)
  })
  t.equal(await dayUsed(storeAt(backup)), 6, 'with what was counted')

  const to = ['--to', `redis://:hush@127.0.0.1:${port}`]
  const dry = await run(embedded, 'store', 'copy', ...to, '--dry-run', '--json')
  t.match(json(dry.stdout), { from: file, to: `Redis at 127.0.0.1:${port}`, dryRun: true, keys: 1 })
  t.equal(await client.dbsize(), 0)
  // Clocks may differ by five seconds: what is younger counts as news.
  await pause(Math.max(0, madeAtMs + 5_500 - Date.now()))
  const third = await gateway(inRedis)
  t.equal(await ask(third), 401)
  const fromLive = ['store', 'copy', '--from', file]
  t.match(await run(inRedis, ...fromLive), {
    code: 1,
    out: `tollgate: a gateway serves from ${file}, and a copy would lack what is counted meanwhile. Nothing was written: stop the gateways first, or copy with --live\n`,
  })
  t.equal(await ask(third), 401)
  const copied = await run(inRedis, ...fromLive, '--live')
  t.match(copied, { code: 0, out: /1 {2}keys\n[^]*1 {2}lines of audit\nLeft out: / })
  t.notMatch(copied.out + dry.out, /hush/)
  t.equal(await ask(third), 200)
  t.equal(await dayUsed(storeAt({ url }, 'tollgate:')), 6)
  // The log looks each second.
  await new Promise((go) => setTimeout(go, 2_500))
  t.notMatch(third.service.output(), /"audit":"keys.create"/, 'what is old is no news to the log')
  const other = join(folder, 'other.db')
  t.match(await run(inRedis, 'store', 'copy', '--to', other), {
    code: 1,
    out: /^tollgate: \S+:\d+ serves from Redis at 127\.0\.0\.1:\d+, and a copy would lack/,
  })
  t.notOk(existsSync(other))
  await stop(third)
  await stop(first)
  t.match(await run(inRedis, 'store', 'copy', '--to', other), { code: 0 }, 'all have left')
  const fromRedis = join(folder, 'from-redis.db')
  t.match(await run(inRedis, 'store', 'backup', fromRedis), { code: 0, out: /: 1 key, / })
  await t.test('a backup of Redis', async (t) => {
    t.equal(await ask(await startGateway(t, { upstream, store: `file: ${fromRedis}` })), 200)
  })
  const again = await startGateway(t, { upstream, store: `file: ${file}, redis: "${url}"` })
  t.equal(await ask(again), 200)
})

t.test('a gateway says what it waits for, and is ready when its store has answered', async (t) => {
  const folder = folderOf(t)
  const upstream = await startUpstream(t)
  const ended = await startRedis(t)
  const { port } = ended
  await ended.kill()
  const config = join(folder, 'gateway.yaml')
  const redis = `redis://:hush@127.0.0.1:${port}`
  writeFileSync(config, configFor(upstream.url, `file: ${join(folder, 'x.db')}, redis: "${redis}"`))
  const env = { TOLLGATE_CONFIG: config, LOG_LEVEL: 'info' }
  const gateway = startProcess(t, 'gateway/main.ts', { env })
  await until(() => gateway.output().includes('waiting for'))
  t.match(
    gateway.output().split('\n')[0],
    new RegExp(`"level":40,.*"msg":"waiting for Redis at 127.0.0.1:${port}: connection refused"}`),
    'before anything else',
  )
  await gateway.url
  const admin = await adminOf(gateway)
  const readyz = () => caller(admin)('GET', '/readyz')
  const before = await readyz()
  t.equal(before.status, 503)
  t.match(json(before), { ready: false, stopping: false, store: 'out of reach' })
  await ended.restart()
  await until(async () => (await readyz()).status === 200)
  await until(async () => json(await readyz()).store === 'reachable')
  await until(() => gateway.output().includes('"the store is there"'))
  t.notMatch(gateway.output(), /hush/)
  t.notOk(existsSync(join(folder, 'x.db')), 'the file that is not used is not made')
})
