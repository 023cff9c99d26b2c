import t from 'tap'
import { checkerOf, isOf, readerOf, timeSchema, Type, type Static } from '../../shared/schema.ts'
import { ajvCheckOf } from '../support/ajv.ts'

/** Values of each kind, at and beside the bounds of the schema below. */
const odd: readonly unknown[] = [
  ...[undefined, null, true, 0, 1, 2, 3, 4, 5, 6, 8, 10, -1, 0.5, NaN, Infinity, 2 ** 53],
  ...[0n, 1n, 5n, '', 'a', 'one', 'x', '5', [], ['a'], ['b'], ['a', 5], [[]], new Date(0)],
  ...[{}, { a: [] }, { a: ['a'] }, { a: ['b'] }, { a: ['a'], B: 5 }, { x: true }, { x: 1 }],
]

t.test(
  'JSON of another process is read if it is as the schema says, and is nothing otherwise',
  (t) => {
    const read = readerOf(
      Type.Object({
        id: Type.String(),
        atMs: timeSchema,
        ban: Type.Optional(Type.Tuple([Type.Integer(), Type.String()])),
      }),
    )
    const valid = { id: 'a', atMs: 8.64e15 }
    for (const value of [valid, { ...valid, ban: [1, 'text'] }, { ...valid, more: null }]) {
      t.strictSame(read(JSON.stringify(value)), value)
    }
    for (const damaged of [undefined, null, '', '{', 'null', '[]', '"text"', '{"id":"a"}']) {
      t.equal(read(damaged), undefined, String(damaged))
    }
    const wrong = [{ id: 1 }, { atMs: 8.64e15 + 1 }, { atMs: 1.5 }, { atMs: '1' }, { ban: null }]
    const bans = [[], [1], ['text', 1], [1, 'text', 2], { 0: 1, 1: 'text' }]
    for (const members of [...wrong, ...bans.map((ban) => ({ ban }))]) {
      const text = JSON.stringify({ ...valid, ...members })
      t.equal(read(text), undefined, text)
    }
    t.equal(read('{"id":"a","atMs":1e999}'), undefined, 'a number without end')
    t.end()
  },
)

t.test('schemas are JSON schemas, and are checked as Ajv checks them', (t) => {
  const said = { expected: 'what is said' }
  const even = Type.Refine(Type.Integer({ minimum: 2, ...said }), (value) => value % 2 === 0)
  const small = Type.Refine(even, (value) => value < 9)
  const many = Type.Array(Type.String({ pattern: '^a' }), { minItems: 1 })
  const thing = Type.Object(
    {
      ...{ even, small: Type.Optional(small), may: Type.Optional(Type.Null()) },
      ...{ yes: Type.Boolean(), number: Type.Number({ exclusiveMinimum: 0 }) },
      word: Type.Enum(['one', 'two'], said),
      either: Type.Union([Type.Literal('x'), Type.Literal(5), Type.Null()], said),
      pair: Type.Optional(Type.Tuple([Type.Integer(), Type.String()])),
      all: Type.Record(Type.String({ pattern: '^[a-z]$' }), many, { minProperties: 1 }),
      any: Type.Optional(Type.Record(Type.String(), Type.Boolean(), said)),
    },
    { additionalProperties: false, ...said },
  )
  t.equal(
    JSON.stringify(thing),
    '{"type":"object","required":["even","yes","number","word","either","all"],"properties":{' +
      '"even":{"type":"integer","minimum":2,"expected":"what is said"},' +
      '"small":{"type":"integer","minimum":2,"expected":"what is said"},"may":{"type":"null"},' +
      '"yes":{"type":"boolean"},"number":{"type":"number","exclusiveMinimum":0},' +
      '"word":{"enum":["one","two"],"expected":"what is said"},"either":{"anyOf":[' +
      '{"type":"string","const":"x"},{"type":"number","const":5},{"type":"null"}],' +
      '"expected":"what is said"},"pair":{"type":"array","items":[{"type":"integer"},' +
      '{"type":"string"}],"minItems":2,"additionalItems":false},"all":{"type":"object",' +
      '"patternProperties":{"^[a-z]$":{"type":"array","items":{"type":"string","pattern":"^a"},' +
      '"minItems":1}},"minProperties":1},"any":{"type":"object","patternProperties":{' +
      '"^.*$":{"type":"boolean"}},"expected":"what is said"}},"additionalProperties":false,' +
      '"expected":"what is said"}',
  )
  const sound: Static<typeof thing> = {
    ...{ even: 10, small: 8, yes: true, number: 0.5, word: 'one', either: null, pair: [1, 'text'] },
    all: { a: ['a'] },
  }
  for (const [schema, value] of [
    [thing, sound],
    [Type.Partial(thing), {}],
  ] as const) {
    const [isSound, isSoundByAjv] = [checkerOf(schema), ajvCheckOf(schema)]
    t.ok(isSound(value))
    let refused = 0
    const names = ['may', 'any', 'other', ...Object.keys(sound)]
    for (const name of names) {
      for (const each of odd) {
        const changed = { ...value, [name]: each }
        const told = `${name}: ${typeof each} ${String(each)}`
        if (!isSound(changed)) refused++
        if (isSound(changed) !== isSoundByAjv(changed)) t.fail(told)
      }
    }
    t.ok(refused > names.length, `${refused} are refused, here and there`)
  }
  // @ts-expect-error what the schema refuses, the type of its values refuses
  const wrong: Static<typeof thing> = { ...sound, pair: ['text', 1] }
  t.notOk(isOf(thing, wrong))
  // @ts-expect-error a member that must be there
  const less: Static<typeof thing> = { even: 10, number: 0.5, word: 'one', either: null, all: {} }
  t.notOk(isOf(thing, less))
  const large = checkerOf(Type.BigInt({ minimum: 1n }))
  t.strictSame([1n, 0n, 1, '1', null].map(large), [true, false, false, false, false])
  t.throws(
    () => isOf(Type.String({ maxLength: 5 }), 'x'),
    /can’t say maxLength/,
    'no word is unchecked in silence',
  )
  t.end()
})
