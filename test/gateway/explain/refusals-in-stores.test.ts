import { join } from 'node:path'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { countIn } from '../../../gateway/front/counts/refusal-chunk.ts'
import {
  chunkSize,
  chunksKept,
  keptRefusals,
  mostFound,
  storedMs,
  type RefusalChunk,
  type RefusalStore,
} from '../../../gateway/front/counts/refusal-store.ts'
import { RecentRefusals } from '../../../gateway/front/counts/recent-refusals.ts'
import { refusalWriter } from '../../../gateway/front/counts/refusal-writer.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedRefusals } from '../../../gateway/front/stores/embedded/refusals.ts'
import { redisRefusals } from '../../../gateway/front/stores/redis/refusals.ts'
import { hashed, storedRefusals } from '../../../gateway/office/explain/stored-refusals.ts'
import { startAdmin } from '../../support/admin.ts'
import type { Found } from '../../support/explained.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { StoreUnavailable } from '../../../shared/store-errors.ts'
import { keepRefusal } from '../../support/kept-refusals.ts'
import { startRedis } from '../../support/redis.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const now = Date.UTC(2026, 10, 20, 12)

function storeInFile(t: Test): RefusalStore {
  const database = openGatewayFile(join(folderOf(t), 'gateway.db'))
  database.pragma('synchronous = OFF')
  t.teardown(() => database.close())
  return embeddedRefusals(database)
}

/** The memory of a gateway, and its way to a store. */
function memoryOver(store: Pick<RefusalStore, 'put'>, id = 'one') {
  const refusals = new RecentRefusals(0)
  const writer = refusalWriter({ refusals, store, self: () => ({ id, name: `of ${id}` }) })
  const keep = (count: number, atMs = now): void => {
    for (let i = 0; i < count; i++) {
      const number = refusals.number + 1
      keepRefusal(refusals, `${id}-${number}`, `/v1/${number}`, atMs)
    }
  }
  return { refusals, writer, keep }
}

async function sizesIn(store: RefusalStore, afterMs = 0): Promise<number[]> {
  return (await store.indexes(afterMs)).map(countIn)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

/** A question for stored answers with an id, of any gateway. */
function asked(id: string, nowMs = now) {
  return { about: hashed(id), except: [], nowMs }
}

/** The paths of stored answers with an id. */
async function pathsOf(store: RefusalStore, id: string, nowMs = now): Promise<string[]> {
  const { found } = await storedRefusals(store, asked(id, nowMs))
  return found.map(({ path }) => path)
}

t.test('a few refusals at a time share chunks, and each is there once', async (t) => {
  const store = storeInFile(t)
  const { keep, writer } = memoryOver(store)
  await writer.write()
  t.strictSame(await sizesIn(store), [])
  for (let i = 0; i < 60; i++) {
    keep(7)
    await writer.write()
    await writer.write()
  }
  t.strictSame(new Set(await sizesIn(store)), new Set([chunkSize, 60 * 7 - chunkSize]))
  for (const number of [1, chunkSize, chunkSize + 1, 420]) {
    t.strictSame(await pathsOf(store, `one-${number}`), [`/v1/${number}`])
  }
  t.strictSame(await pathsOf(store, 'one-421'), [])
})

t.test('a flood leaves the latest 20,000, and lets writing end', async (t) => {
  const store = storeInFile(t)
  let puts = 0
  const put = async (chunk: RefusalChunk): Promise<void> => {
    puts++
    keep(100)
    await store.put(chunk)
  }
  const { keep, writer, refusals } = memoryOver({ put })
  keep(60_000)
  await writer.write()
  t.ok(puts <= chunksKept, `${puts} puts`)
  await writer.write()
  const latest = refusals.number
  await writer.write()
  const kept = sum(await sizesIn(store))
  t.ok(kept >= keptRefusals && kept < keptRefusals + chunkSize, `${kept} are kept`)
  t.strictSame(await pathsOf(store, `one-${latest}`), [`/v1/${latest}`])
  const oldest = latest - keptRefusals + 1
  t.strictSame(await pathsOf(store, `one-${oldest}`), [`/v1/${oldest}`])
  t.strictSame(await pathsOf(store, `one-${oldest - chunkSize}`), [])
})

t.test('an outage loses nothing that memory keeps', async (t) => {
  const store = storeInFile(t)
  let isOut = false
  const put = (chunk: RefusalChunk): Promise<void> =>
    isOut ? Promise.reject(new StoreUnavailable('it is out')) : store.put(chunk)
  const { keep, writer } = memoryOver({ put })
  keep(10)
  await writer.write()
  isOut = true
  for (let i = 0; i < 3; i++) {
    keep(300)
    await t.rejects(writer.write(), { message: 'it is out' })
  }
  isOut = false
  await writer.write()
  t.equal(sum(await sizesIn(store)), 910)
  for (const number of [1, 11, 500, 910]) {
    t.strictSame(await pathsOf(store, `one-${number}`), [`/v1/${number}`])
  }
  isOut = true
  keep(2 * keptRefusals)
  await t.rejects(writer.write(), { message: 'it is out' })
  isOut = false
  await writer.write()
  t.ok(sum(await sizesIn(store)) < keptRefusals + chunkSize, 'and memory is bounded')
  t.strictSame(await pathsOf(store, `one-${2 * keptRefusals}`), [`/v1/${2 * keptRefusals}`])
})

t.test('a refusal is kept for a day, however few there are', async (t) => {
  const store = storeInFile(t)
  const { keep, writer } = memoryOver(store)
  const everyMs = storedMs / 4
  for (let i = 0; i < 10; i++) {
    keep(1, now + i * everyMs)
    await writer.write()
  }
  t.strictSame(await sizesIn(store), [4], 'older ones have left their chunk')
  const last = now + 9 * everyMs
  t.strictSame(await pathsOf(store, 'one-7', last), ['/v1/7'])
  t.strictSame(await pathsOf(store, 'one-7', last + everyMs), [], 'nor are they found')
  t.strictSame(await pathsOf(store, 'one-10', last + storedMs), [])
  const later = memoryOver(store, 'two')
  later.keep(1, last + storedMs)
  await later.writer.write()
  t.strictSame(await sizesIn(store), [1], 'a later gateway forgets those of former ones')
})

t.test('a file keeps the latest 20,000 of all the lives of its gateway', async (t) => {
  const store = storeInFile(t)
  for (let life = 0; life < 30; life++) {
    const { keep, writer } = memoryOver(store, `life ${life}`)
    keep(1_010, now + life)
    await writer.write()
  }
  const kept = sum(await sizesIn(store))
  t.ok(kept >= keptRefusals && kept < keptRefusals + chunkSize, `${kept} are kept`)
  t.strictSame(await pathsOf(store, 'life 29-1'), ['/v1/1'])
  t.strictSame(await pathsOf(store, 'life 9-1'), [])
})

t.test('Redis keeps chunks for a day, and those of 200 processes', async (t) => {
  const redis = await startRedis(t)
  const connection = await connectionTo(t, { url: redis.url })
  const store = redisRefusals({ connection, prefix: 'r:', timeoutMs: 2_000 })
  for (let i = 0; i < 203; i++) {
    const { keep, writer } = memoryOver(store, `p${i}`)
    keep(i === 0 ? 2 * chunkSize : 1, now + i)
    await writer.write()
  }
  t.equal((await sizesIn(store)).length, 200)
  t.strictSame(await pathsOf(store, 'p202-1'), ['/v1/1'])
  t.strictSame(await pathsOf(store, 'p0-1'), [])
  const names = await redis.client.keys('*')
  t.equal(names.length, 201, 'nothing is left of the others')
  for (const name of names) {
    const seconds = await redis.client.ttl(name)
    t.ok(seconds > 86_000 && seconds <= 86_400, `${name}: ${seconds} s`)
  }
})

t.test(
  'of many answers with one id the newest are read, and chunks of older ones aren’t',
  async (t) => {
    const store = storeInFile(t)
    for (const id of ['one', 'two']) {
      const { refusals, writer } = memoryOver(store, id)
      for (let i = 0; i < 5_000; i++) keepRefusal(refusals, 'same', `/v1/${id}/${i}`, now + i)
      await writer.write()
    }
    let reads = 0
    const answers: RefusalStore['answers'] = (index) => {
      reads++
      return store.answers(index)
    }
    const paths = await pathsOf({ ...store, answers }, 'same', now + 5_000)
    t.equal(paths.length, mostFound)
    const newest = new Set(
      Array.from({ length: mostFound / 2 }, (_, i) => 4_999 - i).flatMap((i) => [
        `/v1/one/${i}`,
        `/v1/two/${i}`,
      ]),
    )
    t.strictSame(new Set(paths), newest)
    t.ok(reads <= 4, `${reads} reads`)
  },
)

t.test('chunks that no gateway has written change nothing', async (t) => {
  const store = storeInFile(t)
  const { keep, writer } = memoryOver(store)
  keep(1)
  await writer.write()
  const [own] = await store.indexes(0)
  const stored = own && (await store.answers(own))
  if (!own || !stored) throw new Error('it was written')
  const content = JSON.parse(inflateRawSync(stored).toString()) as { answers: readonly object[] }
  const [answer = {}] = content.answers
  const saying = (more: object) => ({ ...content, answers: [{ ...answer, ...more }] })
  const odd: unknown[] = [
    null,
    [],
    { gateway: 'x' },
    { ...content, answers: 'one' },
    { ...content, answers: [null, 1, 'one', [answer], {}] },
    saying({ id: 1 }),
    saying({ atMs: 1e300 }),
    saying({ atMs: [null] }),
    saying({ status: '401' }),
    saying({ windows: { minute: { limit: 5, resetMs: 1e300 } } }),
    saying({ windows: 7 }),
    saying({ caller: 'somebody' }),
    saying({ method: 5 }),
    saying({ of: { toString: 5 } }),
  ]
  const bytes = [
    Buffer.from('nothing that inflates'),
    Buffer.alloc(0),
    deflateRawSync(Buffer.alloc(50_000_000)),
    ...odd.map((each) => deflateRawSync(JSON.stringify(each))),
  ]
  for (const [i, answers] of bytes.entries()) {
    await store.put({ ...own, by: `odd ${i}`, place: i, answers })
  }
  t.strictSame(await pathsOf(store, 'one-1'), ['/v1/1'])
  for (const reason of ['__proto__', 'constructor', 'of a later version']) {
    const answers = deflateRawSync(JSON.stringify(saying({ reason })))
    await store.put({ ...own, by: own.by, answers })
    const { found } = await storedRefusals(store, asked('one-1'))
    t.match(found, [{ reason, sentence: 'The gateway answered 401, missing_api_key.' }])
  }
})

t.test('the store tells of each answer what memory tells', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(500).end()
  })
  const { gateway, ask } = await startAdmin(t, { upstream })
  const { key, call, stores, app } = gateway
  const restricted = await key({ name: 'Ünï "quoted" …', account: 'acme', methods: ['POST'] })
  const limited = await key({ limits: { perMinute: 1, perHour: 5 } })
  const [plain, disabled] = [await key(), await key({ name: 'Off' })]
  await ask('POST', `/admin/keys/${disabled.key.id}/disable`)
  const long = `/v1/${'a/%20'.repeat(60)}`
  const all: (readonly [string, object])[] = [
    ['/v1/none', {}],
    [long, {}],
    ['/nowhere', limited.headers],
    ['/v1/restricted', restricted.headers],
    ['/v1/failed', plain.headers],
    ['/v1/limited', limited.headers],
    ['/v1/again', limited.headers],
    ['/v1/disabled', disabled.headers],
  ]
  for (const [i, [path, headers]] of all.entries()) {
    await call('GET', path, undefined, { ...headers, 'x-request-id': `id-${i}` })
  }
  await until(() => app.front.recentRefusals.count === all.length)
  await app.front.flushCounts()
  const reasons = new Set<string>()
  for (const i of all.keys()) {
    const { answers } = json(await ask('GET', `/admin/requests/id-${i}`)) as unknown as Found
    const { found } = await storedRefusals(stores.refusals, asked(`id-${i}`, Date.now()))
    t.strictSame(JSON.parse(JSON.stringify(found)), answers, `id-${i}`)
    for (const { reason } of answers) reasons.add(reason)
  }
  t.ok(reasons.size >= 6, [...reasons].join())
})
