import t from 'tap'
import { ConfigError } from '../../gateway/office/config/config-error.ts'
import { openapiFrom } from '../../gateway/office/config/openapi.ts'
import { previewConfig } from '../../gateway/office/config/preview.ts'

const bytes = 65_536

/** A text of 64 KiB that repeats a part. */
function filled(part: (i: number) => string, head = '', tail = ''): string {
  let text = head
  for (let i = 0; text.length < bytes; i++) text += part(i)
  return text + tail
}

/** The time within which reading is compared: as many nodes, written as simply as can be. */
const plain = filled(() => '- a\n', 'x:\n')

const name = (i: number): string => i.toString(36)

/** Spellings that take much time in readers that compare each part with all others, or that tell each mistake at length. */
const spellings: Readonly<Record<string, string>> = {
  'deep lists': filled(() => '['),
  'deep lists with their ends': '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'deep sections in a line': filled(() => '{a: '),
  'deep lists as lines': filled(() => '- '),
  'deep names': filled(() => '? '),
  'deep indentation': filled((i) => `${' '.repeat(i)}a:\n`).slice(0, bytes),
  'deep JSON': '{"a":'.repeat(bytes / 5) + '1' + '}'.repeat(bytes / 5),
  commas: filled(() => ',', 'x: [', ']'),
  'short items': filled(() => 'a,', 'x: [', ']'),
  'items of nothing': filled(() => '-\n'),
  'short names': filled((i) => `${name(i)}:\n`),
  'short names in a line': filled((i) => `${name(i)},`, '{', '}'),
  'one name': filled(() => 'a:\n'),
  'names of nothing': filled(() => '?\n'),
  'names of nothing in a line': filled(() => ':,', '{', '}'),
  'names that are lists': filled(() => '? [a]\n'),
  'a number cut by commas': filled(() => '000,', 'plans: {a: 1,', '}'),
  'misspelled names': filled((i) => `perMinuet${name(i)}: 1\n`),
  aliases: filled(() => '*a,', 'a: &a 1\nx: [', ']'),
  anchors: filled((i) => `&${name(i)} 1,`, 'x: [', ']'),
  'anchors with aliases': filled((i) => `&${name(i)} 1,*${name(i)} ,`, 'x: [', ']'),
  'an anchor again and again': filled(() => '&a 1,*a ,', 'x: [', ']'),
  'merge keys': filled(() => '<<: *a,', 'a: &a {b: 1}\nx: {', '}'),
  'a list to merge': filled(() => '*a,', 'a: &a {b: 1}\nx: {<<: [', ']}'),
  'merges of merges': filled(
    (i) => `m${i + 1}: &m${i + 1} {<<: *m${i}, k${i}: 1}\n`,
    'm0: &m0 {}\n',
  ),
  'an alias of much': `a: &a\n${filled(() => ' - a\n').slice(0, bytes / 2 + 1)}\nb: [${'*a,'.repeat(9)}]`,
  comments: filled(() => '#\n'),
  'comments between': filled(() => '-\n#\n', 'x:\n'),
  'blank lines': filled(() => '\n'),
  'blank lines in a text': filled(() => '\n a\n', 'x:\n'),
  'a block of text': filled(() => ' a\n', 'x: |\n'),
  quotes: filled(() => "''", "x: '", "'"),
  'open quotes': filled(() => '"'),
  escapes: filled(() => '\\n', 'x: "', '"'),
  tags: filled(() => '!a b,', 'x: [', ']'),
  documents: filled(() => '---\n'),
  'ends of documents': filled(() => '...\n'),
  directives: filled((i) => `%TAG !${i}! a\n`, '', '---\nx: 1'),
  colons: filled(() => ': '),
  brackets: filled(() => ']'),
  'other brackets': filled(() => '}', 'x: ['),
  'wrong indentation': filled((i) => (i % 2 === 1 ? '  a: 1\n' : ' b: 2\n'), 'x:\n'),
  variables: filled((i) => `- \${A${i}}\n`, 'x:\n'),
  'variables without an end': filled(() => '${A:-', 'x: '),
  'variables without an end, in quotes': filled(() => '${A:-', "x: '", "'"),
  'empty routes': filled(() => '  - {}\n', 'routes:\n'),
  'plans of nothing': filled((i) => ` p${i}:\n`, 'plans:\n'),
}

const readConfig = (text: string): unknown => previewConfig(text, {}, 'body')

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'a configuration': readConfig,
  'an OpenAPI document': openapiFrom,
}

/** The CPU time of reading a text, in milliseconds. */
function timeOf(read: (text: string) => unknown, text: string): number {
  const before = process.cpuUsage()
  try {
    read(text)
  } catch (error) {
    // A mistake is an answer; anything else is a failure of the reader.
    if (!(error instanceof ConfigError)) throw error
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

for (const [what, read] of Object.entries(readers)) {
  t.test(`64 KiB of ${what}, however written, take at most five times the time`, (t) => {
    for (let i = 0; i < 3; i++) timeOf(read, plain)
    const [, usual = 0] = [1, 2, 3].map(() => timeOf(read, plain)).sort((a, b) => a - b)
    for (const [spelling, text] of Object.entries(spellings)) {
      let took = Infinity
      // Another program on the machine can only make it slower.
      for (let i = 0; i < 3 && took > 5 * usual; i++) took = Math.min(took, timeOf(read, text))
      t.ok(
        took <= 5 * usual,
        `${spelling}: ${took.toFixed()} ms, where ${usual.toFixed()} are usual`,
      )
    }
    t.end()
  })
}

t.test('the time of reading plans grows as their number does', (t) => {
  const timeOfPlans = (count: number): number => {
    const plans = Array.from(
      { length: count },
      (_, i) => ` p${i}: {perMinute: ${i + 1}, perDay: 9}\n`,
    )
    const text = `upstreams: {a: {targets: ["http://a"]}}\nroutes: [{path: /*, upstream: a}]\nplans:\n${plans.join('')}`
    return timeOf(readConfig, text)
  }
  const [some, many] = [timeOfPlans(1_000), timeOfPlans(16_000)]
  t.ok(many <= 32 * some, `${many.toFixed()} ms, where a sixteenth of them take ${some.toFixed()}`)
  t.end()
})

const unbearable = /levels deep|more than|never end/

t.test('what has too many levels or aliases, or never ends, is told with its line', (t) => {
  const inLevels = (levels: number) => `x: ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`
  const used = (times: number): string =>
    Array.from({ length: times / 100 }, (_, i) => `&a${i} 1${`, *a${i} `.repeat(100)}`).join()
  for (const [text, mistake] of [
    [inLevels(64), undefined],
    [inLevels(65), ['1:67', /^sections and lists are more than 64 levels deep here: write them/]],
    [`x: [${used(10_000)}]`, undefined],
    [`x: [${used(10_100)}]`, ['1:', /^more than 10000 aliases are used here: write some of/]],
    ['x: |\n *a\n *a\n', undefined],
    ['x:\n - &a [*a]', ['2:8', /^\*a is inside of what it stands for, which would never end/]],
    ['routes: &a { b: [ *a ] }', ['1:19', /^\*a is inside of what it stands for/]],
  ] as const) {
    const told = openapiFrom(text).faults[0]
    const lines = mistakesIn(text)
    if (mistake === undefined) {
      t.notMatch(told?.sentence, unbearable)
      t.notMatch(lines, unbearable)
      continue
    }
    const [place, sentence] = mistake
    t.match(told, { at: place, sentence })
    t.match(lines, `body:${place}`)
    t.match(lines.replace(/^body:[\d:]+ /, ''), sentence)
  }
  t.end()
})

t.test('of very many mistakes, the first hundred in the file’s order are told', (t) => {
  const wrong = (count: number, line: (i: number) => string): string =>
    Array.from({ length: count }, (_, i) => line(i)).join('')
  const variables = wrong(60, (i) => `  v${i}: "\${A}"\n`)
  const unknown = wrong(90, (i) => `  x${i}: { perMinuet: 1, perDay: 2 }\n`)
  const crossed = wrong(70, (i) => `  y${i}: { perMinute: 1, perDay: 2, shadow: { perDay: 3 } }\n`)
  const rest =
    'routes: [ { path: /*, upstream: a } ]\nupstreams: { a: { targets: [ "http://a" ] } }\n'
  for (const [kinds, last] of [
    [[variables, unknown, crossed], /^body:101:\d+: plans\.x39 has no setting "perMinuet"/],
    [[crossed, variables, unknown], /^body:101:\d+: the environment variable A is not set/],
    [[unknown, crossed, variables], /^body:101:\d+: plans\.y9\.shadow\.perDay /],
  ] as const) {
    const lines = mistakesIn(`plans:\n${kinds.join('')}${rest}`).split('\n')
    t.equal(lines.length, 101)
    t.match(lines[99], last)
    t.equal(lines[100], 'and 120 more')
  }
  const lines = mistakesIn(
    `plans: { a: custom }\nroutes: []\n${wrong(100, (i) => `x${i}:\n`)}`,
  ).split('\n')
  t.equal(lines.length, 100)
  t.match(lines[99], /^body:102:1: the file has no setting "x99"/, 'a hundred are all told')
  t.match(mistakesIn(filled(() => 'a: 1\n')), /: a is written twice\nand 13,\d\d\d more$/)
  t.match(mistakesIn(filled(() => '*a,', 'x: [', ']')), /in quotes: '\*a'|more than 10000/)
  t.end()
})

t.test('of very many warnings, the first hundred are told', (t) => {
  const plans = Array.from({ length: 150 }, (_, i) => `p${i}: { perMinute: 9, perDay: 3 }`)
  const rest =
    'routes: [ { path: /*, upstream: a } ]\nupstreams: { a: { targets: [ "http://a" ] } }\n'
  const { warnings } = previewConfig(`plans: { ${plans.join(', ')} }\n${rest}`, {}, 'body')
  t.equal(warnings.length, 101)
  t.match(warnings[0], /^body:1:\d+: warning: plans\.p0\.perMinute is never reached/)
  t.equal(warnings[100], 'and 50 more warnings')
  t.end()
})

t.test('a name as long as the file isn’t quoted as a whole', (t) => {
  const lines = mistakesIn(filled((i) => `? ${'a'.repeat(12_000)}${i}\n: 1\n`)).split('\n')
  t.equal(lines.length, 8)
  t.ok(lines.every(({ length }) => length < 2_100))
  t.end()
})

t.test('a text that takes too much memory is refused before it is read', (t) => {
  const most = 2 ** 20
  const long = (part: string, head: string, tail: string): string =>
    head + part.repeat(Math.floor((most - head.length - tail.length) / part.length)) + tail
  for (const text of [
    long('a,', 'x: [', ']'),
    long('- a\n', 'x:\n', ''),
    long(':,', '{', '}'),
    long('- - - - - - - - - - - -\n', 'x:\n', ''),
    long('{a: {b: {c: {}}}}, ', 'x: [', ']'),
  ]) {
    const lines = mistakesIn(text)
    t.match(lines, /^body:\d+:\d+: more than 400,000 names, values and signs are in this text/)
  }
  const plans = Array.from(
    { length: 28_000 },
    (_, i) => ` p${i}: {perMinute: ${i + 1}, perDay: 9}\n`,
  )
  t.notMatch(mistakesIn(`plans:\n${plans.join('')}`), /more than/, 'a megabyte of plans is read')

  const used = (times: number, size: number): string =>
    `a: &a [${'1,'.repeat(size)}1]\nx: [${'*a,'.repeat(times - 1)}*a]\n`
  t.match(mistakesIn(used(90, 3_000)), /^body:1:1: YAML aliases expand to too much data$/)
  t.notMatch(mistakesIn(used(50, 3_000)), /too much/)
  const nested = Array.from(
    { length: 9 },
    (_, i) => `b${i + 1}: &b${i + 1} [*b${i},*b${i},*b${i}]\n`,
  )
  t.match(mistakesIn(`b0: &b0 [${'1,'.repeat(99)}1]\n${nested.join('')}`), /too much data$/)
  t.end()
})

function mistakesIn(text: string): string {
  try {
    previewConfig(text, {}, 'body')
    return ''
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}
