import t from 'tap'
import { stripTypes } from '../../../gateway/front/http/strip-types.ts'

t.test('scripts lose their types and the room of these, and nothing of their texts', async (t) => {
  const source = `import type { Far } from './far.ts'
/** Above it. */
const made = <Of>(far: Far   , near:
  Of): string => 'a  b’  c'
const lines = \`one

  two   three\`
`
  const stripped = await stripTypes([source, 'const a = 1\n'])
  const kept = `const made = (far , near
 ) => 'a  b’  c'
const lines = \`one

  two   three\`
`
  t.strictSame(stripped, [kept, 'const a = 1\n'])
})
