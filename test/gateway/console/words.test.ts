import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../../support/process.ts'

const pageFolders = [
  'gateway/office/admin/console',
  'gateway/front/portal/page',
  'gateway/front/http/page',
]

/** A line of a page's text that goes on with an element: a template drops the line's end, with the space that it stands for. */
const glued =
  /[\p{L}\p{N}.,:;)}](?<!\$\{(?:' '|`[^`\n]* `)\})\n\s*<(?:a|b|code|em|span|strong)\b.*/gu

t.test('no word of a page is glued to the element after it', (t) => {
  t.match('decided as\n  <code>x</code>', glued, 'one would be seen')
  t.notMatch("decided as${' '}\n  <code>x</code>", glued)
  const files = pageFolders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file)),
  )
  t.ok(files.length > 50)
  for (const file of files) {
    t.strictSame(readFileSync(join(root, file), 'utf8').match(glued) ?? [], [], file)
  }
  t.end()
})
