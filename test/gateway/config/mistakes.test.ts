import { readdirSync, readFileSync, writeFileSync, chmodSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { isMap, isScalar, LineCounter, parseDocument, visit, type Document, type Node } from 'yaml'
import { ConfigError } from '../../../gateway/office/config/config-error.ts'
import { loadConfig, parseConfig } from '../../../gateway/office/config/load.ts'
import { previewConfig } from '../../../gateway/office/config/preview.ts'
import { yamlDocument } from '../../../gateway/office/config/yaml-document.ts'
import { messagesOf, shipped } from '../../support/configuration.ts'
import { root } from '../../support/process.ts'
import { bound } from '../../support/promises.ts'
import { seeded } from '../../support/seeded.ts'
import { folderOf } from '../../support/folder.ts'

const folder = join(root, 'test/gateway/configs')

t.test('each mistake is told where it stands, with what was expected', (t) => {
  const expected = readFileSync(join(folder, 'messages.txt'), 'utf8').trimEnd().split('\n')
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  const told = files.sort().flatMap((name) => {
    const messages = messagesOf(readFileSync(join(folder, name), 'utf8'), name)
    t.ok(messages.length > 0, `${name} is refused`)
    return messages
  })
  t.strictSame(told, expected)
  t.notMatch(told.join(), /secret/, 'and never what is secret')
  t.end()
})

t.test('a sound file stays sound whatever its environment; secrets in it are not told', (t) => {
  t.strictSame(messagesOf(shipped), [])
  const secret = 'redis://:hunter2@redis:6379'
  t.match(parseConfig(shipped, { REDIS_URL: secret }, 'x').store.redis, { url: secret })
  const [message] = messagesOf(shipped, 'x', { REDIS_URL: 'http://:hunter2@redis' })
  t.match(
    message,
    /^x:\d+:\d+: store\.redis must be .*, got \$\{REDIS_URL:-\}, where REDIS_URL is set$/,
  )
  t.end()
})

t.test('a section that is indented by mistake is no plan that anybody meant', (t) => {
  const text = shipped.replace(/^strangers:/m, '  strangers:')
  const { warnings } = previewConfig(text, {}, 'x')
  t.match(warnings, [
    /^x:\d+:\d+: warning: plans\.strangers is a plan with the name of a section; if/,
  ])
  t.equal(warnings.length, 1)
  t.end()
})

t.test('a misspelled setting of the shipped file is told at its line, each of them', (t) => {
  const document = parseDocument(shipped)
  let tried = 0
  const look = (node: unknown, path: string): void => {
    if (!isMap<Node, Node>(node)) {
      const items = (node as { items?: unknown[] } | null)?.items ?? []
      items.forEach((item) => look(item, `${path}[]`))
      return
    }
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : ''
      const [start = 0, end = 0] = key.range ?? []
      const line = shipped.slice(0, start).split('\n').length
      // The names of plans and upstreams are the operator's own.
      if (path !== 'plans' && path !== 'upstreams') {
        const changed = `${shipped.slice(0, end)}x${shipped.slice(end)}`
        const messages = messagesOf(changed)
        t.ok(
          messages.some(
            (each) => each.startsWith(`x.yaml:${line}:`) && each.includes(`did you mean ${name}?`),
          ),
          `${path}.${name}x: ${messages.join(' · ')}`,
        )
        tried++
      }
      if (isScalar(value)) {
        const [from = 0, to = 0] = value.range ?? []
        const at = shipped.slice(0, from).split('\n').length
        const messages = messagesOf(`${shipped.slice(0, from)}[[]]${shipped.slice(to)}`)
        t.ok(
          messages.some((each) => each.startsWith(`x.yaml:${at}:`)),
          `${path}.${name}: [[]]: ${messages.join(' · ')}`,
        )
        tried++
      } else look(value, path === '' ? name : `${path}.${name}`)
    }
  }
  look(document.contents, '')
  t.ok(tried > 80, `${tried} changes`)
  t.end()
})

t.test('what can’t be read is a sentence', (t) => {
  const dir = folderOf(t, { folder: {}, 'huge.yaml': '#'.repeat(2 ** 21) })
  const bomb = join(dir, 'bomb.yaml')
  const levels = Array.from({ length: 9 }, (_, i) =>
    i === 0 ? 'a0: &a0 [lol]' : `a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`,
  )
  writeFileSync(bomb, `${levels.join('\n')}\nplans: *a8\n`)
  for (const [file, sentence] of [
    [join(dir, 'folder'), /^the configuration .* can't be read: EISDIR/],
    [join(dir, 'nowhere.yaml'), /can't be read: ENOENT/],
    [join(dir, 'huge.yaml'), /it has 2,097,152 bytes; at most 1,048,576 are allowed/],
  ] as const) {
    t.throws(() => loadConfig(file), { message: sentence })
  }
  const started = performance.now()
  t.throws(() => loadConfig(bomb), { message: /:1:1: YAML aliases expand to too much data$/ })
  t.ok(performance.now() - started < bound(1_000), 'a bomb of aliases does not go off')
  const locked = join(dir, 'locked.yaml')
  writeFileSync(locked, shipped)
  chmodSync(locked, 0)
  if (process.getuid?.() !== 0) t.throws(() => loadConfig(locked), { message: /EACCES/ })
  t.end()
})

t.test('a file is read as the library reads it, also one with a slip', (t) => {
  const random = seeded(28)
  const entries = [
    '{ path: /a/*, upstream: u }',
    'path: /b\n    upstream: *u',
    '&n { path: /c }',
    '*u',
  ]
  const others = [
    '# a remark',
    'yes',
    '"text"',
    '|\n    lines\n    of text',
    '- a list\n    - in it',
  ]
  const slips = [
    '\n',
    '- ',
    '*',
    '&',
    '{',
    ']',
    ': ',
    ',',
    '"',
    '\t',
    '!',
    '---\n',
    '...\n',
    '? ',
    '\r\n',
  ]
  const oneOf = (texts: readonly string[]): string => texts[random(texts.length)] ?? ''
  const sums = (document: Document.Parsed) => {
    const nodes: unknown[] = []
    visit(document, { Node: (_key, node) => void nodes.push([node.constructor.name, node.range]) })
    // Names that are twice, and aliases of nothing, are told of in other words.
    const [first] = document.errors
      .filter(({ code, message }) => code !== 'DUPLICATE_KEY' && !message.includes('in quotes'))
      .sort((one, other) => one.pos[0] - other.pos[0])
    // A file with a mistake of YAML is refused by the first one, whatever its nodes are.
    if (first) return [first.code, first.pos[0]]
    try {
      return [nodes, document.toJS()]
    } catch (error) {
      // An alias whose anchor was lost.
      return [nodes, String(error)]
    }
  }
  const counts = { sound: 0, broken: 0 }
  const compare = (text: string, name: string): void => {
    const ours = sums(yamlDocument(text, new LineCounter()))
    const library = parseDocument(text, { prettyErrors: false, logLevel: 'error' })
    if (!isDeepStrictEqual(ours, sums(library))) t.strictSame(ours, sums(library), name)
    counts[library.errors.length > 0 ? 'broken' : 'sound']++
  }
  for (let run = 0; run < 300; run++) {
    const indent = oneOf(['', '  '])
    const items = Array.from(
      { length: 1 + random(20) },
      () => `${indent}- ${oneOf([...entries, ...others])}`,
    )
    // In YAML 1.1, yes is true.
    const directive = oneOf(['', '', '', '%YAML 1.1\n---\n'])
    let text = `${directive}u: &u { a: 1 }\nroutes:\n${items.join('\n')}\nplans: [a, b]\n`
    for (let slip = random(3); slip > 0; slip--) {
      const at = random(text.length)
      text = text.slice(0, at) + oneOf(slips) + text.slice(at + random(3))
    }
    compare(text, `run ${run}: ${text}`)
  }
  const item = '  - { path: /a }\n'
  for (const tag of ['', ' !!pairs', ' !!omap', ' &a']) {
    for (const stray of [
      '',
      '    methods: [GET]\n',
      '    *a\n',
      '    # a remark\n',
      '  methods: [GET]\n',
    ]) {
      // Where nothing strays, it stands nowhere.
      for (const before of stray === '' ? [0] : [0, 1, 2, 3]) {
        const text = `routes:${tag}\n${item.repeat(before)}${stray}${item.repeat(3 - before)}`
        compare(text, `after ${before} items of a list${tag}: ${stray}`)
      }
    }
  }
  t.ok(counts.sound > 30 && counts.broken > 30, `both kinds: ${JSON.stringify(counts)}`)
  t.end()
})

t.test('lists of YAML that are none, and very long ones, are refused with a sentence', (t) => {
  const mistakeOf = (text: string): string => {
    const { stackTraceLimit } = Error
    // The library makes an error of each comma; without stacks that takes a fifth of the time.
    Error.stackTraceLimit = 0
    try {
      parseConfig(text, {}, 'x')
    } catch (error) {
      if (error instanceof ConfigError) return error.message.slice(0, 1_000)
      throw error
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
    return ''
  }
  for (const tag of ['!!pairs', '!!omap'])
    t.match(
      mistakeOf(`routes: ${tag}\n  - { path: /a }\n`),
      'x:2:3: routes must be a list of routes',
    )
  t.match(mistakeOf(`routes:\n${'-\n'.repeat(130_000)}`), 'routes[0] must be a section')
  const commas = `routes:\n  - [${','.repeat(130_000)}]\n${'  - a\n'.repeat(150)}`
  t.match(mistakeOf(commas), 'Unexpected , in flow sequence')
  t.end()
})
