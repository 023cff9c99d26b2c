import t from 'tap'
import { memberAt, pathOf, pointerPattern } from '../../shared/pointer.ts'

/** The document of RFC 6901, 5. */
const document: unknown = JSON.parse(
  '{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8}',
)
const at = (pointer: string): unknown => memberAt(document, pathOf(pointer))

t.test('the pointers of RFC 6901 lead to their members', (t) => {
  const members: Readonly<Record<string, unknown>> = {
    ...{ '/foo': ['bar', 'baz'], '/foo/0': 'bar', '/': 0, '/a~1b': 1, '/c%d': 2, '/e^f': 3 },
    ...{ '/g|h': 4, '/i\\j': 5, '/k"l': 6, '/ ': 7, '/m~0n': 8 },
  }
  for (const [pointer, member] of Object.entries(members)) {
    t.match(pointer, new RegExp(`^${pointerPattern}$`))
    t.strictSame(at(pointer), member, pointer)
  }
  for (const wrong of ['', 'foo', '/m~n', '/m~']) {
    t.notMatch(wrong, new RegExp(`^${pointerPattern}$`))
  }
  t.end()
})

t.test('nothing is found that the document hasn’t', (t) => {
  for (const pointer of ['/foo/length', '/foo/2', '/foo/-', '/foo/0/0', '/toString', '/no/such']) {
    t.equal(at(pointer), undefined, pointer)
  }
  t.end()
})
