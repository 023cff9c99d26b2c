import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Key } from '../../../gateway/front/keys/key.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedKeys } from '../../../gateway/front/stores/embedded/keys.ts'
import { newKey, pagesOf } from '../../contracts/keys.ts'
import { keyViews } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'
import { seeded } from '../../support/seeded.ts'
import { folderOf } from '../../support/folder.ts'

const { url, client } = await startRedis(t)
const name = (what: string): string => `test:{keys}:${what}`

t.test('each key is on a page, whatever changes and whatever lines are lost', async (t) => {
  const keys = new Map<string, Key>()
  const made = (name: string): Key => {
    const key = newKey({ name })
    keys.set(key.id, key)
    return key
  }
  const { first, second } = await keyViews(t, { url }, 'test:')
  await first.add(Array.from({ length: 600 }, (_, i) => made(`before ${i}`)))
  const steady = made('Steady')
  await first.add([steady])
  const sameAsModel = async (what: string): Promise<void> => {
    const found = await pagesOf(second, { all: true }, { limit: 100 })
    const expected = [...keys.values()].map((key) => JSON.stringify(key)).sort()
    if (!isDeepStrictEqual(found.map((key) => JSON.stringify(key)).sort(), expected)) t.fail(what)
  }
  await sameAsModel('keys are found at once')
  let isOver = false
  let looks = 0
  const looking = (async () => {
    for (; !isOver; looks++) {
      const { keys } = await second.page({ filter: { search: 'steady' }, limit: 5, nowMs: 0 })
      if (keys.length !== 1 || keys[0]?.id !== steady.id) t.fail(`look ${looks}: ${keys.length}`)
    }
  })()
  const replace = async (key: Key): Promise<void> => {
    keys.set(key.id, key)
    const { version = 0 } = (await first.get(key.id)) ?? {}
    if (!(await first.replace(key, version))) throw new Error('changed by another')
  }
  const random = seeded(7)
  for (let step = 0; step < 400; step++) {
    const some = [...keys.values()][random(keys.size)] ?? steady
    const name = some.id === steady.id ? 'Steady' : `renamed ${random(50)}`
    const what = random(6)
    if (what === 0) await first.add([made(`added ${step}`)])
    else if (what === 1) await replace({ ...some, name })
    else if (what === 2) await replace({ ...some, secrets: [{ hash: `s${step}` }] })
    else if (what === 3) await replace({ ...some, disabled: !some.disabled })
    else if (what === 4 && some.id !== steady.id) await replace({ ...some, revokedAtMs: 1 })
    else if (what === 5) await loseLines(random(5))
    if (step % 20 === 19) await sameAsModel(`after step ${step}`)
  }
  isOver = true
  await looking
  t.ok(looks > 20, `a key that changes was found by each of ${looks} looks`)
  await client.del(name('lines'))
  await sameAsModel('and without an index')
  t.equal(await client.zcard(name('lines')), keys.size, 'no other line stays')
})

/** Loses lines as a store does that has lost its last writes. */
async function loseLines(count: number): Promise<void> {
  const lost = await client.zrandmember(name('lines'), count)
  const kept = lost.filter((line) => !line.startsWith('steady'))
  if (kept.length > 0) await client.zrem(name('lines'), ...kept)
}

t.test('what is written to a file behind its gateway is on the pages', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const before = openGatewayFile(file)
  t.teardown(() => before.close())
  const insert = before.prepare('INSERT INTO keys VALUES (?, ?, ?)')
  const update = before.prepare('UPDATE keys SET version = ?, record = ? WHERE id = ?')
  const keys = Array.from({ length: 700 }, (_, i) => newKey({ name: `Key ${i}` }))
  for (const [i, key] of keys.entries()) insert.run(key.id, i + 1, JSON.stringify(key))
  const store = embeddedKeys(openGatewayFile(file))
  t.teardown(() => store.close())
  const names = async () => (await pagesOf(store, {}, { limit: 100 })).map(({ name }) => name)
  const sorted = () => keys.map(({ name }) => name).sort()
  t.strictSame((await names()).map((name) => `K${name.slice(1)}`).sort(), sorted())
  const [one = newKey(), two = newKey(), gone = newKey()] = keys
  const change = (key: Key, name: string) => {
    keys[keys.findIndex(({ id }) => id === key.id)] = { ...key, name }
    update.run(Date.now() * 1_000 + keys.length, JSON.stringify({ ...key, name }), key.id)
  }
  change(one, 'Another')
  const late = newKey({ name: 'Late' })
  keys.push(late)
  insert.run(late.id, Date.now() * 1_000 + 9_000_000, JSON.stringify(late))
  t.strictSame((await names()).sort(), sorted())
  const { version = 0 } = store.get(two.id) ?? {}
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
