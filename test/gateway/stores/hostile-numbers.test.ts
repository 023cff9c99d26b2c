import t from 'tap'
import type { StoredKey } from '../../../gateway/front/keys/key.ts'
import { mostBytes } from '../../../gateway/front/shelves/documents.ts'
import { countSpaces } from '../../../gateway/front/stores/records.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { redisCounts } from '../../../gateway/front/stores/redis/counts.ts'
import { redisDocuments } from '../../../gateway/front/stores/redis/documents.ts'
import { ledgerOn } from '../../../gateway/front/records/ledger-store.ts'
import { watchBans } from '../../../gateway/front/stores/redis/watch-bans.ts'
import { progressFrom } from '../../../gateway/front/swaps/progress.ts'
import { newKey } from '../../contracts/keys.ts'
import { storeAt } from '../../support/filled-store.ts'
import { startRedis } from '../../support/redis.ts'
import { bound } from '../../support/promises.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'

// Whoever may use a Redis may write any number to it.

const { client: redis, url } = await startRedis(t)

t.test('a day of the ledger that says it has a million billion chunks is read', async (t) => {
  const documents = redisDocuments({ connection: redis, prefix: 'l:', timeoutMs: 5_000 })
  const ledger = ledgerOn(documents)
  const texts = ['one', '', 'x'.repeat(mostBytes), 'y'.repeat(2.5 * mostBytes)]
  const chunks = texts.map((text) => Buffer.from(text))
  await ledger.close({ day: 20_000, chunks })
  const closed = await documents.get('ledger:20000', 'closed')
  const text = String(closed?.body).replace(/4$/, '1e15')
  await documents.put('ledger:20000', 'closed', text, { keptMs: 60_000 })
  t.strictSame(await ledger.chunks(20_000), chunks)
})

/** Texts in place of counts, with everything that the scripts and the reader look for where it doesn't belong. */
function* oddTexts(newest: number): Generator<string> {
  const heads = [
    newest,
    newest + 5,
    0,
    -3,
    '9'.repeat(400),
    '1e15',
    9_007_199_254_740_991,
    'nan',
    'inf',
  ]
  const tails = [
    ...[
      '',
      ';',
      ';;;',
      '5',
      ';5 6',
      ';5 6 7 8 9 10 11',
      ';a',
      ';5a6',
      ';nan,x=inf',
      ';-5,x=-6',
      ';1.5,x=2.5',
    ],
    ...[
      ',',
      ';,',
      ';,=',
      ';,x',
      ';,x=',
      ';,x=,x=1,x=2',
      ';,x=1;,',
      ';%',
      ';,%zz=1',
      ';,%=1',
      ';= = =',
    ],
    ...[`;${'9'.repeat(400)},x=${'9'.repeat(400)}`, ';'.repeat(70_000), ',x=1'.repeat(20_000)],
    ...[`;1${' 2'.repeat(20_000)}`, '\0;\0', '\n;\n5', ';5,\0=1', `;,${'x'.repeat(20_000)}`],
  ]
  for (const head of heads) yield `${head};5,x=6`
  for (const tail of tails) yield `${newest}${tail}`
  yield* ['', 'text', '{}', '1', '@', '20000 20000']
}

t.test('counts are read, and counted on, whatever is in their place', async (t) => {
  const counts = redisCounts({ connection: redis, prefix: 'c:', timeoutMs: 5_000 })
  const at = 20_000
  for (const space of countSpaces) {
    const numbers = space.merge.map(() => 1)
    const line = (key: string, part = 'x') => ({ key, part, at, numbers })
    await counts.add(space, { by: 'g', number: 1, lines: [line('odd'), line('sound')] })
    const hashes = await redis.keys(`c:{count:${space.name}:*}`)
    const placesOf = async (hash: string) =>
      (await redis.hkeys(hash)).map((field) => [hash, field] as const)
    const places = (await Promise.all(hashes.map(placesOf))).flat()
    t.ok(places.length > 1, `${places.length} fields of ${space.name}`)
    let number = 1
    for (const text of oddTexts(at)) {
      for (const place of places) await redis.hset(...place, text)
      const began = performance.now()
      const pieces = [await counts.of(space, ['odd', 'sound'], at - 90, at + 90)]
      if (space.readBy !== 'key') {
        for await (const lines of counts.list(space, at - 90, at + 90)) pieces.push(lines)
      }
      const add = { by: 'h', number: ++number, lines: [line('odd'), line('odd', ''), line('new')] }
      await counts.add(space, add)
      const ms = performance.now() - began
      if (ms > bound(3_000)) t.fail(`${text.slice(0, 40)} takes ${ms} ms`)
      for (const { keys, parts, ats, numbers } of pieces) {
        const isWhole = [...ats, ...numbers].every((one) => Number.isSafeInteger(one))
        const isEven = keys.length * space.merge.length === numbers.length
        if (!isWhole || !isEven || parts.length !== keys.length) t.fail(text.slice(0, 40))
      }
      const { keys } = await counts.of(space, ['new'], at, at)
      if (keys.length !== 1) t.fail(`nothing is counted beside ${text.slice(0, 40)}`)
      for (const hash of hashes) await redis.hdel(hash, 'new', '@h', ';')
      const ofNew = await redis.keys(`c:{count:${space.name}:new}`)
      if (ofNew.length > 0) await redis.del(ofNew)
    }
    for (const [hash] of places) await redis.del(hash)
    await counts.add(space, { by: 'h', number: 1_000_000, lines: [line('odd')] })
    t.strictSame((await counts.of(space, ['odd'], at, at)).numbers, numbers, 'and then as ever')
  }
})

t.test('a lift of bans is heard of after any number in place of the latest one', async (t) => {
  for (const odd of ['9e15', '1e300', '-1', 'text']) {
    await redis.set('lifts', odd)
    let lifts = 0
    const banned = (): void => undefined
    const forgiven = (): void => void lifts++
    const names = { lifts: 'lifts', channel: 'lifts:told' }
    const end = watchBans(redis, names, { banned, forgiven })
    t.teardown(end)
    await pause(600)
    t.equal(lifts, 0, `${odd} was there before`)
    await redis.set('lifts', Date.now() * 1_000)
    await until(() => lifts > 0)
    await redis.set('lifts', odd)
    await pause(600)
    const before = lifts
    await redis.set('lifts', Date.now() * 1_000 + 1)
    await until(() => lifts > before)
    end()
  }
})

t.test('a change of a key is heard of after any number in place of the version', async (t) => {
  const [one, other] = [await openStores(storeAt({ url })), await openStores(storeAt({ url }))]
  t.teardown(() => Promise.all([one.close(), other.close()]))
  await Promise.all([one.ready(), other.ready()])
  const key = newKey({ name: 'Before' })
  await one.keys.add([key])
  const place = 'test:{keys}:version'
  const version = String(await redis.get(place))
  const heard = new Set<string>()
  const changed = (keys: readonly StoredKey[]): void =>
    keys.forEach(({ key }) => heard.add(key.name))
  const change = async (name: string): Promise<void> => {
    const stored = await one.keys.get(key.id)
    await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    t.ok(await one.keys.replace({ ...key, name }, stored?.version ?? 0))
    await until(() => heard.has(name), 2_000)
  }
  for (const odd of ['9e15', '1e300', '-1', 'text']) {
    await redis.set(place, odd)
    const watch = other.keys.watch({ changed })
    t.teardown(() => watch.close())
    await until(() => watch.isMet === true)
    await redis.set(place, version)
    await pause(600)
    await change(`After ${odd}`)
    await redis.zadd('test:{keys}:versions', odd === 'text' ? 'inf' : odd, 'nobody')
    await pause(600)
    await change(`After a score of ${odd}`)
    await redis.zrem('test:{keys}:versions', 'nobody')
    watch.close()
  }
})

t.test('changes that follow another program’s version are heard of', async (t) => {
  for (const odd of ['9e15', '1e300', '-1']) {
    const settings = storeAt({ url }, `${odd}:`)
    const [one, other] = [await openStores(settings), await openStores(settings)]
    t.teardown(() => Promise.all([one.close(), other.close()]))
    await Promise.all([one.ready(), other.ready()])
    const key = newKey({ name: 'Before' })
    await one.keys.add([key])
    const heard = new Set<string>()
    const watch = other.keys.watch({
      changed: (keys) => keys.forEach(({ key }) => heard.add(key.name)),
    })
    t.teardown(() => watch.close())
    await until(() => watch.isMet === true)
    await redis.set(`${odd}:{keys}:version`, odd)
    await pause(600)
    await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    const stored = await one.keys.get(key.id)
    t.ok(await one.keys.replace({ ...key, name: 'Changed' }, stored?.version ?? 0))
    await one.keys.add([newKey({ name: 'Added' })])
    await until(() => heard.has('Changed') && heard.has('Added'), 2_000)
    t.pass(odd)
  }
})

t.test('a progress of a swap with members of other types counts as damaged', (t) => {
  const before = { requests: 1, failures: 0, p95Ms: 2.5 }
  const progress = {
    ...{ state: 'moving', step: 0, from: -1, isPaused: false, sinceMs: 1_900_000_000_000 },
    ...{ round: 1, by: 'edge-1', why: 'it failed', before },
  }
  t.strictSame(progressFrom(JSON.stringify(progress)), progress)
  const unmeasured = { ...progress, before: { ...before, p95Ms: null } }
  t.strictSame(progressFrom(JSON.stringify(unmeasured)), unmeasured)
  for (const odd of [null, true, -2, 1e300, 'text', [], {}, { toString: 1 }]) {
    const isText = typeof odd === 'string'
    const places = Object.keys(progress).filter((name) => !isText || !/^(?:by|why)$/.test(name))
    const spoilt: object[] = places.flatMap((name) =>
      name === 'isPaused' && odd === true ? [] : { ...progress, [name]: odd },
    )
    for (const name of Object.keys(before)) {
      if (name === 'p95Ms' && (odd === null || odd === 1e300)) continue
      spoilt.push({ ...progress, before: { ...before, [name]: odd } })
    }
    for (const each of spoilt)
      t.equal(progressFrom(JSON.stringify(each)), undefined, JSON.stringify(each))
  }
  const never = { ...progress, sinceMs: 8.64e15 + 1 }
  t.equal(progressFrom(JSON.stringify(never)), undefined, 'no date has this time')
  t.end()
})
