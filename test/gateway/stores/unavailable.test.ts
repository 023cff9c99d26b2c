import { talliesOn } from '../../../gateway/front/counts/tally-store.ts'
import { newCounters, unanswered } from '../../../gateway/front/limits/counters.ts'
import Database from 'better-sqlite3'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { auditOn } from '../../../gateway/front/records/audit-list.ts'
import { embeddedLists } from '../../../gateway/front/stores/embedded/lists.ts'
import { embeddedKeys } from '../../../gateway/front/stores/embedded/keys.ts'
import { embeddedQuotas } from '../../../gateway/front/stores/embedded/quota.ts'
import { embeddedCounts } from '../../../gateway/front/stores/embedded/counts.ts'
import type { Stores } from '../../../gateway/front/stores/stores.ts'
import { StoreDamaged, StoreUnavailable } from '../../../shared/store-errors.ts'
import { newKey } from '../../contracts/keys.ts'
import { limits, open, storeAt } from '../../support/filled-store.ts'
import { startRedis, type RedisServer } from '../../support/redis.ts'
import { folderOf } from '../../support/folder.ts'

type Asked = Pick<Stores, 'keys' | 'quota' | 'tallies' | 'audit'>

const exhaust = async (batches: AsyncIterable<unknown>): Promise<void> => {
  for await (const batch of batches) void batch
}

/** One question to each method that reads only. */
const readsOf = ({ keys, quota, tallies, audit }: Asked) => ({
  'keys.find': async () => void (await keys.find('hash')),
  'keys.get': async () => void (await keys.get('id')),
  'keys.list': () => exhaust(keys.list()),
  'keys.named': () => exhaust(keys.named(['id'])),
  'keys.names': () => exhaust(keys.names()),
  'quota.bans': () => quota.bans(),
  'tallies.list': () => exhaust(tallies.list(20_000, 20_000)),
  'tallies.list of a key': () => exhaust(tallies.list(20_000, 20_000, ['id'])),
  'audit.list': () => audit.list({ fromMs: 0, limit: 1 }),
  'audit.list of a subject': () => audit.list({ fromMs: 0, limit: 1, subject: 'id' }),
  'audit.since': () => audit.since(),
  'audit.since a place': () => audit.since('0'),
})

/** One question to each method that writes, of quotas that aren't in memory. */
const writesOf = ({ keys, quota, tallies, audit }: Asked) => ({
  'keys.add': () => keys.add([newKey()]),
  'keys.add many': () => keys.add(Array.from({ length: 501 }, () => newKey())),
  'quota.ban': () => quota.ban('q-ban', 'id', Date.now() + 60_000),
  'tallies.add': () =>
    tallies.add({
      by: 'g',
      number: 1,
      lines: [{ day: 20_000, key: 'id', what: 'GET /', count: 1, lastMs: 0 }],
    }),
  'audit.add': () =>
    audit.add({ atMs: 1, by: 'me', what: 'keys.add', subject: 'id', before: null, after: null }),
})

/** One question to each method that fails in an outage, but may work in a full store. */
const changesOf = ({ keys, quota }: Asked) => ({
  'keys.replace': () => keys.replace(newKey(), 1),
  'quota.decide': async () => quota.decide('q-decide', { key: 'id', cost: 1, limits }),
  'quota.giveBack': async () => quota.adjust('q-back', unanswered(1), { counters: newCounters() }),
  'quota.reset': () => quota.reset('q-reset'),
  'quota.lift': () => quota.lift('q-lift', 'id'),
})

/** Asks all at once; each must say itself that the store is unavailable, and why. */
async function areUnavailable(t: Test, questions: Record<string, () => Promise<unknown>>) {
  const outcomes = Object.entries(questions).map(async ([name, ask]) => {
    const error: unknown = await ask().then(
      () => 'answered',
      (error: unknown) => error,
    )
    if (!(error instanceof StoreUnavailable)) return t.fail(`${name}: ${String(error)}`)
    const isOwn = error.message.startsWith('Redis did not answer within')
    t.ok(isOwn || error.cause instanceof Error, `${name}: ${error.message}`)
    t.notMatch(error.message, /max retries/i)
  })
  await Promise.all(outcomes)
}

t.test('each store in Redis says itself that it can’t be asked', async (t) => {
  const all = (stores: Asked) => ({
    ...readsOf(stores),
    ...writesOf(stores),
    ...changesOf(stores),
  })
  const troubles: Record<string, (redis: RedisServer) => Promise<typeof all | typeof writesOf>> = {
    'is killed': async ({ kill }) => {
      await kill()
      return all
    },
    hangs: ({ child }) => {
      child().kill('SIGSTOP')
      return Promise.resolve(all)
    },
    'is killed while it is asked': ({ child, kill }) => {
      child().kill('SIGSTOP')
      setTimeout(() => void kill(), 50)
      return Promise.resolve(all)
    },
    'is full': async ({ client }) => {
      await client.config('SET', 'maxmemory', '1')
      return writesOf
    },
    'is a replica': async ({ client, port }) => {
      await client.replicaof('127.0.0.1', String(port))
      return writesOf
    },
  }
  for (const [name, begin] of Object.entries(troubles)) {
    await t.test(`that ${name}`, async (t) => {
      const redis = await startRedis(t)
      const stores = await open(t, { ...storeAt({ url: redis.url }), timeoutMs: 200 })
      await areUnavailable(t, (await begin(redis))(stores))
    })
  }
  await t.test('but a name of another type is a fault, which no waiting ends', async (t) => {
    const redis = await startRedis(t)
    const { keys, quota, audit } = await open(t, storeAt({ url: redis.url }))
    await redis.client.set('test:{list:audit}', 'x')
    await redis.client.set('test:{keys}:records', 'x')
    await redis.client.set('test:quota:q', 'x')
    const faults = [
      () => audit.list({ fromMs: 0, limit: 1 }),
      () => exhaust(keys.list()),
      async () => quota.decide('q', { key: 'id', cost: 1, limits }),
    ]
    for (const ask of faults) {
      const error: unknown = await ask().catch((error: unknown) => error)
      t.ok(error instanceof StoreDamaged)
      t.match(error, { message: /^in Redis, .*test:.* isn't as Tollgate writes it \(/ })
    }
  })
})

t.test('each store in a file says itself that it can’t be asked', async (t) => {
  const openFile = (t: Test) => {
    const file = join(folderOf(t), 'gateway.db')
    const database = openGatewayFile(file)
    // Only without a WAL can another program keep readers out.
    database.pragma('journal_mode = DELETE')
    database.pragma('busy_timeout = 0')
    const quota = embeddedQuotas(database)
    t.teardown(() => quota.close())
    const keys = embeddedKeys(database)
    return {
      database,
      stores: {
        keys,
        quota,
        tallies: talliesOn(embeddedCounts(database)),
        audit: auditOn(embeddedLists(database, Date.now)),
      },
    }
  }
  await t.test('that another program has locked', async (t) => {
    const { database, stores } = openFile(t)
    const other = new Database(database.name)
    t.teardown(() => other.close())
    other.exec('BEGIN EXCLUSIVE')
    await areUnavailable(t, { ...readsOf(stores), ...writesOf(stores), ...changesOf(stores) })
    other.exec('ROLLBACK')
  })
  await t.test('that is full', async (t) => {
    const { database, stores } = openFile(t)
    const big = newKey({ note: 'x'.repeat(100_000) })
    database.pragma(`max_page_count = ${String(database.pragma('page_count', { simple: true }))}`)
    await areUnavailable(t, { 'keys.add': () => stores.keys.add([big]) })
    database.pragma('max_page_count = 1000000')
    t.strictSame(await stores.keys.add([big]), {}, 'and later it works')
  })
  await t.test('that may only be read', async (t) => {
    const { database, stores } = openFile(t)
    database.pragma('query_only = ON')
    await areUnavailable(t, writesOf(stores))
    database.pragma('query_only = OFF')
  })
  await t.test('but a table that is gone is a fault, which no waiting ends', async (t) => {
    const { database, stores } = openFile(t)
    database.exec('DROP TABLE list_audit')
    const error: unknown = await stores.audit.since().catch((error: unknown) => error)
    t.match(error, { code: 'SQLITE_ERROR' })
  })
})
