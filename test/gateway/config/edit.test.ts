import t from 'tap'
import { parseDocument, type Document, type Node } from 'yaml'
import { editedText } from '../../../gateway/office/config/edit/edit.ts'
import { unifiedDiff } from '../../../gateway/office/config/edit/unified-diff.ts'
import { baredText, guardedText } from '../../../gateway/office/config/variables.ts'
import { shipped } from '../../support/configuration.ts'
import { seeded } from '../../support/seeded.ts'
import { WrongInput } from '../../../gateway/office/wrong-input.ts'

/** Files that are written in odd ways; none needs to be a configuration. */
const odd = {
  'flow maps':
    'plans: {free: {perMinute: 60,perDay: 1000,}, pro: { perMinute: 1 , perDay: 2 } } # all\n',
  'flow over lines':
    'plans: {\n  free: { perMinute: 60 }, # why\n  pro: # and\n    { perMinute: 5 },\n}\nempty: {}\nnone: []\n',
  'quotes and blocks':
    "a: \"x # y\"\nb: 'it''s'\nc: |\n  first\n\n  second\n\n# between\nd: >-\n  folded\n  text\ne: plain text # why\n",
  variables: "a: ${A:-60}\nb: { c: ${B}, d: 5 }\ne: '${C:-{}}'\nf: 1 # ${D}\n",
  'anchors and aliases':
    'one: &one { perMinute: 5 }\ntwo: *one\nthree: &three\n  a: 1\nfour: &four 7\nfive: [*four, 8]\n',
  'merge keys': 'one: &one { a: 1 }\ntwo:\n  <<: *one\n  b: 2\nthree: { c: 3 }\n',
  'tabs in comments': 'a: 1\t# tab\there\n#\tb: 2\nc:\n  d: 3\t\n\t\n  e: 4\n',
  CRLF: '# top\r\na: 1\r\nb:\r\n  c: 2 # why\r\n  d: |\r\n    text\r\n    more\r\n\r\ne: { f: 3 }\r\n',
  'no line end': 'a: 1\nb:\n  c: 2\n  # end',
  'no line end after a value': 'a: 1\nb:\n  - c: 2\n    d: x',
  lists: 'l:\n- 1\n- - 2\n  - 3\n-\n  a: 4\n- { b: [5, 6,] }\n-   c: 7\n    d: 8 # why\n',
  'nothing there': 'a:\nb: # why\nc: { d, e: , f: null }\ng: ~\nh: !!str 5\n? i\n: 6\n"j k": 7\n',
  'a mark': '\ufeff# top\na: 1\nb: { c: 2 }\n',
  markers: '%YAML 1.2\n---\na: 1\nb:\n- c: 2\n- d: 3\n...\n',
  umlauts: 'grüße: "ä€😀" # ö\nb: \'${Ä}\'\nc: 5\n',
}

const files = Object.entries({ 'the shipped file': shipped, ...odd })

/** The places of all values in a text, with these values. */
function placesIn(value: unknown, place = ''): { place: string; value: unknown }[] {
  if (typeof value !== 'object' || value === null) return place === '' ? [] : [{ place, value }]
  const inner = Object.entries(value).flatMap(([name, each]) => {
    if (/[.[\]]/.test(name)) return []
    const step = Array.isArray(value) ? `[${name}]` : place === '' ? name : `.${name}`
    return placesIn(each, place + step)
  })
  return place === '' ? inner : [{ place, value }, ...inner]
}

function valuesIn(text: string): unknown {
  const document = parseDocument(guardedText(text), { logLevel: 'error' })
  if (document.errors.length > 0) throw new Error(`${document.errors[0]?.message}\n${text}`)
  return JSON.parse(baredText(JSON.stringify(document.toJS())))
}

/** Values with another one at a place. */
function valuesWith(values: unknown, place: string, value: unknown): unknown {
  const copy = structuredClone(values) as Record<string, unknown>
  const steps = place.split(/\.|(?=\[)/).map((step) => step.replace(/^\[(.*)\]$/, '$1'))
  let at = copy
  for (const step of steps.slice(0, -1)) at = at[step] as Record<string, unknown>
  const last = steps.at(-1) ?? ''
  if (value !== null) at[last] = value
  else if (Array.isArray(at)) at.splice(Number(last), 1)
  else delete at[last]
  return copy
}

function tried(text: string, place: string, value: unknown): string | WrongInput {
  try {
    return editedText(text, { [place]: value })
  } catch (error) {
    if (error instanceof WrongInput) return error
    throw error
  }
}

t.test('a change of one setting leaves every other line of a file as it is', (t) => {
  const values = [
    40,
    'unlimited',
    'a, b: c # d',
    "it's",
    true,
    2.5,
    { a: 1, b: ['x: y'] },
    [],
    'two\nlines',
  ]
  for (const [name, text] of files) {
    const before = valuesIn(text)
    const document = parseDocument(guardedText(text), { logLevel: 'error' })
    let [changes, rewritten] = [0, 0]
    for (const { place } of placesIn(before)) {
      // The shipped file is long, and has many places.
      for (const value of text === shipped ? [['x: y'], null] : [...values, null]) {
        const edited = tried(text, place, value)
        if (edited instanceof WrongInput) {
          if (!edited.message.includes(place.split(/[.[]/)[0] ?? ''))
            t.fail(`${place}: ${edited.message}`)
          continue
        }
        changes++
        const what = `${name}: ${place} = ${JSON.stringify(value)}`
        if (JSON.stringify(valuesIn(edited)) !== JSON.stringify(valuesWith(before, place, value))) {
          t.fail(what)
        }
        if (edited.includes('\r') && /(?<!\r)\n/.test(edited)) t.fail(`line ends: ${what}`)
        if (edited === text || isWithin(text, edited, { document, place })) continue
        rewritten++
        if (value === null) continue
        for (const comment of commentsIn(text)) {
          if (!edited.includes(comment)) t.fail(`comment: ${what}`)
        }
      }
    }
    t.ok(changes > 10, `${name}: ${changes} changes`)
    // Where the first setting of a list's entry goes, the dash comes before the next one.
    if (text === shipped) t.ok(rewritten <= 4, `${rewritten} changes touch another line`)
  }
  t.end()
})

/** Whether all lines of a text but those of a value are in another one. */
function isWithin(before: string, after: string, { document, place }: Place): boolean {
  const steps = place.split(/\.|(?=\[)/).map((step) => step.replace(/^\[(.*)\]$/, '$1'))
  const node = document.getIn(steps, true) as Node | undefined
  const [from = 0, to = 0] = node?.range ?? [0, before.length]
  const begin = before.lastIndexOf('\n', before.slice(0, from).search(/[:-]\s*(?:#.*\s*)*$/)) + 1
  const end = before.indexOf('\n', to - 1)
  return (
    after.startsWith(before.slice(0, begin)) && after.endsWith(end < 0 ? '' : before.slice(end))
  )
}

type Place = Readonly<{ document: Document; place: string }>

/** The comments of a text. Between them is its content, which the library may write in another way. */
function commentsIn(text: string): readonly string[] {
  return (text.match(/(?<=^|\s)#.*$/gm) ?? []).map((each) => each.trimEnd())
}

/** Files, the changes of a setting, and the files then; or the beginning of the sentence that refuses it. */
const changes: readonly (readonly [
  text: string,
  place: string,
  value: unknown,
  after: string | RegExp,
])[] = [
  ['a: { b: 1 } # why\n', 'a.c', 2, 'a: { b: 1, c: 2 } # why\n'],
  ['a: {}\n', 'a.c', 2, 'a: { c: 2 }\n'],
  ['a: { b: 1, }\n', 'a.c', 2, 'a: { b: 1, c: 2 }\n'],
  ['a: {\n  b: 1, # one\n  c: 2\n}\n', 'a.d', 3, 'a: {\n  b: 1, # one\n    c: 2,\n    d: 3\n}\n'],
  ['a:\n  b: 1 # why\n\n# next\nd: 5\n', 'a.c', 2, 'a:\n  b: 1 # why\n  c: 2\n\n# next\nd: 5\n'],
  ['a:\r\n  b: 1\r\nd: 5', 'e', 2, 'a:\r\n  b: 1\r\nd: 5\r\ne: 2\r\n'],
  ['a:\n  b: |\n    text\n\nd: 5\n', 'a.c', 2, 'a:\n  b: |\n    text\n  c: 2\n\nd: 5\n'],
  ['a: 1\n', 'b.c.d', 2, 'a: 1\nb: { c: { d: 2 } }\n'],
  ['a: 1\n', 'b[0].c', 2, 'a: 1\nb: [ { c: 2 } ]\n'],
  ['a: # why\nb: 1\n', 'a.c', 2, 'a: { c: 2 } # why\nb: 1\n'],
  ['a:\nb: 1\n', 'a.c', 2, 'a: { c: 2 }\nb: 1\n'],
  ['- a: 1\n', 'x', 2, /^the file is a list, so x can't/],
  ['l: [1, 2]\n', 'l[2]', 3, 'l: [ 1, 2, 3 ]\n'],
  ['l: []\n', 'l[0]', 'x y', 'l: [ x y ]\n'],
  [
    'l:\n  - a: 1\n    b: 2 # two\nm: 1\n',
    'l[1]',
    { a: 3 },
    'l:\n  - a: 1\n    b: 2 # two\n  - { a: 3 }\nm: 1\n',
  ],
  ['l:\n  - a: 1\n', 'l[0].b', 2, 'l:\n  - a: 1\n    b: 2\n'],
  ['l: [1]\n', 'l[2]', 3, /^l has 1 entries, so l\[2\] can't be written/],
  ['a: "b"\n', 'a', 'c', 'a: "c"\n'],
  ["a: 'b'\n", 'a', "it's", "a: 'it''s'\n"],
  ['a: b\n', 'a', 'c, d', 'a: c, d\n'],
  ['a: b\n', 'a', 'true', "a: 'true'\n"],
  ['a: b\n', 'a', '60', "a: '60'\n"],
  ['a: b\n', 'a', '1\n2', 'a: 1\n\n  2\n'],
  ['a: "60"\n', 'a', '60', 'a: "60"\n'],
  ['a: 0x3c\n', 'a', 60, 'a: 0x3c\n'],
  ['a: { b: 1, c: 2, d: 3 }\n', 'a.c', null, 'a: { b: 1, d: 3 }\n'],
  ['a: { b: 1, c: 2 }\n', 'a.b', null, 'a: { c: 2 }\n'],
  ['a:\n  b: 1\n  c: 2 # two\nd: 3\n', 'a.c', null, 'a:\n  b: 1\nd: 3\n'],
  ['a:\n  b: 1\n  c:\n    d: 2\n  e: 3\n', 'a.c', null, 'a:\n  b: 1\n  e: 3\n'],
  ['a:\n  b: 1\n', 'a.b', null, 'a: {}\n'],
  ['l:\n  - a: 1\n    b: 2\n', 'l[0].a', null, 'l:\n  - b: 2\n'],
  ['l:\n  - 1\n  - 2 # two\n  - 3\n', 'l[1]', null, 'l:\n  - 1\n  - 3\n'],
  ['a: 1\n', 'b', null, /^b isn't written in the file/],
  ['u:\n  my.api: { n: 1 }\n', 'u.my.api.n', 2, 'u:\n  my.api: { n: 2 }\n'],
  ['a: custom\n', 'a.b', 2, /^a is custom, so a\.b can't be written: change a as a whole/],
  ['a: { b: ${X:-5}, c: 1 }\n', 'a.c', 2, 'a: { b: ${X:-5}, c: 2 }\n'],
  ['a: { b: ${X:-5}, c: 1 }\n', 'a.b', 2, /^a\.b comes from the environment \(\$\{X:-5\}\)/],
  ['a: { b: ${X:-5}, c: 1 }\n', 'a', 2, /^a has values from the environment/],
  ['a: 1\n', 'a', '${X:-{}}', 'a: ${X:-{}}\n'],
  ['a: &x 1\nb: *x\n', 'a', 2, /^a is used elsewhere too, as \*x/],
  ['a: &x 1\nb: *x\n', 'b', 2, /^b is \*x: change the setting with &x/],
  ['a: &x 1\n', 'a', 2, 'a: &x 2\n'],
  ['a: &x { c: 1 }\nb:\n  <<: *x\n', 'b.c', 2, /^b merges another section/],
  ['a:\n  # why\n  b: 1\n  # more\n  c: 2\n', 'a', 2, /^a has comments inside/],
  ['a:\n  b: 1\n  c: 2\nd: 1\n', 'a', 'custom', 'a: custom\nd: 1\n'],
  ['a: 1\n', 'a..b', 2, /^"a\.\.b" isn't the place of a setting/],
  ['b: 1\n', `a${'.c'.repeat(19)}`, 2, `b: 1\na: ${'{ c: '.repeat(19)}2${' }'.repeat(19)}\n`],
  ['b: 1\n', `a${'.c'.repeat(20)}`, 2, /^"a[.c]+…?" has 21 levels; a place has at most 20$/],
  [
    'b: 1\n',
    `a${'[0]'.repeat(20_000)}`,
    2,
    /^"a[[0\]]+…" has 20,001 levels; a place has at most 20$/,
  ],
  ['a: 1\n', '__proto__.b', 2, 'a: 1\n__proto__: { b: 2 }\n'],
  ['a: 1\n', 'constructor', 2, 'a: 1\nconstructor: 2\n'],
]

t.test('a setting is written where it belongs, or a sentence says why it is not', (t) => {
  for (const [text, place, value, after] of changes) {
    const edited = tried(text, place, value)
    const what = `${JSON.stringify(text)} ${place}`
    if (typeof after === 'string') t.equal(edited, after, what)
    else t.match(edited instanceof WrongInput ? edited.message : edited, after, what)
  }
  const deep: unknown = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
  t.match(tried('a: 1\n', 'a', deep), { message: 'the value of a has more than 64 levels' })
  t.equal(editedText('a: 1\n', { 'b.c': 1, 'b.d': 2, a: null }), 'b: { c: 1, d: 2 }\n', 'several')
  t.notOk('b' in {}, 'no prototype has got a member')
  t.end()
})

t.test('a diff shows the lines that change, and makes the new text of the old one', (t) => {
  const one = shipped.replace('free: { perMinute: 60,', 'free: { perMinute: 40,')
  const line = shipped.split('\n').findIndex((each) => each.startsWith('  free:')) + 1
  t.equal(
    unifiedDiff(shipped, one, { name: 'x.yaml', isAround: false }),
    `--- x.yaml\n+++ x.yaml\n@@ -${line},1 +${line},1 @@\n` +
      '-  free: { perMinute: 60, perDay: 1000 }\n+  free: { perMinute: 40, perDay: 1000 }\n',
  )
  t.equal(unifiedDiff(one, one, { name: 'x', isAround: true }), '')
  const pick = seeded(7)
  const words = ['a', 'b', 'c', 'a\r', '']
  for (let i = 0; i < 300; i++) {
    const lines = Array.from({ length: pick(12) }, () => words[pick(words.length)])
    const others = lines.flatMap((each) =>
      pick(4) > 0 ? [each] : Array.from({ length: pick(3) }, () => words[pick(words.length)]),
    )
    const [before, after] = [lines, others].map((each) => each.join('\n')) as [string, string]
    for (const isAround of [false, true]) {
      const diff = unifiedDiff(before, after, { name: 'x', isAround })
      if (patched(before, diff) !== after) t.fail(`${JSON.stringify([before, after])}\n${diff}`)
    }
  }
  const [many, more] = ['a\n'.repeat(400_000), 'b\n'.repeat(400_000)]
  t.equal(patched(many, unifiedDiff(many, more, { name: 'x', isAround: true })), more, 'all is new')
  t.end()
})

/** A text with a diff applied, as `patch` does it. */
function patched(before: string, diff: string): string {
  const lines = before.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const output: string[] = []
  let at = 0
  for (const hunk of diff.split(/^@@ /m).slice(1)) {
    const [head = '', ...body] = hunk.match(/[^\n]*\n/g) ?? []
    const [, start = '', length = '1'] = /^-(\d+)(?:,(\d+))?/.exec(head) ?? []
    const begin = length === '0' ? Number(start) : Number(start) - 1
    output.push(...lines.slice(at, begin))
    at = begin
    body.forEach((line, i) => {
      if (line.startsWith('\\')) return
      const text = body[i + 1]?.startsWith('\\') ? line.slice(1, -1) : line.slice(1)
      if (!line.startsWith('-')) output.push(text)
      if (!line.startsWith('+') && lines[at++] !== text) throw new Error(`not there: ${line}`)
    })
  }
  return [...output, ...lines.slice(at)].join('')
}
