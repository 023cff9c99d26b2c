import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { StoreSettings } from '../../../gateway/front/config/config.ts'
import type { QuotaStore } from '../../../gateway/front/limits/store.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { EmbeddedQuotas } from '../../../gateway/front/stores/embedded/quota.ts'
import { redisQuotas } from '../../../gateway/front/stores/redis/quota.ts'
import { dayMs, minuteMs } from '../../../shared/windows.ts'
import { TriedStore } from '../../contracts/tried-quotas.ts'
import { copy, storeAt } from '../../support/filled-store.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { startCluster, startRedis } from '../../support/redis.ts'
import { folderOf } from '../../support/folder.ts'

const [redis, { nodes }] = await Promise.all([startRedis(t), startCluster(t)])

/** A clock that stands still. Copies go by the real one. */
const now = Date.now()
const [minute, day] = [Math.floor(now / minuteMs), Math.floor(now / dayMs)]
const past = `${day - 2},4;${day - 1},6;`
const counters = `${minute},5,${day},12,2,7`
const grant = { perMinute: 3, perDay: 4, minute, day, by: 'Ann', note: 'a; "b"' }
const banned = { refusedAtMs: 0, bannedUntilMs: now + 600_001, bans: 1, strikesMs: [] }

/** Quotas as format 1 had them in a file: one in its place, and one in the journal. */
async function formerFile(t: Test, name: string): Promise<StoreSettings> {
  const file = join(folderOf(t), `${name}.db`)
  const settings = storeAt(file)
  const database = openGatewayFile(file)
  const { each, ...sums } = { ...grant, by: undefined, note: undefined, each: [grant] }
  const behind = [[['banned', banned]], { ...sums, each }, past]
  const text = `${counters},${behind.map((part) => JSON.stringify(part)).join()}`
  database.prepare('INSERT INTO quotas VALUES (?, ?, ?)').run('key:A', (day + 4) * dayMs, text)
  const journal = database.prepare('INSERT INTO journal (states) VALUES (?)')
  journal.run(`key:B\t${counters}\nkey:C\t${minute - 1},5,${day - 1},12,2,0`)
  database.close()
  return settings
}

async function formerRedis(t: Test, settings: { url: string } | { cluster: typeof nodes }) {
  const connection = await connectionTo(t, settings)
  const words = JSON.stringify({ by: grant.by, note: grant.note })
  await connection.hset('former:quota:key:A', {
    ...{ c: `${counters},k`, p: past, 's:gateway': '9' },
    g: [day, 4, minute, 3].join(),
    n: `${[day, 4, minute, 3].join()},${words}`,
    'k:banned': `0,${banned.bannedUntilMs},1,`,
  })
  await connection.hset('former:quota:key:B', 'c', counters)
  await connection.hset('former:quota:key:C', 'c', `${minute - 1},5,${day - 1},12,2,0`)
  for (const quota of ['A', 'B', 'C']) {
    await connection.pexpire(`former:quota:key:${quota}`, 2 * dayMs)
  }
  return storeAt(settings, 'former:')
}

async function opened(t: Test, { file, redis, prefix = '' }: StoreSettings): Promise<QuotaStore> {
  const open = async () => {
    if (!redis) return new EmbeddedQuotas(openGatewayFile(file), { clock: () => now })
    const connection = await connectionTo(t, redis)
    return redisQuotas({ connection, prefix, timeoutMs: 2_000, testClock: () => now })
  }
  const store = await open()
  t.teardown(() => store.close())
  return store
}

/** Day and minute go on exactly; an hour and a month with what their latest part has. */
async function goesOn(t: Test, store: QuotaStore): Promise<void> {
  const { ask, pointsOf } = new TriedStore({
    store,
    setTime: () => undefined,
    reopen: () => Promise.resolve(store),
  })
  const limits = { perMinute: 6, perDay: 100, perMonth: 100 }
  t.match((await store.grants('key:A')).length, 1)
  t.match(await store.grants('key:A'), [{ perMinute: 3, perDay: 4, by: 'Ann', note: 'a; "b"' }])
  t.match(await ask('key:A', { key: 'banned', limits }), {
    verdict: 'banned',
    bannedUntilMs: banned.bannedUntilMs,
  })
  t.match(await ask('key:A', { limits }), {
    ...{ minuteUsed: 6, hourUsed: 6, dayUsed: 11, monthUsed: 11 },
    granted: { perMinute: 3, perDay: 4 },
    seen: { generation: 7 },
  })
  t.match(await ask('key:A', { limits, cost: 3 }), { verdict: 'admitted', minuteUsed: 9 })
  t.match(await ask('key:A', { limits }), { verdict: 'refused' })
  t.match(await ask('key:B', { limits }), { verdict: 'admitted', minuteUsed: 6, dayUsed: 11 })
  t.match(await ask('key:B', { limits }), { verdict: 'refused' })
  const next = await ask('key:C', { limits })
  t.match(next, { minuteUsed: 1, dayUsed: 1 }, 'ended windows begin')
  t.equal(next.monthUsed, new Date(now).getUTCDate() === 1 ? 1 : 11, 'of the month’s last day')
  const points = ['A', 'B', 'C'].map((key) =>
    Promise.all([day - 2, day - 1, day].map((each) => pointsOf(`key:${key}`, each))),
  )
  const expected = [
    [4, 6, 14],
    [0, 0, 11],
    [0, 10, 1],
  ]
  t.strictSame(await Promise.all(points), expected)
}

t.test('counters of format 1 go on where they are', async (t) => {
  await goesOn(t, await opened(t, await formerFile(t, 'file')))
  await goesOn(t, await opened(t, await formerRedis(t, { url: redis.url })))
  await goesOn(t, await opened(t, await formerRedis(t, { cluster: nodes })))
})

t.test('counters of format 1 go on in a copy, from a file and from Redis', async (t) => {
  await redis.client.flushall()
  const [single, cluster] = [{ url: redis.url }, { cluster: nodes }]
  const file = await formerFile(t, 'file')
  const former = await formerRedis(t, single)
  for (const [from, to] of [
    [file, storeAt(single, 'from-file:')],
    [file, storeAt(cluster, 'from-file:')],
    [former, storeAt(join(t.testdirName, 'from-redis.db'))],
    [former, storeAt(cluster, 'from-redis:')],
  ] as const) {
    t.match(await copy(from, to), { quotas: 3 })
    await goesOn(t, await opened(t, to))
  }
})

t.test('a copy meets counters of format 1: the larger win', async (t) => {
  await redis.client.flushall()
  const single = { url: redis.url }
  const former = await formerRedis(t, single)
  await copy(await formerFile(t, 'file'), former, { intoNonEmpty: true })
  await goesOn(t, await opened(t, former))
  await redis.client.flushall()
  const file = await formerFile(t, 'other')
  await copy(await formerRedis(t, single), file, { intoNonEmpty: true })
  await goesOn(t, await opened(t, file))
})
