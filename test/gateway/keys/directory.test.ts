import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BloomFilter } from '../../../gateway/front/keys/bloom-filter.ts'
import { KeyDirectory } from '../../../gateway/front/keys/directory.ts'
import { importKeys } from '../../../gateway/front/keys/import.ts'
import { hashOf, newKeyId, newToken } from '../../../gateway/front/keys/token.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedKeys } from '../../../gateway/front/stores/embedded/keys.ts'
import type { KeyListener } from '../../../gateway/front/keys/store.ts'
import { newKey } from '../../contracts/keys.ts'
import { until } from '../../support/until.ts'
import { plans } from '../../support/two-plans.ts'
import { folderOf } from '../../support/folder.ts'

t.test('the filter denies nothing that was added, and most of what was not', (t) => {
  const filter = new BloomFilter(20_000)
  const ids = Array.from({ length: 20_000 }, newKeyId)
  for (const id of ids) filter.add(id)
  // One that is taken for known before it comes takes no room, once in thousands.
  for (let i = 0; i < 100; i++) filter.add(newKeyId())
  t.ok(filter.isFull)
  t.ok(ids.every((id) => filter.mayHave(id)))
  let wrong = 0
  for (let i = 0; i < 100_000; i++) if (filter.mayHave(newKeyId())) wrong++
  t.comment(`${wrong} of 100,000 invented ids were taken for known`)
  t.ok(wrong < 50)
  t.end()
})

t.test('the filter is learnt from a store that was out of reach at first', async (t) => {
  const store = embeddedKeys(openGatewayFile(':memory:'))
  t.teardown(() => store.close())
  let asked = 0
  const names = store.names.bind(store)
  const late = Object.assign(store, { names: () => (++asked === 1 ? failing() : names()) })
  const directory = new KeyDirectory({ store: late, cacheSize: 10, clock: Date.now })
  t.teardown(() => directory.close())
  t.ok(directory.mayExist(newToken(newKeyId())))
  await until(() => !directory.mayExist(newToken(newKeyId())), 3_000)
  t.equal(asked, 2)
})

async function* failing(): AsyncGenerator<string[]> {
  throw new Error('out of reach')
}

t.test('what is created while the names are still being read is known too', async (t) => {
  const store = embeddedKeys(openGatewayFile(':memory:'))
  t.teardown(() => store.close())
  await store.add(Array.from({ length: 10_000 }, () => newKey()))
  const directory = new KeyDirectory({ store, cacheSize: 10, clock: Date.now })
  t.teardown(() => directory.close())
  const { key, token } = keyAndToken()
  await store.add([key])
  t.ok(directory.mayExist(newToken(newKeyId())), 'until then anything may exist')
  await until(() => !directory.mayExist(newToken(newKeyId())))
  t.ok(directory.mayExist(token))
  t.notOk(directory.mayExist(newToken(key.id)), 'an id alone is no secret')
})

t.test('a filter that is full serves until the larger one is there', async (t) => {
  const store = embeddedKeys(openGatewayFile(':memory:'))
  t.teardown(() => store.close())
  let reads = 0
  let letGo: () => void = () => undefined
  const held = new Promise<void>((resolve) => (letGo = resolve))
  const names = store.names.bind(store)
  const slow = Object.assign(store, {
    async *names() {
      if (++reads > 1) await held
      yield* names()
    },
  })
  const directory = new KeyDirectory({ store: slow, cacheSize: 10, clock: Date.now })
  t.teardown(() => directory.close())
  const isLearnt = () => !directory.mayExist(newToken(newKeyId()))
  await until(isLearnt)
  const [first] = [keyAndToken()]
  await store.add([first.key])
  for (let i = 0; i < 9_000; i++) {
    const { version = 0 } = store.get(first.key.id) ?? {}
    await store.replace({ ...first.key, name: `name ${i}` }, version)
  }
  t.equal(reads, 1, 'what is known already takes no room')
  await store.add(Array.from({ length: 9_000 }, () => newKey()))
  await until(() => reads === 2)
  const late = keyAndToken()
  await store.add([late.key])
  const known = () => [first, late].every(({ token }) => directory.mayExist(token))
  await until(known)
  t.ok(isLearnt(), 'while the names are read again')
  letGo()
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.ok(isLearnt() && known(), 'and after')
  t.equal(reads, 2)
})

t.test('names that are read from a store while it is emptied are no names of it', async (t) => {
  const store = embeddedKeys(openGatewayFile(':memory:'))
  t.teardown(() => store.close())
  const gone = keyAndToken()
  let reads = 0
  let letGo: () => void = () => undefined
  const held = new Promise<void>((resolve) => (letGo = resolve))
  let empty: () => void = () => undefined
  const watch = store.watch.bind(store)
  const emptying = Object.assign(store, {
    async *names() {
      if (++reads > 1) return
      await held
      yield gone.key.secrets.map(({ hash }) => hash)
    },
    watch(listener: KeyListener) {
      empty = () => listener.emptied?.('another')
      return watch(listener)
    },
  })
  const directory = new KeyDirectory({ store: emptying, cacheSize: 10, clock: Date.now })
  t.teardown(() => directory.close())
  empty()
  await until(() => !directory.mayExist(gone.token))
  letGo()
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.notOk(directory.mayExist(gone.token))
})

function keyAndToken() {
  const id = newKeyId()
  const token = newToken(id)
  return { key: newKey({ id, secrets: [{ hash: hashOf(token) }] }), token }
}

/** One file, as a gateway and another process have it open. */
function twoViews(t: Test) {
  const file = join(folderOf(t), 'gateway.db')
  const open = () => embeddedKeys(openGatewayFile(file))
  const [here, elsewhere] = [open(), open()]
  t.teardown(() => Promise.all([here.close(), elsewhere.close()]))
  return { file, here, elsewhere }
}

t.test(
  'what the filter denies is asked of no file, and what is new is found at once',
  async (t) => {
    const { file, here, elsewhere } = twoViews(t)
    let finds = 0
    const find = here.find.bind(here)
    const counted = Object.assign(here, {
      find: (hash: string) => {
        finds++
        return find(hash)
      },
    })
    const known = newKey()
    await here.add([known])
    const directory = new KeyDirectory({ store: counted, cacheSize: 1_000, clock: Date.now })
    t.teardown(() => directory.close())
    t.equal(directory.look(newToken(newKeyId())), 'unknown')
    t.equal(finds, 1, 'until the names are known, the file is asked')
    await until(() => !directory.mayExist(newToken(newKeyId())))
    for (let i = 0; i < 1_000; i++) directory.look(newToken(newKeyId()))
    // One in ten thousand is taken for known.
    t.ok(finds <= 3, `${finds} of 1,000 were asked for`)

    let missed = 0
    for (let i = 0; i < 200; i++) {
      const id = newKeyId()
      const tokens = [newToken(id), `imported-${id}`]
      directory.look(newToken(newKeyId()))
      await elsewhere.add([
        newKey({ id, secrets: tokens.map((token) => ({ hash: hashOf(token) })) }),
      ])
      // The next turn of the loop, in which a request with it could come at the earliest.
      await new Promise((resolve) => setImmediate(resolve))
      missed += tokens.filter((token) => directory.look(token) === 'unknown').length
    }
    t.equal(missed, 0)
    const before = finds
    t.equal(directory.look(newToken(known.id)), 'unknown')
    t.equal(finds, before, 'who knows an id is looked up no more than others')

    const foreign = [newToken(newKeyId()), newToken(newKeyId())]
    const hex = Buffer.from(hashOf(foreign[1] ?? ''), 'base64url').toString('hex')
    const text = `token,sha256,plan\n${foreign[0]},,free\n,${hex},free\n`
    await importKeys([text], { store: elsewhere, plans, nowMs: Date.now() })
    await new Promise((resolve) => setImmediate(resolve))
    const found = foreign.map((token) => directory.look(token))
    t.notOk(
      found.includes('unknown'),
      'tokens of another Tollgate, whose ids are not those of their keys',
    )

    const strange = openGatewayFile(file)
    t.teardown(() => strange.close())
    strange.exec('ALTER TABLE keys RENAME TO gone')
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(directory.look(newToken(newKeyId())), 'unavailable', 'nobody is denied unseen')
    strange.exec('ALTER TABLE gone RENAME TO keys')
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(directory.look(newToken(newKeyId())), 'unknown')
    t.ok(finds > before + 1)
    const settled = finds
    const row = strange.prepare('SELECT version FROM keys WHERE id = ?').pluck().get(known.id)
    strange
      .prepare('UPDATE keys SET record = ?, version = ? WHERE id = ?')
      .run('{', Number(row) * 2, known.id)
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(directory.look(newToken(newKeyId())), 'unknown')
    t.equal(finds, settled + 1, 'a record that can’t be read might be anybody’s')
  },
)

t.test('what was put in place of a file is heard of, however old it is', async (t) => {
  const folder = folderOf(t)
  const [older, file] = [join(folder, 'older.db'), join(folder, 'gateway.db')]
  const before = openGatewayFile(older)
  const kept = keyAndToken()
  await embeddedKeys(before, () => 1_000).add([kept.key])
  const store = embeddedKeys(openGatewayFile(file))
  t.teardown(() => store.close())
  await store.add([newKey()])
  const directory = new KeyDirectory({ store, cacheSize: 10, clock: Date.now })
  t.teardown(() => directory.close())
  await until(() => !directory.mayExist(newToken(newKeyId())))
  t.notOk(directory.mayExist(kept.token))
  await before.backup(file)
  before.close()
  await until(() => directory.mayExist(kept.token), 1_000)
})

t.test(
  'many changes are read a piece a turn, however often is asked whether all are',
  async (t) => {
    const { here, elsewhere } = twoViews(t)
    let pieces = 0
    const watch = here.watch({ changed: () => pieces++ })
    t.teardown(() => watch.close())
    await elsewhere.add(Array.from({ length: 20_000 }, () => newKey()))
    let most = 0
    for (let before = pieces; !watch.isUpToDate?.(); before = pieces) {
      most = Math.max(most, pieces - before)
      await new Promise((resolve) => setImmediate(resolve))
    }
    t.ok(pieces >= 10)
    // One by itself, and one when the time to look has come.
    t.ok(most <= 3, `${most} in one turn`)
  },
)
