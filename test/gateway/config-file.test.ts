import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  chmod,
  link,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { parseDocument, type Node } from 'yaml'
import { editedText } from '../../gateway/config/edit/edit.ts'
import { EditMistake } from '../../gateway/config/edit/mistake.ts'
import { unifiedDiff } from '../../gateway/config/edit/unified-diff.ts'
import { baredText, guardedText } from '../../gateway/config/variables.ts'
import { replaceFile } from '../../gateway/config/replace-file.ts'
import { startAdmin, type AdminOptions } from '../support/admin.ts'
import { runCommand } from '../support/command.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { start, token } from '../support/operator.ts'
import { root } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const shipped = readFileSync(join(root, 'config/gateway.yaml'), 'utf8')

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

function tried(text: string, place: string, value: unknown): string | EditMistake {
  try {
    return editedText(text, { [place]: value })
  } catch (error) {
    if (error instanceof EditMistake) return error
    throw error
  }
}

t.test('a change of one setting leaves every other byte of a file as it is', (t) => {
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
    let changes = 0
    for (const { place } of placesIn(before)) {
      // The shipped file is long, and has many places.
      for (const value of text === shipped ? [['x: y'], null] : [...values, null]) {
        const edited = tried(text, place, value)
        if (edited instanceof EditMistake) {
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
        if (edited !== text && !isWithin(text, edited, place, value))
          t.fail(`more than its own: ${what}`)
      }
    }
    t.ok(changes > 10, `${name}: ${changes} changes`)
  }
  t.end()
})

/** Whether two texts differ only within a value, or, where it was taken away, within its lines. */
function isWithin(before: string, after: string, place: string, value: unknown): boolean {
  const [start, end] = difference(before, after)
  const document = parseDocument(guardedText(before), { logLevel: 'error' })
  const steps = place.split(/\.|(?=\[)/).map((step) => step.replace(/^\[(.*)\]$/, '$1'))
  const node = document.getIn(steps, true) as Node | undefined
  const [from = 0, to = 0] = node?.range ?? [0, before.length]
  if (value !== null) return start >= before.lastIndexOf(':', from) && end <= to
  const gone = before.slice(start, end)
  return start >= before.lastIndexOf('\n', from) - 20 && (gone.match(/#/g) ?? []).length <= 1
}

/** The part of a text that isn't in another one. */
function difference(before: string, after: string): [start: number, end: number] {
  let start = 0
  while (start < before.length && before[start] === after[start]) start++
  let same = 0
  const most = Math.min(before.length, after.length) - start
  while (same < most && before.at(-1 - same) === after.at(-1 - same)) same++
  return [start, before.length - same]
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
  ['a: { b: 1, }\n', 'a.c', 2, 'a: { b: 1, c: 2, }\n'],
  ['a: {\n  b: 1, # one\n  c: 2\n}\n', 'a.d', 3, 'a: {\n  b: 1, # one\n  c: 2,\n  d: 3\n}\n'],
  ['a:\n  b: 1 # why\n\n# next\nd: 5\n', 'a.c', 2, 'a:\n  b: 1 # why\n  c: 2\n\n# next\nd: 5\n'],
  ['a:\r\n  b: 1\r\nd: 5', 'e', 2, 'a:\r\n  b: 1\r\nd: 5\r\ne: 2'],
  ['a:\n  b: |\n    text\n\nd: 5\n', 'a.c', 2, 'a:\n  b: |\n    text\n  c: 2\n\nd: 5\n'],
  ['a: 1\n', 'b.c.d', 2, 'a: 1\nb: { c: { d: 2 } }\n'],
  ['a: 1\n', 'b[0].c', 2, 'a: 1\nb: [{ c: 2 }]\n'],
  ['a: # why\nb: 1\n', 'a.c', 2, /^a\.c can't be changed without touching/],
  ['a:\nb: 1\n', 'a.c', 2, 'a: { c: 2 }\nb: 1\n'],
  ['- a: 1\n', 'x', 2, /^the file is a list, so x can't/],
  ['l: [1, 2]\n', 'l[2]', 3, 'l: [1, 2, 3]\n'],
  ['l: []\n', 'l[0]', 'x y', "l: ['x y']\n"],
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
  ['a: b\n', 'a', 'c, d', "a: 'c, d'\n"],
  ['a: b\n', 'a', 'true', "a: 'true'\n"],
  ['a: b\n', 'a', '60', "a: '60'\n"],
  ['a: b\n', 'a', '1\n2', 'a: "1\\n2"\n'],
  ['a: "60"\n', 'a', '60', 'a: "60"\n'],
  ['a: 0x3c\n', 'a', 60, 'a: 0x3c\n'],
  ['a: { b: 1, c: 2, d: 3 }\n', 'a.c', null, 'a: { b: 1, d: 3 }\n'],
  ['a: { b: 1, c: 2 }\n', 'a.b', null, 'a: { c: 2 }\n'],
  ['a:\n  b: 1\n  c: 2 # two\nd: 3\n', 'a.c', null, 'a:\n  b: 1\nd: 3\n'],
  ['a:\n  b: 1\n  c:\n    d: 2\n  e: 3\n', 'a.c', null, 'a:\n  b: 1\n  e: 3\n'],
  ['a:\n  b: 1\n', 'a.b', null, /^a\.b can't be changed without/],
  ['l:\n  - a: 1\n    b: 2\n', 'l[0].a', null, /^l\[0\]\.a begins an entry/],
  ['l:\n  - 1\n  - 2 # two\n  - 3\n', 'l[1]', null, 'l:\n  - 1\n  - 3\n'],
  ['a: 1\n', 'b', null, /^b isn't written in the file/],
  ['u:\n  my.api: { n: 1 }\n', 'u.my.api.n', 2, 'u:\n  my.api: { n: 2 }\n'],
  ['a: custom\n', 'a.b', 2, /^a is custom, so a\.b can't be written: change a as a whole/],
  ['a: { b: ${X:-5}, c: 1 }\n', 'a.c', 2, 'a: { b: ${X:-5}, c: 2 }\n'],
  ['a: { b: ${X:-5}, c: 1 }\n', 'a.b', 2, /^a\.b comes from the environment \(\$\{X:-5\}\)/],
  ['a: { b: ${X:-5}, c: 1 }\n', 'a', 2, /^a has values from the environment/],
  ['a: 1\n', 'a', '${X:-{}}', "a: '${X:-{}}'\n"],
  ['a: &x 1\nb: *x\n', 'a', 2, /^a is used elsewhere too, as \*x/],
  ['a: &x 1\nb: *x\n', 'b', 2, /^b is \*x: change the setting with &x/],
  ['a: &x 1\n', 'a', 2, 'a: &x 2\n'],
  ['a: &x { c: 1 }\nb:\n  <<: *x\n', 'b.c', 2, /^b merges another section/],
  ['a:\n  # why\n  b: 1\n  # more\n  c: 2\n', 'a', 2, /^a has comments inside/],
  ['a:\n  b: 1\n  c: 2\nd: 1\n', 'a', 'custom', 'a: custom\nd: 1\n'],
  ['a: 1\n', 'a..b', 2, /^"a\.\.b" isn't the place of a setting/],
  ['a: 1\n', '__proto__.b', 2, 'a: 1\n__proto__: { b: 2 }\n'],
  ['a: 1\n', 'constructor', 2, 'a: 1\nconstructor: 2\n'],
]

t.test('a setting is written where it belongs, or a sentence says why it is not', (t) => {
  for (const [text, place, value, after] of changes) {
    const edited = tried(text, place, value)
    const what = `${JSON.stringify(text)} ${place}`
    if (typeof after === 'string') t.equal(edited, after, what)
    else t.match(edited instanceof EditMistake ? edited.message : edited, after, what)
  }
  t.equal(editedText('a: 1\n', { 'b.c': 1, 'b.d': 2, a: null }), 'b: { c: 1, d: 2 }\n', 'several')
  t.notOk('b' in {}, 'no prototype has got a member')
  t.end()
})

t.test('a diff shows the lines that change, and makes the new text of the old one', (t) => {
  const one = shipped.replace('free: { perMinute: 60,', 'free: { perMinute: 40,')
  const line = shipped.split('\n').findIndex((each) => each.startsWith('  free:')) + 1
  t.equal(
    unifiedDiff(shipped, one, { name: 'x.yaml', context: 0 }),
    `--- x.yaml\n+++ x.yaml\n@@ -${line} +${line} @@\n` +
      '-  free: { perMinute: 60, perDay: 1000 }\n+  free: { perMinute: 40, perDay: 1000 }\n',
  )
  t.equal(unifiedDiff(one, one, { name: 'x', context: 3 }), '')
  const pick = picker(7)
  const words = ['a', 'b', 'c', 'a\r', '']
  for (let i = 0; i < 300; i++) {
    const lines = Array.from({ length: pick(12) }, () => words[pick(words.length)])
    const others = lines.flatMap((each) =>
      pick(4) > 0 ? [each] : Array.from({ length: pick(3) }, () => words[pick(words.length)]),
    )
    const [before, after] = [lines, others].map((each) => each.join('\n')) as [string, string]
    for (const context of [0, 1, 3]) {
      const diff = unifiedDiff(before, after, { name: 'x', context })
      if (patched(before, diff) !== after) t.fail(`${JSON.stringify([before, after])}\n${diff}`)
    }
  }
  const [many, more] = ['a\n'.repeat(3_000), 'b\n'.repeat(3_000)]
  t.equal(patched(many, unifiedDiff(many, more, { name: 'x', context: 3 })), more, 'all is new')
  t.end()
})

const path = '/admin/config/file'
const withSave = '{ host: 127.0.0.1, port: 0, save: true }'
const yaml = { 'content-type': 'application/yaml' }

/** A gateway whose file may be saved, and what an operator's editor does with it. */
async function startSaving(t: Test, options: AdminOptions = {}) {
  const admin = await startAdmin(t, { admin: withSave, ...options })
  const { ask, file } = admin
  const tag = async () => String((await ask('GET', path)).headers['etag'])
  const save = async (text: string, over?: string) =>
    ask('PUT', path, text, { ...yaml, 'if-match': over ?? (await tag()) })
  const inForce = async () => json(await ask('GET', '/admin/config'))
  return { ...admin, tag, save, inForce, text: readFileSync(file, 'utf8') }
}

t.test('a saved file is in force, byte for byte, with its mode', async (t) => {
  const { ask, save, inForce, file, text } = await startSaving(t)
  t.match(await inForce(), { unsavable: null })
  await chmod(file, 0o640)
  const [free] = /free: \{[^}]*\}/.exec(text) ?? []
  for (const limit of [40, 41]) {
    const next = text.replace(String(free), `free: { perMinute: ${limit}, perDay: 1000 } # ä€😀`)
    const odd = limit === 40 ? next.replaceAll('\n', '\r\n') : `\ufeff${next.trimEnd()}`
    const saved = json(await save(odd))
    t.match(saved, { result: 'changed', config: { plans: { free: { perMinute: limit } } } })
    t.equal(readFileSync(file, 'utf8'), odd)
    t.equal((await inForce())['hash'], saved['hash'])
    const read = await ask('GET', path)
    t.equal(read.headers['etag'], `"${String(saved['hash'])}"`)
    t.equal(read.headers['cache-control'], 'no-store')
    t.equal(read.text.replace(/^\ufeff/, ''), odd.replace(/^\ufeff/, ''))
  }
  t.equal((await stat(file)).mode & 0o777, 0o640)
  t.strictSame(await besideOf(file), [], 'nothing is left beside it')
})

/** The files beside a configuration that its saves have made. */
async function besideOf(file: string): Promise<string[]> {
  return (await readdir(dirname(file))).filter((name) => name.includes('.save-'))
}

t.test('a text that cannot be saved changes nothing, and a sentence says why', async (t) => {
  const { ask, save, tag, inForce, file, text, write } = await startSaving(t, {
    more: 'drain: ${DRAIN:-3s} # ${COMMENT}',
  })
  const before = await inForce()
  const refused = async (changed: string, status: number, message: RegExp) => {
    const now = readFileSync(file)
    const answer = json(await save(changed))
    t.match(answer, { status, message })
    t.ok(now.equals(readFileSync(file)), 'the file stays')
    t.equal((await inForce())['hash'], before['hash'], 'the configuration stays in force')
    t.strictSame(await besideOf(file), [])
  }
  await refused(
    text.replace('perMinute: 60', 'perMinute: 6O'),
    400,
    /^Nothing was saved: body:\d+:\d+: plans\.free\.perMinute must be .* got "6O"/,
  )
  await refused(text.replace('plans:', 'plams:'), 400, /has no setting "plams"/)
  await refused(
    text.replace('port: 0', 'port: 1'),
    400,
    /listen can’t be changed while the gateway runs: restart it/,
  )
  await refused(text.replace('save: true', 'save: false'), 400, /admin can’t be changed/)
  await refused(text.replace('${DRAIN:-3s}', '3s'), 409, /^\$\{DRAIN\} would be lost/)
  await refused(`${text}\0`, 400, /Nothing was saved/)
  await refused(`${text}\nname: ${'&a ['.repeat(20_000)}`, 400, /Nothing was saved/)
  await refused(
    `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.replace(
      /./g,
      (b) =>
        `${b}: &${b} [${Array(9)
          .fill(`*${String.fromCharCode(b.charCodeAt(0) - 1)}`)
          .join()}]\n`,
    )}`,
    400,
    /aliases expand to too much data/,
  )
  await refused('', 400, /Nothing was saved/)
  t.equal((await save('#'.repeat(2 ** 20 + 1))).status, 413)
  const match = { ...yaml, 'if-match': await tag() }
  t.equal((await ask('PUT', path, Buffer.from([0x23, 0xff]), match)).status, 400, 'no UTF-8')
  t.equal((await ask('PUT', path, text, { ...yaml, 'if-match': '*' })).status, 412, 'any version')
  await chmod(file, 0o444)
  await refused(`${text}# more\n`, 409, /is write-protected/)
  t.match(await inForce(), { unsavable: /is write-protected/ })
  await chmod(file, 0o644)
  await link(file, `${file}.other`)
  await refused(`${text}# more\n`, 409, /has a second name/)
  await rm(file)
  await symlink(`${file}.other`, file)
  await refused(`${text}# more\n`, 409, /is a link, as Kubernetes makes one of a ConfigMap/)
  await rm(file)
  await rename(`${file}.other`, file)
  t.equal((await save(text.replace('# ${COMMENT}', ''))).status, 200, 'a comment may go')
  write((now) => `${now}# by hand\n`)
  t.match(json(await save(text, match['if-match'])), { status: 412, message: /has changed since/ })
})

t.test('of several who save at once, one does, and the others are told', async (t) => {
  const { save, tag, file, text } = await startSaving(t)
  for (let round = 0; round < 3; round++) {
    const over = await tag()
    const texts = [1, 2, 3, 4].map((who) => `${text}# ${round} by ${who}\n`)
    const answers = await Promise.all(texts.map((each) => save(each, over)))
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 412, 412, 412])
    const won = answers.findIndex(({ status }) => status === 200)
    t.equal(readFileSync(file, 'utf8'), texts[won])
  }
})

t.test('nobody reads or saves the file unless admin.save is on', async (t) => {
  const { ask, file } = await startAdmin(t)
  const before = readFileSync(file, 'utf8')
  const message =
    /^Admin\.save is off: write admin: \{ save: true \} into the file by hand and restart/
  t.match(json(await ask('GET', path)), { status: 403, message })
  const put = await ask('PUT', path, before, { ...yaml, 'if-match': '"000000000000"' })
  t.match(json(put), { status: 403, message })
  t.match(json(await ask('GET', '/admin/config')), { unsavable: /^admin\.save is off/ })
  const edited = json(
    await ask('POST', '/admin/config/edit', { set: { 'plans.free.perMinute': 40 } }),
  )
  t.equal(edited['text'], undefined)
  t.match(String(edited['diff']), /^---.*\n\+\+\+.*\n@@ -\d+ \+\d+ @@\n-.*60.*\n\+.*40.*\n$/)
  const refused = await ask('POST', '/admin/config/edit', { set: { 'plans.free': { '&x': 1 } } })
  t.match(json(refused), { mistakes: [/^.*gateway\.yaml:\d+:\d+: plans\.free/] })
})

t.test('the gateways of a fleet must get the file by another way', async (t) => {
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}"`
  const { save, inForce, file, text } = await startSaving(t, { store })
  t.match(await inForce(), { unsavable: null }, 'a gateway is alone')
  const app = await startGateway(t, { store, upstream: await startUpstream(t) })
  await until(async () => (await app.app.core.stores.fleet.list()).members.length === 2)
  t.match(
    await inForce(),
    { unsavable: null },
    'an app with the plugin has a configuration of its own',
  )
  app.app.self.fileState = () => ({ hash: '0'.repeat(12), loadedAtMs: 0, mistakes: undefined })
  await until(async () => (await inForce())['unsavable'] !== null)
  const refused = json(await save(`${text}# more\n`))
  t.match(refused, {
    status: 409,
    message: /^Other gateways of this store must get the file too \(/,
  })
  t.equal(readFileSync(file, 'utf8'), text)
  await redis.kill()
  await until(async () =>
    String((await inForce())['unsavable']).startsWith('the store is out of reach'),
  )
  t.match(json(await save(`${text}# more\n`)), {
    status: 409,
    message: /^The store is out of reach/,
  })
})

t.test('a command saves, the audit has its author, and no log has the text', async (t) => {
  const upstream = await startUpstream(t)
  const { ask, run, runJson, gateway, file } = await start(t, {
    upstream: upstream.url,
    adminMore: ', save: true',
    environments: [{ ADMIN_TOKEN: `alice:${token}` }],
  })
  const environment = { ADMIN_TOKEN: token }
  const command = async (...args: string[]) => runCommand([...args, '--config', file], environment)
  const { stdout } = await command('config', 'file')
  t.equal(stdout, readFileSync(file, 'utf8'))
  const { hash } = JSON.parse((await command('config', 'file', '--json')).stdout) as {
    hash: string
  }
  const next = join(dirname(file), 'next.yaml')
  await writeFile(
    next,
    `${stdout.replace('perMinute: unlimited', 'perMinute: 77')}# hidden-in-the-text\n`,
  )
  t.match(await command('config', 'save', next), { code: 2, out: /--over is required/ })
  t.match(await command('config', 'save', next, '--over', '000000000000'), {
    code: 1,
    out: /412: .*has changed since/,
  })
  t.match(await command('config', 'save', next, '--over', hash), {
    code: 0,
    out: /saved, and in force now/,
  })
  t.match(readFileSync(file, 'utf8'), /perMinute: 77,[^]*# hidden/)
  const set = '{ "plans.p.perMinute": 78 }'
  t.match(await command('config', 'edit', '--set', set), {
    code: 0,
    out: /^\+plans: .*perMinute: 78/m,
  })
  t.match(await run('config', 'set', 'plans.p.perMinute', '79', file, '--diff'), {
    code: 0,
    out: /^\+plans: .*: 79/m,
  })
  t.match(await run('config', 'set', 'plans.p.perMinute', '7O', file), { code: 2, out: /got "7O"/ })
  t.match(await run('config', 'set', 'plans.p', 'x', file, '--json'), { code: 2 })
  t.match(await runJson('config', 'set', 'workers', '1', file), {
    text: /^workers: 1$/m,
    diff: /^\+workers: 1$/m,
  })
  await until(async () => (await ask('GET', '/admin/audit')).text.includes('config.change'))
  t.match(json(await ask('GET', '/admin/audit')), [
    {
      what: 'config.change',
      by: 'alice',
      before: { 'plans.p.perMinute': 'unlimited' },
      after: { 'plans.p.perMinute': 77 },
    },
  ])
  t.notMatch(gateway.output() + (await ask('GET', '/admin/audit')).text, 'hidden-in-the-text')
})

/** A program that saves two texts over a file by turns, as long as it is let. */
const savesByTurns = (file: string, texts: readonly string[]) =>
  `import('${join(root, 'gateway/config/replace-file.ts')}').then(async ({ replaceFile }) => {
    const texts = ${JSON.stringify(texts)}.map((each) => each.repeat(20_000))
    process.stdout.write('ready')
    for (let i = 0; ; i++) await replaceFile(${JSON.stringify(file)}, texts[i % 2])
  }).catch((error) => { process.stdout.write(error.message); process.exitCode = 3 })`

t.test(
  'a kill, or a write that fails, leaves the old file or the new one, never half of one',
  async (t) => {
    const file = join(t.testdir(), 'gateway.yaml')
    const texts = ['# one\n', '# another one\n']
    const wholes = texts.map((each) => each.repeat(20_000))
    await writeFile(file, String(wholes[0]))
    for (let round = 0; round < 4; round++) {
      const child = spawn(process.execPath, ['-e', savesByTurns(file, texts)])
      await once(child.stdout, 'data')
      const { ino } = await stat(file)
      await until(async () => (await stat(file)).ino !== ino)
      child.kill('SIGKILL')
      await once(child, 'exit')
      t.ok(wholes.includes(readFileSync(file, 'utf8')), 'it is whole')
    }
    const before = readFileSync(file)
    // One of tap's hooks in every child turns the signal deadly, which Node ignores.
    const shell = 'unset NODE_OPTIONS; ulimit -f 8; exec "$0" -e "$1"'
    const limited = spawn('/bin/sh', ['-c', shell, process.execPath, savesByTurns(file, texts)])
    let said = ''
    limited.stdout.on('data', (data) => (said += String(data)))
    t.strictSame(await once(limited, 'close'), [3, null])
    t.match(said, /can't be written: it is larger than this process may write/)
    t.ok(before.equals(readFileSync(file)))
    const old = new Date(Date.now() - 3_600_000)
    const leftovers = await besideOf(file)
    const leftover = join(dirname(file), '.gateway.yaml.save-0123456789ab')
    await writeFile(leftover, 'secret')
    await utimes(leftover, old, old)
    await replaceFile(file, '# new\n')
    t.strictSame(await besideOf(file), leftovers, 'an old leftover of a crash is removed')
  },
)

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

/** Whole numbers below a bound, always the same ones. */
function picker(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}
