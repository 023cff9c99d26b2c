import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { findingLine, type Finding } from '../../../gateway/office/config/finding.ts'
import { runCommand } from '../../support/command.ts'
import { messagesOf } from '../../support/configuration.ts'

type Checked = Readonly<{
  file: string
  sound: boolean
  mistakes: Omit<Finding, 'isWarning'>[]
  warnings: Omit<Finding, 'isWarning'>[]
  unset?: string[]
}>

const folder = mkdtempSync(join(tmpdir(), 'check-'))
t.teardown(() => rmSync(folder, { recursive: true }))

/** A file of the test's with some text. */
function fileOf(text: string, name = 'x.yaml'): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

async function check(text: string, more: readonly string[] = [], environment = {}) {
  const file = fileOf(text)
  const { code, out, stdout } = await runCommand(['config', 'check', file, ...more], environment)
  return { file, code, out, stdout }
}

async function checkJson(text: string, more: readonly string[] = [], environment = {}) {
  const { code, out, file } = await check(text, [...more, '--json'], environment)
  return { code, file, checked: JSON.parse(out) as Checked }
}

const wrong = `plans:
  free:
    perMinute: 6O
    perDay: 60
  pro: { perMinute: 90, perDay: 80 }
  odd: { perMinuet: 1, perDay: 5 }
routes:
  - path: /v1/*
    upstream: animals
  - {}
upstreams:
  animals: { targets: [ { url: "\${HOST}" } ] }
`

t.test('the JSON of a check has all parts of each mistake and warning', async (t) => {
  const { code, file, checked } = await checkJson(wrong)
  t.equal(code, 2)
  t.match(checked, { file, sound: false })
  const places = checked.mistakes.map(({ place, line, column }) => [place, line, column])
  t.strictSame(places, [
    ['plans.free.perMinute', 3, 16],
    ['plans.odd.perMinuet', 6, 10],
    ['routes[1].path', 10, 5],
    ['routes[1].upstream', 10, 5],
    ['upstreams.animals.targets[0].url', 12, 32],
  ])
  const { warnings, ...known } = checked
  t.match(warnings, [
    { file, line: 5, column: 21, place: 'plans.pro.perMinute', message: /is never reached/ },
  ])
  t.strictSame(
    known.mistakes.map((each) => findingLine({ ...each, isWarning: false })),
    messagesOf(wrong, file),
    'the lines that people read',
  )
})

t.test('a check prints one JSON value whatever it finds', async (t) => {
  const nowhere = join(folder, 'nowhere.yaml')
  const { code, out } = await runCommand(['config', 'check', nowhere, '--json'], {})
  t.equal(code, 2)
  const [mistake, ...more] = (JSON.parse(out) as Checked).mistakes
  t.match(mistake, { file: nowhere, line: null, column: null, place: '', message: /ENOENT/ })
  t.strictSame(more, [])
  for (const [text, place] of [
    ['plans: [', ''],
    ['plans: { a: custom, a: custom }\nroutes: []', 'plans.a'],
    ['# nothing', ''],
  ] as const) {
    const { code, checked } = await checkJson(text)
    t.equal(code, 2)
    t.equal(checked.mistakes[0]?.place, place, text)
  }
  const sound = await checkJson('plans: { a: custom }\nroutes: []')
  t.equal(sound.code, 0)
  t.strictSame(sound.checked, { file: sound.file, sound: true, mistakes: [], warnings: [] })
})

t.test('of many mistakes a check tells a hundred, and how many more there are', async (t) => {
  const plans = Array.from({ length: 130 }, (_, i) => `  p${i}: { perMinute: 6O, perDay: 60 }\n`)
  const text = `plans:\n${plans.join('')}routes: []\n`
  const { code, checked } = await checkJson(text)
  t.equal(code, 2)
  t.match(checked, { sound: false, mistakes: { length: 100 }, more: 30 })
  const lines = (await check(text)).out.trimEnd().split('\n')
  t.equal(lines.length, 101)
  t.equal(lines[100], 'and 30 more')
  t.notMatch((await checkJson(wrong)).checked, { more: Number })
})

const variable = `plans:
  free: { perMinute: \${FREE}, perDay: 60 }
routes: [ { path: /v1/*, upstream: animals, cost: \${COST:-5} } ]
store: { redis: "\${REDIS_URL}" }
upstreams:
  animals: { targets: [ "http://\${HOST}:\${PORT}" ] }
  plants: { targets: [ "http://\${PLANTS}" ] }
`

t.test('a variable that isn’t set may be any value that could stand there', async (t) => {
  t.match(await check(variable), { code: 2, out: /variable FREE is not set/ })
  const { code, out, file } = await check(variable, ['--unset', 'ok'], { HOST: 'animals' })
  t.equal(code, 0)
  t.match(out, /upstreams\.plants isn’t used by any route\n/, 'warnings are still told')
  const names = 'FREE, REDIS_URL, PORT, PLANTS'
  const sound = `${file} is valid: 1 plan, 1 route, 2 upstreams. Not set: 4 variables (${names}).`
  t.equal(out.trimEnd().split('\n').at(-1), sound)
  const { checked } = await checkJson(variable, ['--unset', 'ok'], { HOST: 'animals' })
  t.strictSame(checked.unset, names.split(', '))
  const section = variable.replace(
    '{ path: /v1/*, upstream: animals, cost: ${COST:-5} }',
    '"${ROUTE}"',
  )
  t.match(await check(section, ['--unset', 'ok']), {
    code: 2,
    out: /routes\[0\] must be a section of settings/,
  })
  t.match(await check(variable, ['--unset', 'ok'], { FREE: '6O' }), { code: 2, out: /got "6O"/ })
})
