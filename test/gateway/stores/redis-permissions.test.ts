import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../../gateway/front/config/config.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import type { Stores } from '../../../gateway/front/stores/stores.ts'
import { newKey } from '../../contracts/keys.ts'
import { runCommand } from '../../support/command.ts'
import { folderOf } from '../../support/folder.ts'
import { startAdmin } from '../../support/admin.ts'
import { json } from '../../support/http.ts'
import { root } from '../../support/process.ts'
import { startCluster, startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const redis = await startRedis(t)

/** The rules of a user that the README says are enough. */
const [, written = ''] =
  /ACL SETUSER tollgate on '>PASSWORD' ((?:.*\\\n)*.*)/.exec(
    readFileSync(`${root}/config/deploy/README.md`, 'utf8'),
  ) ?? []
const enough = written.replaceAll(/['\\\n]/g, '').split(/ +/)

/** The URL of a user with some rules. */
async function asUser(...rules: readonly string[]): Promise<string> {
  const name = `user-${Math.random()}`
  await redis.client.call('ACL', 'SETUSER', name, 'on', '>secret', ...rules)
  return redis.url.replace('//', `//${name}:secret@`)
}

/** A gateway's stores at its start. */
async function storesIn(t: Test, redis: RedisSettings): Promise<Stores> {
  const parts = { prefix: 'tollgate:', timeoutMs: 2_000, file: '' }
  const stores = await openStores({ ...parts, redis, whenUnreachable: 'local' })
  t.teardown(() => stores.close())
  await stores.ready()
  return stores
}

const logged = () => {
  const lines: string[] = []
  const target = { write: (line: string) => void lines.push(line) }
  return { lines, log: { level: 'warn', target } as const }
}

t.test('the permissions in the README are enough for a gateway', async (t) => {
  t.ok(enough.includes('~tollgate:*'), written)
  const { lines, log } = logged()
  const { gateway, ask, file } = await startAdmin(t, {
    store: `redis: "${await asUser(...enough)}", file: ${join(folderOf(t), 'none.db')}`,
    log,
  })
  const made = json(await ask('POST', '/admin/keys', { name: 'A', plan: 'free' }))
  const headers = { authorization: `Bearer ${String(made['key'])}` }
  const status = async () => (await gateway.call('GET', '/v1/x', undefined, headers)).status
  t.equal(await status(), 200)
  const id = String(made['id'])
  await gateway.app.front.flushCounts()
  for (const [path, body] of [
    ['rotate', { overlap: '1h' }],
    ['disable', {}],
    ['enable', {}],
  ] as const) {
    t.equal((await ask('POST', `/admin/keys/${id}/${path}`, body)).status, 200, path)
  }
  t.equal((await ask('PUT', `/admin/bans/${id}`, { for: '1m' })).status, 200)
  t.equal((await ask('DELETE', `/admin/bans/${id}`)).status, 204)
  for (const [path, body] of [
    ['grant', { perDay: 5 }],
    ['month', { monthFrom: 15 }],
    ['reset', {}],
  ] as const) {
    t.equal((await ask('POST', `/admin/quota/${id}/${path}`, body)).status, 200, path)
  }
  const csv = { 'content-type': 'text/csv' }
  const rows = `token,plan,name\n${'x'.repeat(32)},free,B\n`
  t.equal((await ask('POST', '/admin/keys/import', rows, csv)).status, 200)
  const copied = await runCommand(['store', 'backup', `${file}.backup`, '--config', file], {})
  t.equal(copied.code, 0, copied.out)
  for (const path of [
    ...['keys', 'gateways', 'bans', 'audit', 'live', 'usage', 'ledger', 'notices'],
    ...[`keys/${id}`, `quota/${id}`, `requests/nothing`],
  ]) {
    const { status } = await ask('GET', `/admin/${path}`)
    t.ok(status === 200 || status === 404, `${path}: ${status}`)
  }
  t.equal((await ask('POST', `/admin/keys/${id}/revoke`)).status, 200)
  await until(async () => (await status()) === 401)
  // On a busy machine Redis' first answer may be late.
  t.strictSame(
    lines.filter((line) => !line.includes('waiting for Redis')),
    [],
  )
  t.equal(json(await ask('GET', '/readyz'))['warnings'], undefined)
  t.strictSame(await redis.client.call('ACL', 'LOG'), [], 'nothing was refused')
})

t.test('they are all commands that are used, and no other', async (t) => {
  const known = (await redis.client.call('COMMAND', 'LIST')) as string[]
  const commands = new Set(known.map((name) => name.toLowerCase()))
  // Methods of JavaScript's own, which are no commands here.
  for (const name of ['exec', 'keys', 'object', 'sort', 'watch']) commands.delete(name)
  const folder = join(root, 'gateway/front/stores/redis')
  const used = new Set<string>()
  // It counts strangers by a script of its own.
  const flexible = join(root, 'node_modules/rate-limiter-flexible/lib/RateLimiterRedis.js')
  for (const file of [...readdirSync(folder).map((name) => join(folder, name)), flexible]) {
    const call = file.endsWith('.ts') ? /\.(\w+)\(/g : /\b(?:call|try)\(\s*'(\w+)'/g
    for (const [, word = ''] of readFileSync(file, 'utf8').matchAll(call)) {
      if (commands.has(word.toLowerCase())) used.add(word.toLowerCase())
    }
  }
  const told = enough.filter((rule) => /^\+\w/.test(rule)).map((rule) => rule.slice(1))
  t.strictSame(told.sort(), [...used].sort())
})

t.test('a command that a script may not use is told as that, not as a damaged value', async (t) => {
  const { lines, log } = logged()
  const url = await asUser(...enough, '-hkeys')
  const { gateway, ask } = await startAdmin(t, { store: `redis: "${url}"`, log })
  const { key, headers } = await gateway.key()
  await gateway.call('GET', '/v1/x', undefined, headers)
  const { status } = await ask('POST', `/admin/quota/${key.id}/reset`, {})
  t.equal(status, 503)
  t.match(lines.join(''), /can't run this command|ACL failure/)
  t.notMatch(lines.join(''), /delete it/)
})

t.test('in a Cluster two more are enough', async (t) => {
  const { nodes, clients } = await startCluster(t)
  const rules = [...enough, '+cluster|slots', '+cluster|info']
  for (const client of clients) {
    await client.call('ACL', 'SETUSER', 'gateway', 'on', '>secret', ...rules)
  }
  const settings = { cluster: nodes, username: 'gateway', password: 'secret' }
  const { keys, quota, warnings } = await storesIn(t, settings)
  const key = newKey()
  await keys.add([key])
  t.match(await keys.get(key.id), { key })
  const limits = { perMinute: 5, perDay: 5 }
  const ask = { key: key.id, cost: 1, limits, bans: undefined }
  t.match(await quota.decide(key.id, ask), { verdict: 'admitted' })
  t.strictSame(warnings, [])
  for (const client of clients) t.strictSame(await client.call('ACL', 'LOG'), [])
})

t.test('a gateway names what its user may not do', async (t) => {
  for (const [rule, missing] of [
    ['-time', 'TIME'],
    ['-@scripting', 'EVAL, EVALSHA'],
    ['-subscribe', 'SUBSCRIBE'],
    ['resetchannels', 'PUBLISH, SUBSCRIBE'],
    ['-info', 'INFO'],
  ] as const) {
    const { warnings } = await storesIn(t, { url: await asUser(...enough, rule) })
    t.match(warnings, [`the user of Redis may not use ${missing} for`], rule)
    t.equal(warnings.length, 1)
  }
})

t.test('and serves callers, and is ready with a warning', async (t) => {
  const { lines, log } = logged()
  const url = await asUser(...enough, 'resetchannels')
  const { operate } = await startAdmin(t, { store: `redis: "${url}"`, log })
  t.match(lines.join(''), /may not use PUBLISH, SUBSCRIBE/, 'the log has it at the start')
  const ready = await operate('GET', '/readyz')
  t.equal(ready.status, 200)
  t.match(json(ready), { warnings: [/may not use PUBLISH, SUBSCRIBE/] })
})

t.test('a Redis without INFO is as ready as one that refuses it', async (t) => {
  const nameless = await startRedis(t, '--rename-command', 'INFO', '')
  const { gateway, operate } = await startAdmin(t, { store: `redis: "${nameless.url}"` })
  const key = await gateway.key()
  t.equal((await gateway.call('GET', '/v1/x', undefined, key.headers)).status, 200)
  const ready = await operate('GET', '/readyz')
  t.equal(ready.status, 200)
  t.match(json(ready), { store: 'reachable', warnings: [/may not use INFO for/] })
})

t.test('a Redis that evicts is a warning, until it is told not to', async (t) => {
  const evicting = await startRedis(t, '--maxmemory-policy', 'volatile-lru')
  const { lines, log } = logged()
  const started = await startAdmin(t, { store: `redis: "${evicting.url}"`, log })
  const { gateway, operate, ask, file } = started
  const told = /^Redis drops keys and counters .* \(maxmemory-policy volatile-lru\)/
  const ready = await operate('GET', '/readyz')
  t.equal(ready.status, 200)
  t.match(json(ready), { warnings: [told] })
  t.match(lines.join(''), /maxmemory-policy volatile-lru/)
  const check = async () => {
    const yaml = { 'content-type': 'application/yaml' }
    const text = readFileSync(file, 'utf8')
    return json(await ask('POST', '/admin/config/check', text, yaml))['warnings']
  }
  t.match(await check(), [told])
  const ran = () => runCommand(['config', 'check', file], {})
  t.match(await ran(), { code: 0, out: told })
  await evicting.client.config('SET', 'maxmemory-policy', 'noeviction')
  await gateway.stores.ready()
  t.equal(json(await operate('GET', '/readyz'))['warnings'], undefined)
  t.strictSame(await check(), [])
  const sound = `${file} is valid: 3 plans, 1 route, 1 upstream.\n`
  t.match(await ran(), { code: 0, out: sound })
  await evicting.client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  await evicting.kill()
  t.match(await ran(), { code: 0, out: sound }, 'a check works without its store')
})
