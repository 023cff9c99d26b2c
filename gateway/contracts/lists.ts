import assert from 'node:assert/strict'
import { promised, type Contract, type Promises } from './contract.ts'
import { listStart, type Entry, type List, type Lists } from '../front/shelves/lists.ts'

/** Views of one store without any lists, as two gateways have it, by a clock that a test moves. */
export type TwoLists = Readonly<{
  first: Lists
  second: Lists
  setTime: (ms: number) => void
  close: () => Promise<void>
}>

const now = 1_900_000_000_000
const keptMs = 10_000

const log: List = { name: 'log', most: 3_000, outlivesPowerCut: true }
const short: List = { name: 'short', most: 20, outlivesPowerCut: false }
const brief: List = { name: 'brief', most: 3_000, keptMs, outlivesPowerCut: false }

/** The most entries that a store may keep beyond `most`. */
const slack = 200

/** Texts with characters that stores may have between others. */
const oddTexts = ['a b', 'Zoë', '{a}:b', '%25', '*?[d]', '__proto__', 'x\0y', '\n', '1', '\'"`\\']

/** The promises of a shelf of lists, for any technology. */
export function listsContract({ test, open }: Contract<TwoLists>): void {
  const opened = async (): Promise<TwoLists> => {
    const lists = await open()
    lists.setTime(now)
    return lists
  }
  promised({ test, open: opened }, promises)
}

const promises: Promises<TwoLists> = {
  'entries are read in their order, whoever added them': async ({ first, second }) => {
    assert.deepEqual(await first.since(log, listStart), { entries: [], cursor: listStart })
    assert.deepEqual(await backIn(first, log), [])
    await first.add(log, [entry('a'), entry('b', 'k')])
    await second.add(log, [entry('c', 'k')])
    await first.add(log, [entry('d', 'l')])
    assert.deepEqual(await sinceIn(second, log), ['a', 'k b', 'k c', 'l d'])
    assert.deepEqual(await backIn(first, log), ['l d', 'k c', 'k b', 'a'])
    assert.deepEqual(await backIn(second, log, 'k'), ['k c', 'k b'])
    assert.deepEqual(await backIn(second, log, 'x'), [])
    assert.deepEqual(await sinceIn(first, short), [], 'another list is another one')
    await first.add(log, [])
    assert.equal((await sinceIn(second, log)).length, 4)
  },

  'a reader goes on from where it was': async ({ first, second }) => {
    const none = await first.since(log)
    assert.deepEqual(none.entries, [])
    await second.add(log, [entry('a'), entry('b')])
    const { entries, cursor } = await first.since(log, none.cursor)
    assert.deepEqual(entries.map(textOf), ['a', 'b'])
    assert.deepEqual(await second.since(log, cursor), { entries: [], cursor })
    assert.equal((await second.since(log)).cursor, cursor, 'the current end')
    await second.add(log, [entry('c')])
    assert.deepEqual(await sinceIn(second, log, none.cursor), ['a', 'b', 'c'])
    assert.deepEqual(await sinceIn(first, log, cursor), ['c'])
  },

  'keys and entries are any texts': async ({ first, second }) => {
    for (const text of oddTexts) await first.add(log, [entry(text, text)])
    const all = oddTexts.map((text) => `${text} ${text}`)
    assert.deepEqual(await sinceIn(second, log), all)
    for (const text of oddTexts) {
      assert.deepEqual(await backIn(second, log, text), [`${text} ${text}`])
    }
    await first.add(log, [entry('', 'é'.repeat(1_024))])
    assert.deepEqual(await backIn(second, log, 'é'.repeat(1_024)), ['é'.repeat(1_024) + ' '])
    const large = 'x'.repeat(100_000)
    await first.add(log, [entry(large)])
    assert.equal((await backIn(second, log))[0], large)
  },

  'more entries than are read at a time are read each once': async ({ first, second }) => {
    const texts = Array.from({ length: 2_600 }, (_, i) => ({ key: `k${i % 2}`, body: `${i}` }))
    for (let start = 0; start < texts.length; start += 130) {
      await (start % 260 ? first : second).add(log, texts.slice(start, start + 130))
    }
    const all = texts.map(({ key, body }) => `${key} ${body}`)
    assert.deepEqual(await sinceIn(first, log), all)
    assert.deepEqual(await backIn(second, log), [...all].reverse())
    const ofOne = all.filter((text) => text.startsWith('k1')).reverse()
    assert.deepEqual(await backIn(first, log, 'k1'), ofOne)
  },

  'entries that are added at once are each there': async ({ first, second }) => {
    const views = [first, second, first, second]
    const adding = views.map((view, i) => view.add(log, [entry('a', `${i}`), entry(`${i}`)]))
    await Promise.all(adding)
    const found = await sinceIn(second, log)
    assert.equal(found.length, 8)
    for (const i of views.keys()) {
      assert.equal(found.indexOf(`${i}`), found.indexOf(`${i} a`) + 1, 'one behind the other')
    }
  },

  'the oldest go if there are too many': async ({ first, second }) => {
    const bodies = Array.from({ length: 1_000 }, (_, i) => ({ key: 'k', body: `${i}` }))
    for (let start = 0; start < bodies.length; start += 50) {
      await first.add(short, bodies.slice(start, start + 50))
    }
    const all = bodies.map(({ body }) => `k ${body}`).reverse()
    for (const left of [await backIn(second, short), await backIn(second, short, 'k')]) {
      assert.deepEqual(left, all.slice(0, left.length), 'the newest are there')
      const isEnough = left.length >= short.most && left.length <= short.most + slack
      assert.ok(isEnough, `${left.length} of them`)
    }
    const { cursor } = await second.since(short, listStart)
    assert.deepEqual((await second.since(short, cursor)).entries, [])
  },

  'old entries go with later ones': async ({ first, second, setTime }) => {
    await first.add(brief, [entry('a', 'k')])
    setTime(now + keptMs - 1)
    await second.add(brief, [entry('b', 'k')])
    assert.deepEqual(await sinceIn(first, brief), ['k a', 'k b'])
    setTime(now + 2 * keptMs - 2)
    await first.add(brief, [entry('c', 'k')])
    assert.deepEqual(await sinceIn(first, brief), ['k b', 'k c'])
    assert.deepEqual(await backIn(second, brief, 'k'), ['k c', 'k b'])
  },

  'entries up to a cursor are removed': async ({ first, second }) => {
    await first.add(log, [entry('a', 'k'), entry('b')])
    const { cursor } = await first.since(log)
    await second.add(log, [entry('c', 'k'), entry('d')])
    await first.add(brief, [entry('other')])
    await second.forget(log, listStart)
    assert.equal((await sinceIn(first, log)).length, 4)
    await second.forget(log, cursor)
    assert.deepEqual(await sinceIn(first, log), ['k c', 'd'])
    assert.deepEqual(await backIn(first, log, 'k'), ['k c'])
    const end = (await first.since(log)).cursor
    await first.forget(log, end)
    assert.deepEqual(await sinceIn(second, log), [])
    await second.add(log, [entry('e', 'k')])
    assert.deepEqual(await sinceIn(first, log, end), ['k e'], 'a cursor stays good')
    assert.deepEqual(await sinceIn(first, log, cursor), ['k e'], 'as older ones do')
    assert.deepEqual(await backIn(second, log), ['k e'])
    assert.deepEqual(await sinceIn(first, brief), ['other'])
  },
}

function entry(body: string, key = ''): Entry {
  return { key, body }
}

function textOf({ key, body }: Entry): string {
  return key === '' ? body : `${key} ${body}`
}

/** All entries since a cursor, which are read until none is left. */
async function sinceIn(lists: Lists, list: List, from = listStart): Promise<string[]> {
  const found: string[] = []
  for (let cursor = from; ;) {
    const { entries, cursor: next } = await lists.since(list, cursor)
    if (entries.length === 0) return found
    found.push(...entries.map(textOf))
    cursor = next
  }
}

async function backIn(lists: Lists, list: List, key?: string): Promise<string[]> {
  const found: string[] = []
  for await (const some of lists.back(list, key)) found.push(...some.map(textOf))
  return found
}
