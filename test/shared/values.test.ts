import fc from 'fast-check'
import t from 'tap'
import { withCommas } from '../../shared/commas.ts'
import { sortedBy } from '../../shared/in-order.ts'
import { int64From } from '../../shared/int64.ts'
import { parseJsonObject } from '../../shared/json.ts'
import { nearest } from '../../shared/near.ts'
import { durationFrom, instantFrom, sizeFrom } from '../../shared/units.ts'
import { seeded } from '../support/seeded.ts'

t.test('int64', (t) => {
  for (const text of [
    '0',
    '-1',
    '9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
  ]) {
    t.equal(int64From(text), BigInt(text), `${text} is an int64, digit for digit`)
  }
  for (const text of [
    '9223372036854775808',
    '-9223372036854775809',
    '5.0',
    '1e3',
    '05',
    '+5',
    ' 5',
  ]) {
    t.equal(int64From(text), undefined, `${text} is none`)
  }
  for (const text of ['', '-', '٥', '0x5', 'true', '9'.repeat(100_000)]) {
    t.equal(int64From(text), undefined, `${text.slice(0, 20)} is none`)
  }
  t.end()
})

t.test('JSON objects', (t) => {
  t.test('are what JSON.parse says, but for whole numbers, which are exact', (t) => {
    const exact = (value: unknown): unknown =>
      typeof value === 'number' && Number.isInteger(value) && int64From(String(value)) !== undefined
        ? BigInt(String(value))
        : value
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (object, indent) => {
        const text = JSON.stringify(object, null, indent)
        // V8 13.6 takes a member named " for one named \, once it has read one of that name.
        fc.pre(!text.includes('"\\\\"'))
        const parsed = JSON.parse(text) as Record<string, unknown>
        const { members, source } = parseJsonObject(text)
        const names = Object.keys(parsed)
        return (
          names.length === source.size &&
          names.every((name) => {
            const [given, expected] = [members[name], exact(parsed[name])]
            const same = fc.stringify(given) === fc.stringify(expected)
            return (
              same &&
              fc.stringify(JSON.parse(source.get(name) ?? '')) === fc.stringify(parsed[name])
            )
          })
        )
      }),
      { numRuns: 500 },
    )
    t.end()
  })
  t.test('keep the digits that a number of JavaScript would lose', (t) => {
    const { members } = parseJsonObject(
      '{"a":9007199254740993,"b":[1],"c":{"a":2},"d":5.0,"e":"5"}',
    )
    t.equal(members['a'], 9007199254740993n)
    t.equal(members['d'], 5)
    t.equal(members['e'], '5')
    t.end()
  })
  t.test('say what is wrong with them', (t) => {
    t.throws(() => parseJsonObject('{"a":1,"a":2}'), { message: 'The body names "a" twice.' })
    t.throws(() => parseJsonObject('{"a":1,"\\u0061":2}'), { message: 'The body names "a" twice.' })
    t.throws(() => parseJsonObject('[1]'), { message: 'The body must be a JSON object.' })
    t.throws(() => parseJsonObject('{"a":}'), { message: 'The body is not valid JSON.' })
    t.end()
  })
  t.test('of hostile shapes end in no time and change no prototype', (t) => {
    const members = parseJsonObject('{"__proto__":{"name":"x"},"constructor":5}').members
    t.equal(members['name'], undefined)
    t.equal(Reflect.getPrototypeOf(members), Object.prototype)
    const deep = (levels: number) => `{"a":${'[{"b":'.repeat(levels)}1${'}]'.repeat(levels)}}`
    t.equal(parseJsonObject(deep(15)).source.get('a')?.length, 15 * 8 + 1)
    const tooDeep = { message: 'The body has more than 32 levels of objects and lists.' }
    t.throws(() => parseJsonObject(deep(16)), tooDeep)
    t.throws(() => parseJsonObject('{"a":'.repeat(100_000)), tooDeep)
    t.throws(() => parseJsonObject('['.repeat(33)), tooDeep)
    const wide = `{"a":[${'[],'.repeat(1_000)}[]],"b":"${'['.repeat(99)}\\"${'['.repeat(99)}"}`
    t.equal(parseJsonObject(wide).source.size, 2, 'brackets beside one another, or in a text')
    for (const cut of [
      '{"a',
      '{"a\\',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      ':',
      '{:1}',
      ']}',
      '{"a":1}}',
    ]) {
      t.throws(() => parseJsonObject(cut), { message: 'The body is not valid JSON.' }, cut)
    }
    const escapes = `{"a":"${'\\n'.repeat(500_000)}"}`
    t.equal(String(parseJsonObject(escapes).members['a']).length, 500_000)
    t.equal(parseJsonObject(`{"a":${'9'.repeat(1_000_000)}}`).members['a'], Infinity)
    t.end()
  })
  t.end()
})

t.test('sorting bit by bit gives what sorting at once gives, while the loop runs', async (t) => {
  const random = seeded(3)
  for (const count of [0, 1, 2, 1_999, 2_000, 2_001, 10_007]) {
    for (const tail of [0, 1, 50, count]) {
      const items = Array.from({ length: count }, () => ({ name: String(random(1_000_000)) }))
      const order = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
      const head = items.slice(0, Math.max(0, count - tail)).sort(order)
      const given = [...head, ...items.slice(head.length)]
      const before = [...given]
      const names = (await sortedBy(given, ({ name }) => name)).map(({ name }) => name)
      const expected = items.map(({ name }) => name).sort()
      t.equal(names.join(), expected.join(), `${count} items, ${tail} of them in no order`)
      const isLeft = given.length === count && given.every((item, i) => item === before[i])
      t.ok(isLeft, 'and leaves the given ones')
    }
  }
  const growing = Array.from({ length: 5_000 }, () => ({ name: String(random(1_000_000)) }))
  const sorting = sortedBy(growing, ({ name }) => name)
  growing.push({ name: 'added meanwhile' })
  t.equal((await sorting).length, 5_000)
  const many = Array.from({ length: 100_000 }, () => ({ name: String(random(1_000_000)) }))
  let turns = 0
  const count = (): void => void (turns++, (timer = setImmediate(count)))
  let timer = setImmediate(count)
  await sortedBy(many, ({ name }) => name)
  clearImmediate(timer)
  t.ok(turns > 100, `the loop ran ${turns} times meanwhile`)
})

t.test('numbers get the commas that English gives them', (t) => {
  const whole = fc.maxSafeInteger()
  const broken = fc.integer({ min: -(10 ** 9), max: 10 ** 9 }).map((number) => number / 1_000)
  fc.assert(
    fc.property(fc.oneof(whole, broken), (number) => {
      return withCommas(number) === number.toLocaleString('en')
    }),
  )
  t.strictSame([0, 999, 1_000, 1_234.5678].map(withCommas), ['0', '999', '1,000', '1,234.568'])
  t.end()
})

t.test('units', (t) => {
  t.strictSame(
    ['50ms', '1s', '5m', '24h', '7d'].map(durationFrom),
    [50, 1_000, 300_000, 86_400_000, 604_800_000],
  )
  t.strictSame(
    ['', '5', '5 m', '-5m', '1.5s', '5M', '3651d'].map(durationFrom),
    Array(7).fill(undefined),
  )
  t.strictSame(['1B', '64KiB', '1MiB', '2GiB'].map(sizeFrom), [1, 65_536, 2 ** 20, 2 ** 31])
  t.strictSame(['', '1', '1MB', '1mib', '-1B'].map(sizeFrom), Array(5).fill(undefined))
  t.equal(instantFrom('2030-12-05'), Date.UTC(2030, 11, 5))
  t.equal(instantFrom('2030-12-05T01:00+01:00'), Date.UTC(2030, 11, 5))
  t.strictSame(
    ['2030-12-05T01:00', '2030-13-01', '5 Dec 2030'].map(instantFrom),
    Array(3).fill(undefined),
  )
  t.equal(nearest('strike', ['strikes', 'within']), 'strikes')
  t.equal(nearest('tmies', ['times', 'strikes']), 'times')
  t.equal(nearest('colour', ['strikes', 'within']), undefined)
  t.end()
})
