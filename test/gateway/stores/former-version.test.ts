import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Key } from '../../../gateway/keys/key.ts'
import { recordOf } from '../../../gateway/keys/record.ts'
import { mostGrants } from '../../../gateway/limits/grants.ts'
import { dayMs, type Seen } from '../../../gateway/limits/step.ts'
import { migrations, openGatewayFile } from '../../../gateway/stores/embedded/database.ts'
import { embeddedKeys } from '../../../gateway/stores/embedded/keys.ts'
import { embeddedLastUses } from '../../../gateway/stores/embedded/last-uses.ts'
import { redisQuotas } from '../../../gateway/stores/redis/quota.ts'
import { openSqlite } from '../../../shared/sqlite.ts'
import { newKey, pagesOf } from '../../contracts/keys.ts'
import { root } from '../../support/process.ts'
import { connectionTo, keyViews } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'
import { seeded } from '../../support/seeded.ts'
import { until } from '../../support/until.ts'

/** One Redis for all tests of this file. Each has names of its own in it. */
const { url, client } = await startRedis(t)

/** Runs a script of the former version on names, as that version does. */
function formerScript(file: string) {
  const source = readFileSync(join(root, 'test/gateway/former', file), 'utf8')
  return (names: readonly string[], ...args: readonly (string | number)[]) =>
    client.eval(source, names.length, ...names, ...args)
}

t.test('redis, gateways of the version before are understood, and nothing is forged', async (t) => {
  const connection = await connectionTo(t, { url })
  const store = redisQuotas({ connection, prefix: 'bans:', timeoutMs: 2_000 })
  t.teardown(() => store.close())
  const heard: unknown[] = []
  t.teardown(store.watch({ banned: (ban) => heard.push(ban), forgiven: () => heard.push('') }))
  const channel = 'bans:bans:told'
  await until(async () => Number((await client.pubsub('NUMSUB', channel))[1]) === 1)
  const messages: string[] = []
  const other = client.duplicate()
  t.teardown(() => other.disconnect())
  await other.subscribe(channel)
  other.on('message', (_channel, message) => messages.push(message))
  const untilMs = Date.now() + 60_000
  // As a gateway of the version before tells of a ban, or of a name that an app has given.
  for (const message of [`${untilMs} VICTIM is my name`, `${untilMs} k key:k`, '[1', '{}', '[]'])
    await client.publish(channel, message)
  const name = 'VICTIM is my name'
  await store.ban(name, name, untilMs)
  await until(() => heard.length === 2)
  t.strictSame(heard, ['', { key: name, quota: name, untilMs }])
  // A gateway of the version before reads a time up to the first space.
  t.notOk(messages.slice(5).some((message) => message && Number(message.split(' ')[0]) > 0))
  t.match(await store.bans(), [{ key: name, quota: name, untilMs }])
})

t.test('redis, grants and the former version’s scripts go together in one hash', async (t) => {
  const startMs = Date.UTC(2026, 5, 15, 12)
  const store = redisQuotas({
    ...{ connection: await connectionTo(t, { url }), prefix: 'grants:', timeoutMs: 2_000 },
    testClock: () => startMs,
  })
  t.teardown(() => store.close())
  const [decide, edit] = [formerScript('quota.lua'), formerScript('quota-edit.lua')]
  const names = ['grants:quota:q']
  const limits = { perMinute: 1_000, perDay: 20 }
  const random = seeded(24)
  let [used, granted, ban] = [0, 0, false]
  let seen: Seen | undefined
  const acts: Record<string, () => Promise<unknown>> = {
    async former() {
      const answers = await decide(names, startMs, `;;0;1,${limits.perMinute},20,;0;;k`)
      const [, , , dayUsed, , , verdict = 0] = String((answers as string[])[1])
        .split(',')
        .map(Number)
      const expected = ban ? 2 : used < limits.perDay ? 0 : 1
      if (expected === 0) used++
      return [dayUsed, verdict, used, expected]
    },
    async ours() {
      const decision = await store.decide('q', { key: 'k', cost: 1, limits, seen })
      // Another gateway of ours has seen nothing yet.
      seen = random(3) === 0 ? undefined : decision.seen
      const expected = ban ? 'banned' : used < limits.perDay + granted ? 'admitted' : 'refused'
      if (expected === 'admitted') used++
      const { dayUsed, verdict } = decision
      return [...[dayUsed, verdict, decision.granted?.perDay ?? 0], ...[used, expected, granted]]
    },
    async grant() {
      await store.grant('q', { perMinute: 0, perDay: 3, by: 'a' })
      granted += 3
    },
    async reset() {
      await edit(names, 'reset', startMs)
      used = 0
    },
    async ban() {
      await edit(names, 'ban', 'k', startMs + 60_000, startMs)
      ban = true
    },
    async lift() {
      await edit(names, 'lift', 'k', startMs)
      ban = false
    },
    async giveBack() {
      await edit(names, 'giveBack', 0, Math.floor(startMs / dayMs), startMs)
    },
  }
  const requests = ['former', 'ours', 'ours', 'former', 'ours', 'former']
  const others = ['grant', 'reset', 'ban', 'lift', 'lift', 'giveBack']
  const outcomes = new Set<string>()
  for (let i = 0; i < 800 && granted < 3 * mostGrants; i++) {
    const some = random(6) === 0 ? others : requests
    const name = some[random(some.length)] ?? 'ours'
    const result = (await acts[name]?.()) as unknown[] | undefined
    if (!result) continue
    const half = result.length / 2
    outcomes.add(`${name} ${String(result[half + 1])}`)
    if (!isDeepStrictEqual(result.slice(0, half), result.slice(half))) {
      return t.fail(`step ${i}, ${name}: ${result.join()}`)
    }
  }
  t.equal(outcomes.size, 6, 'both have admitted, refused and banned')
  t.equal((await store.grants('q')).length, granted / 3)
})

/** The scripts of the former version, which writes to the same Redis and knows no lines. */
function formerVersion() {
  const name = (what: string): string => `test:{keys}:${what}`
  const names = (...whats: string[]): string[] => whats.map(name)
  const run = (script: string, keys: readonly string[], ...args: readonly (string | number)[]) =>
    formerScript(script)(keys, ...args)
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
  const former = formerVersion()
  const keys = new Map<string, Key>()
  const made = (name: string, more: Partial<Key> = {}): Key => {
    const key = newKey({ name, ...more })
    keys.set(key.id, key)
    return key
  }
  for (let i = 0; i < 600; i++) await former.add(made(`before ${i}`))
  const steady = made('Steady')
  await former.add(steady)
  const { first, second } = await keyViews(t, { url }, 'test:')
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
  await client.del('test:{keys}:lines')
  await sameAsModel('and without an index')
  t.equal(await client.zcard('test:{keys}:lines'), keys.size, 'no other line stays')
})

t.test('what the former version wrote to a file is on the pages', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const before = openSqlite(file, { migrations: migrations.slice(0, 6), busyTimeoutMs: 100 })
  t.teardown(() => before.close())
  before.pragma('synchronous = OFF')
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

t.test('a file of the version before the last uses gets their table', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const before = openSqlite(file, {
    migrations: migrations.slice(
      0,
      migrations.findIndex((step) => step.includes('lastUses')),
    ),
    busyTimeoutMs: 100,
  })
  before.close()
  const database = openGatewayFile(file)
  t.teardown(() => database.close())
  const store = embeddedLastUses(database)
  await store.note([{ key: 'a', mark: 'm', atMs: 5 }], 5)
  t.strictSame(await store.of(['a']), [new Map([['m', 5]])])
})
