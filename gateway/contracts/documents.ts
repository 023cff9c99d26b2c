import assert from 'node:assert/strict'
import { mostBytes, rememberedMs, type Documents } from '../front/shelves/documents.ts'
import { promised, type Contract, type Promises } from './contract.ts'

/** Views of one store without any documents, as two gateways have it, by a clock that a test moves. */
export type TwoDocuments = Readonly<{
  first: Documents
  second: Documents
  setTime: (ms: number) => void
  close: () => Promise<void>
}>

const now = 1_900_000_000_000
const keptMs = 10_000

/** Names with characters that stores may have between others. */
const oddNames = ['a b', 'Zoë', '{a}:b', '}', '%25', '*?[d]', '__proto__', 'x\0y', '\n', '', '1']

/** The promises of a shelf of documents, for any technology. */
export function documentsContract({ test, open }: Contract<TwoDocuments>): void {
  const opened = async (): Promise<TwoDocuments> => {
    const documents = await open()
    documents.setTime(now)
    return documents
  }
  promised({ test, open: opened }, promises)
}

const promises: Promises<TwoDocuments> = {
  'a document is read as it was put, by whoever asks': async ({ first, second }) => {
    assert.deepEqual(await first.list('f'), { nowMs: now, documents: [] })
    assert.equal(await first.get('f', 'a'), undefined)
    const bytes = Buffer.from([0, 10, 13, 32, 128, 255, 10])
    assert.equal(await first.put('f', 'a', bytes, { keptMs }), true)
    const { name, version, untilMs, body } = (await second.get('f', 'a')) ?? {}
    assert.deepEqual([name, version, untilMs, body], ['a', 1, now + keptMs, bytes])
    assert.equal(await second.put('f', 'b', 'Zoë\n', { keptMs }), true)
    const { documents } = await first.list('f')
    assert.deepEqual(documents.map(({ name, body }) => `${name} ${String(body)}`).sort(), [
      `a ${String(bytes)}`,
      'b Zoë\n',
    ])
    assert.equal(await first.get('other', 'a'), undefined)
  },

  'names are any texts': async ({ first, second }) => {
    for (const folder of oddNames) {
      for (const name of oddNames) await first.put(folder, name, `${folder} ${name}`, { keptMs })
    }
    for (const folder of oddNames) {
      const { documents } = await second.list(folder)
      assert.deepEqual(documents.map(({ name }) => name).sort(), [...oddNames].sort())
      for (const name of oddNames) {
        assert.equal(String((await second.get(folder, name))?.body), `${folder} ${name}`)
      }
    }
  },

  'one of several that compare is first': async ({ first, second }) => {
    const race = (version: number) =>
      Promise.all(
        [first, second, first].map((view, i) => view.put('f', 'a', `${i}`, { keptMs, version })),
      )
    for (const version of [0, 1, 2]) {
      assert.deepEqual((await race(version)).sort(), [false, false, true])
      assert.equal((await second.get('f', 'a'))?.version, version + 1)
    }
    for (const version of [0, 1, 2, 4]) {
      assert.equal(await second.put('f', 'a', 'late', { keptMs, version }), false, `${version}`)
    }
    assert.equal(await first.put('f', 'none', 'x', { keptMs, version: 1 }), false)
    assert.equal(await first.get('f', 'none'), undefined)
    assert.equal(await second.put('f', 'a', 'any', { keptMs }), true)
    assert.equal((await first.get('f', 'a'))?.version, 4, 'one that doesn’t compare counts as well')
  },

  'a document ends by the store’s clock': async ({ first, second, setTime }) => {
    await first.put('f', 'short', 'x', { keptMs })
    await first.put('f', 'long', 'y', { keptMs: 9 * rememberedMs })
    setTime(now + keptMs - 1)
    assert.ok(await second.get('f', 'short'))
    setTime(now + keptMs)
    assert.equal(await second.get('f', 'short'), undefined)
    assert.deepEqual(
      (await first.list('f')).documents.map(({ name }) => name),
      ['long'],
    )
    assert.equal(await second.take('f', 'short'), undefined)
    await first.put('f', 'short', 'x', { keptMs })
    setTime(now + 2 * keptMs)
    assert.equal(await second.put('f', 'short', 'z', { keptMs, version: 1 }), false, 'it has ended')
    assert.equal(await second.put('f', 'short', 'z', { keptMs, version: 0 }), true)
    assert.equal((await first.get('f', 'short'))?.version, 2, 'whoever had the former sees it')
    assert.equal(await first.put('f', 'short', '', { keptMs: 0, version: 2 }), true)
    assert.equal(await first.get('f', 'short'), undefined, 'ended at once')
    setTime(now + 4 * rememberedMs)
    await first.put('f', 'other', 'x', { keptMs })
    await first.list('f')
    await first.put('f', 'short', 'z', { keptMs })
    assert.equal((await first.get('f', 'short'))?.version, 1, 'the former is forgotten')
  },

  'a document is put off': async ({ first, second, setTime }) => {
    await first.put('f', 'a', 'x', { keptMs })
    await second.put('f', 'a', 'x', { keptMs: 2 * keptMs })
    setTime(now + keptMs)
    assert.equal((await first.get('f', 'a'))?.untilMs, now + 2 * keptMs)
    await second.put('f', 'a', 'x', { keptMs: 1 })
    setTime(now + keptMs + 1)
    assert.equal(await first.get('f', 'a'), undefined, 'or ends sooner')
  },

  'a document is taken once': async ({ first, second }) => {
    await first.put('f', 'ticket', 'x', { keptMs })
    await first.put('f', 'other', 'y', { keptMs })
    const taken = await Promise.all(
      [first, second, first, second].map((view) => view.take('f', 'ticket')),
    )
    assert.deepEqual(
      taken.filter((each) => each !== undefined).map(({ body }) => String(body)),
      ['x'],
    )
    assert.equal(await second.get('f', 'ticket'), undefined)
    assert.ok(await second.get('f', 'other'))
  },

  'a large document is read whole': async ({ first, second }) => {
    const body = Buffer.alloc(mostBytes, 'x\0ÿ')
    await first.put('f', 'large', body, { keptMs })
    assert.ok(body.equals((await second.get('f', 'large'))?.body ?? Buffer.alloc(0)))
  },
}
