import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { windows } from '../../../shared/windows.ts'
import { root } from '../../support/process.ts'

const read = (file: string): string => readFileSync(join(root, 'gateway', file), 'utf8')
const tokens = read('front/http/page/tokens.css')
const sheets = [
  'front/http/page/common.css',
  'front/portal/page/style.css',
  'office/admin/console/style.css',
]

/** Colours, and sizes of type, of spaces and of corners, that a sheet says by itself; other parts may be as wide as they need. */
const own =
  /#[\da-f]{3,8}\b|rgb|light-dark|(?:font-size|gap|padding|margin|border-radius)[^:;]*:[^;]*?\b[0-4](?:\.\d+)?rem[^;]*/gi

t.test('the scale of pages is said in one file', (t) => {
  t.match('gap: var(--s4) 0.3rem;', own, 'a size would be seen')
  for (const file of sheets) t.strictSame(read(file).match(own) ?? [], [], file)
  t.end()
})

t.test('each part of the scale is used, and nothing else is', (t) => {
  const names = (text: string, form: RegExp): Set<string> =>
    new Set([...text.matchAll(form)].map(([, name = '']) => name))
  const defined = names(tokens, /^ {2}--([\w-]+):/gm)
  const used = names([tokens, ...sheets.map(read)].join('\n'), /var\(--([\w-]+)\)/g)
  // Charts take the colours of these by their names.
  const byName = [...windows.map(({ name }) => name), 'answered', 'ban', 'strangers', 'other']
  t.strictSame(
    byName.filter((name) => !defined.has(name)),
    [],
  )
  const idle = [...defined].filter((name) => !used.has(name) && !byName.includes(name))
  t.strictSame(idle, [])
  // A part of a bar or of a chart has its colour from its class.
  t.strictSame([...used].filter((name) => !defined.has(name)).sort(), ['level', 'part'])
  t.end()
})
