import t from 'tap'
import { readerOf, timeSchema, Type } from '../../shared/schema.ts'

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
