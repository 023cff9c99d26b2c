import assert from 'node:assert/strict'
import type { CountBatch, CountLine, Counts, Lines, Space } from '../front/shelves/counts.ts'
import { promised, type Contract, type Promises } from './contract.ts'

/** Views of one store without any counts, as two gateways have it. */
export type TwoCounts = Readonly<{ first: Counts; second: Counts; close: () => Promise<void> }>

const day = 86_400_000

const byTime: Space = {
  ...{ name: 'bytime', unitMs: day, kept: 5, merge: ['sum', 'max'], readBy: 'times' },
}
const asWhole: Space = {
  ...{ name: 'aswhole', unitMs: day, kept: 5, merge: ['max', 'sum', 'sum'], readBy: 'whole' },
}
const byKey: Space = {
  ...{ name: 'bykey', unitMs: 60_000, kept: 200, merge: ['sum', 'latest', 'max'] },
  ...{ readBy: 'key', mostOfKey: 50 },
}

const now = 20_000

/** Texts with characters that stores may have between others. */
const oddTexts = [
  'a b',
  'Zoë & Söhne',
  'a;b,c=d',
  '100%25',
  '@gateway',
  '%',
  'a:b/{c}*?[d]',
  '__proto__',
  'x\0y',
  'x\ny',
  '"\'`\\',
  '1',
  'é'.repeat(1_024),
]

/** The promises of a shelf of counts, for any technology. */
export function countsContract(contract: Contract<TwoCounts>): void {
  promised(contract, promises)
}

const promises: Promises<TwoCounts> = {
  'numbers are merged as the space says, each batch once': async ({ first, second }) => {
    const lines = (numbers: number[], at = now): CountLine[] => [
      { key: 'k', part: 'p', at, numbers },
    ]
    const all = [
      [byTime, [3, 7], [4, 5], [7, 7]],
      [asWhole, [3, 7, 1], [4, 5, 0], [4, 12, 1]],
      [byKey, [3, 7, 1], [4, 5, 0], [7, 5, 1]],
    ] as const
    for (const [space, one, other, merged] of all) {
      const batch = { by: 'g1', number: 1, lines: lines([...one]) }
      await first.add(space, { by: 'g0', number: 1, lines: [] })
      await first.add(space, batch)
      await second.add(space, batch)
      await second.add(space, { by: 'g2', number: 1, lines: lines([...other]) })
      await first.add(space, { by: 'g1', number: 2, lines: lines([...one], now + 1) })
      await first.add(space, batch)
      assert.deepEqual(
        await ofKeys(second, space, ['k'], now, now + 1),
        textsOf([...lines([...merged]), ...lines([...one], now + 1)]),
        space.name,
      )
    }
  },

  'one batch may have a line more than once, and keys in any order': async ({ first }) => {
    for (const space of [byTime, asWhole, byKey]) {
      const line = (key: string, at: number, count: number): CountLine => {
        return { key, part: 'p', at, numbers: space.merge.map(() => count) }
      }
      const lines = [
        line('a', now, 1),
        line('b', now + 1, 2),
        line('a', now - 1, 4),
        line('a', now, 8),
      ]
      await first.add(space, { by: 'g', number: 1, lines })
      const model = new Model(space)
      model.add(lines)
      assert.deepEqual(await ofKeys(first, space, ['a', 'b'], now - 1, now + 1), model.texts())
    }
  },

  'keys and parts may have any characters': async ({ first, second }) => {
    for (const space of [byTime, asWhole, byKey]) {
      const lines = oddTexts.flatMap((key, i) =>
        ['', ...oddTexts].map((part, j) => {
          return { key, part, at: now, numbers: space.merge.map((_, n) => i + j * (n + 1)) }
        }),
      )
      for (let i = 0; i < lines.length; i += 50) {
        await first.add(space, { by: 'g', number: i + 1, lines: lines.slice(i, i + 50) })
      }
      const wanted = textsOf(lines)
      assert.deepEqual(await ofKeys(second, space, oddTexts, now, now), wanted)
      if (space !== byKey) assert.deepEqual(await listed(second, space, now, now), wanted)
    }
  },

  'numbers are kept exactly, as large as numbers are exact': async ({ first }) => {
    const numbers = [0, 1, 99_999_999_999_999, 100_000_000_000_000, Number.MAX_SAFE_INTEGER]
    for (const space of [byTime, asWhole, byKey]) {
      const lines = numbers.flatMap((number, i) =>
        space.merge.map((_, n) => {
          const only = space.merge.map((_, other) => (other === n ? number : 0))
          return { key: `k${i}`, part: `p${n}`, at: now, numbers: only }
        }),
      )
      await first.add(space, { by: 'g', number: 1, lines })
      const keys = numbers.map((_, i) => `k${i}`)
      assert.deepEqual(await ofKeys(first, space, keys, now, now), textsOf(lines))
    }
  },

  'a range has its ends, and nothing outside': async ({ first, second }) => {
    for (const space of [byTime, asWhole, byKey]) {
      const line = (at: number): CountLine => {
        return { key: 'k', part: '', at, numbers: space.merge.map(() => at) }
      }
      // In no order: a gateway may be late.
      const lines = [2, 0, 4, 1].map((back) => line(now - back))
      await first.add(space, { by: 'g', number: 1, lines })
      const within = (from: number, to: number): string[] =>
        textsOf(lines.filter(({ at }) => at >= from && at <= to))
      const ranges = [
        [now - 4, now],
        [now - 3, now - 1],
        [now - 3, now - 3],
        [now, now + 4],
        [now + 1, now],
      ] as const
      for (const [from, to] of ranges) {
        assert.deepEqual(await ofKeys(second, space, ['k'], from, to), within(from, to))
        if (space === byKey) continue
        assert.deepEqual(await listed(second, space, from, to), within(from, to))
      }
    }
  },

  'some keys are read without the others': async ({ first, second }) => {
    for (const space of [byTime, asWhole, byKey]) {
      const lines = Array.from({ length: 700 }, (_, i) => {
        return { key: `k${i}`, part: 'p', at: now, numbers: space.merge.map(() => i + 1) }
      })
      await first.add(space, { by: 'g', number: 1, lines })
      assert.deepEqual(await ofKeys(second, space, [], now, now), [])
      assert.deepEqual(await ofKeys(second, space, ['nobody'], now, now), [])
      assert.deepEqual(
        await ofKeys(second, space, ['k7', 'nobody', 'k699'], now - 1, now + 1),
        textsOf(lines.filter(({ key }) => key === 'k7' || key === 'k699')),
      )
      const all = lines.map(({ key }) => key)
      assert.deepEqual(await ofKeys(second, space, all, now, now), textsOf(lines))
    }
  },

  'many lines come in pieces, each once, while others are added': async ({ first, second }) => {
    for (const space of [byTime, asWhole]) {
      const lines = Array.from({ length: 3_000 }, (_, i) => {
        return {
          key: `k${i}`,
          part: i % 3 === 0 ? '' : 'p',
          at: now,
          numbers: space.merge.map(() => 1),
        }
      })
      await first.add(space, { by: 'g1', number: 1, lines })
      let [pieces, added] = [0, 0]
      const found: CountLine[] = []
      for await (const piece of second.list(space, now, now)) {
        if (piece.keys.length > 0) pieces++
        found.push(...linesOf(space, piece))
        if (pieces % 3 !== 1 || added > 20) continue
        const more = Array.from({ length: 100 }, (_, i) => `more${added}-${i}`)
        await first.add(space, {
          ...{ by: 'g1', number: 2 + added++ },
          lines: more.map((key) => ({ key, part: '', at: now, numbers: space.merge.map(() => 1) })),
        })
      }
      assert.ok(pieces > 3, `${pieces} pieces`)
      const known = found.filter(({ key }) => !key.startsWith('more'))
      assert.deepEqual(textsOf(known), textsOf(lines), 'all that were there')
      assert.equal(new Set(textsOf(found)).size, found.length, 'and none twice')
    }
  },

  'in a whole space the lines of a key stand together, and those of a time': async (counts) => {
    const { first, second } = counts
    const parts = ['b', '', 'a']
    const lines = Array.from({ length: 900 }, (_, i) => ({
      ...{ key: `k${i % 300}`, part: parts[(i % 7) % 3] ?? '', at: now - Math.floor(i / 300) },
      numbers: [i, 1, 0],
    }))
    await first.add(asWhole, { by: 'g', number: 1, lines })
    await second.add(asWhole, { by: 'h', number: 1, lines: lines.toReversed() })
    const places: string[] = []
    for await (const piece of first.list(asWhole, now - 3, now)) {
      const inPiece = linesOf(asWhole, piece)
      for (const [i, { key, part, at }] of inPiece.entries()) {
        const before = inPiece[i - 1]
        if (before?.key !== key) places.push(key)
        if (before?.key !== key || before.at !== at) places.push(`${key} ${at}`)
        else assert.notEqual(part, '', 'the part without a name comes first')
      }
    }
    assert.equal(places.length, 300 + 900)
    assert.equal(new Set(places).size, places.length)
  },

  'times that are older than is kept go, and keys that have no others': async ({ first }) => {
    for (const space of [byTime, asWhole, byKey]) {
      const line = (key: string, at: number): CountLine => {
        return { key, part: 'p', at, numbers: space.merge.map(() => 1) }
      }
      const { kept } = space
      const old = Array.from({ length: 300 }, (_, i) => line(`old${i}`, now))
      await first.add(space, {
        by: 'g',
        number: 1,
        lines: [...old, line('k', now), line('k', now + 1)],
      })
      const last = now + kept
      // Many, because a store may forget what lies beside them.
      const others = Array.from({ length: 3_000 }, (_, i) => line(`other${i}`, last))
      await first.add(space, { by: 'h', number: 1, lines: others })
      for (let number = 2; number < 20; number++) {
        const lines = [line('k', last), ...old.slice(0, 2).map(({ key }) => line(key, last))]
        await first.add(space, { by: 'g', number, lines })
      }
      const found = await ofKeys(first, space, ['k', 'old0'], now, last)
      assert.ok(found.length <= 4, 'none that is much older than is kept')
      assert.ok(
        found.some((text) => text.includes(`"at":${now + 1},`)),
        'the oldest one that is kept',
      )
      assert.ok(!found.some((text) => text.includes(`"at":${now},`)) || space === byKey)
      if (space === byKey) continue
      const left = (await listed(first, space, now, last)).map((text) => text.slice(0, 12))
      assert.equal(left.filter((text) => text.includes('old')).length, 2)
    }
  },

  'of a key, the latest lines are kept': async ({ first, second }) => {
    const line = (at: number, part = 'p'): CountLine => ({ key: 'k', part, at, numbers: [1, 1, 1] })
    for (let i = 0; i < 60; i++) {
      const lines = [line(now + 2 * i), line(now + 2 * i, 'q'), line(now + 2 * i + 1)]
      await first.add(byKey, { by: 'g', number: i + 1, lines })
    }
    const last = now + 119
    const found = await ofKeys(second, byKey, ['k'], now, last)
    const most = byKey.mostOfKey ?? 0
    assert.ok(found.length >= most && found.length < 4 * most, `${found.length} lines`)
    const latest = textsOf(Array.from({ length: 10 }, (_, i) => line(last - i)))
    assert.deepEqual(
      latest.filter((text) => !found.includes(text)),
      [],
    )
  },

  'many random batches give what a model gives': async ({ first, second }) => {
    const random = seeded(48)
    for (const space of [byTime, asWhole, { ...byKey, mostOfKey: 1_000 }]) {
      const model = new Model(space)
      const numbers = new Map<string, number>()
      for (let i = 0; i < 80; i++) {
        const by = `g${random(3)}`
        const lines = Array.from({ length: random(30) }, () => ({
          key: `k${random(6)}`,
          part: ['', 'a', 'b c', 'd=1'][random(4)] ?? '',
          at: now + random(space.kept),
          numbers: space.merge.map(() => (random(3) === 0 ? 0 : random(1_000))),
        }))
        const number = (numbers.get(by) ?? 0) + 1 + random(3)
        numbers.set(by, number)
        model.add(lines)
        const batch: CountBatch = { by, number, lines }
        for (let times = 0; times <= random(2); times++) {
          await (random(2) === 0 ? first : second).add(space, batch)
        }
      }
      const keys = Array.from({ length: 6 }, (_, i) => `k${i}`)
      const to = now + space.kept - 1
      assert.deepEqual(await ofKeys(first, space, keys, now, to), model.texts())
      if (space.readBy === 'key') continue
      assert.deepEqual(await listed(second, space, now, to), model.texts())
    }
  },
}

/** Lines as a space merges them. */
class Model {
  readonly #lines = new Map<string, CountLine>()
  readonly #space: Space

  constructor(space: Space) {
    this.#space = space
  }

  add(lines: readonly CountLine[]): void {
    for (const { key, part, at, numbers } of lines) {
      const name = JSON.stringify([key, part, at])
      const stored = this.#lines.get(name)?.numbers ?? []
      const merged = this.#space.merge.map((how, i) => {
        const [before, given] = [stored[i] ?? 0, numbers[i] ?? 0]
        if (how === 'latest') return given
        return how === 'sum' ? before + given : Math.max(before, given)
      })
      this.#lines.set(name, { key, part, at, numbers: merged })
    }
  }

  texts(): string[] {
    return textsOf([...this.#lines.values()])
  }
}

async function ofKeys(
  counts: Counts,
  space: Space,
  keys: readonly string[],
  ...range: readonly [from: number, to: number]
): Promise<string[]> {
  return textsOf(linesOf(space, await counts.of(space, keys, ...range)))
}

async function listed(
  counts: Counts,
  space: Space,
  ...range: readonly [from: number, to: number]
): Promise<string[]> {
  const all: CountLine[] = []
  for await (const piece of counts.list(space, ...range)) all.push(...linesOf(space, piece))
  return textsOf(all)
}

function linesOf({ merge }: Space, { keys, parts, ats, numbers }: Lines): CountLine[] {
  assert.equal(parts.length, keys.length)
  assert.equal(ats.length, keys.length)
  assert.equal(numbers.length, keys.length * merge.length)
  return keys.map((key, i) => ({
    ...{ key, part: parts[i] ?? '', at: ats[i] ?? 0 },
    numbers: numbers.slice(i * merge.length, (i + 1) * merge.length),
  }))
}

/** Lines as texts in an order of their own. */
function textsOf(lines: readonly CountLine[]): string[] {
  return lines
    .map(({ key, part, at, numbers }) => JSON.stringify({ key, at, part, numbers }))
    .sort()
}

/** Numbers below a limit that are the same each time. */
function seeded(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}
