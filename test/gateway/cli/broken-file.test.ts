import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { commandLine } from '../../support/command-line.ts'
import { runCommand } from '../../support/command.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { start, token } from '../../support/operator.ts'
import { startRedis } from '../../support/redis.ts'

const more = `plans:
  free: { perMinute: 60, perDay: 1000 }
  pro: { perMinute: 300, perDay: 10000 }`

const goesOn = /^\S+gateway\.yaml:\d+:\d+: .*: the gateway goes on with what it read at 2\S+ \S+Z\n/

const strict = [
  ['config', 'check'],
  ['config', 'show'],
  ['config', 'edit', 'plans.free.perMinute=3'],
  ['plans', 'preview', 'free', '--per-minute', '2'],
  ['store', 'backup', 'x'],
]

t.test('commands go on while the saved file has a mistake, by what the gateway runs', async (t) => {
  const { url } = await startUpstream(t)
  const { file } = await start(t, { upstream: url, more })
  const run = (...words: string[]) =>
    runCommand([...words, '--config', file], { ADMIN_TOKEN: token })
  const made = await run('keys', 'create', '--plan', 'pro', '--name', 'A', '--json')
  const { id } = json(made.stdout) as { id: string }
  const sound = readFileSync(file, 'utf8')
  const broken = {
    'a wrong value': sound.replace('perMinute: 300', 'perMinute: 3OO'),
    'a plan that is no section': sound.replace('{ perMinute: 300, perDay: 10000 }', 'much'),
    'an open bracket': sound.replace('{ perMinute: 300,', '{ perMinute: [ 300,'),
    'a section without a name': `${sound}\n  : x\n`,
    'many mistakes': sound.replace('perDay: 1000 ', 'perDay: x, perHour: x, perMonth: x '),
  }
  for (const [what, text] of Object.entries(broken)) {
    t.not(text, sound)
    writeFileSync(file, text)
    const shown = await run('keys', 'show', id)
    t.match(shown, { code: 0, out: goesOn }, what)
    t.match(shown.stdout, /minute: +0 of 300 used \(plan pro\)/, what)
    t.match(await run('keys', 'list'), { code: 0, stdout: /A +pro +active/ }, what)
    t.match(await run('bans', 'list'), { code: 0, out: goesOn }, what)
    t.match(await run('now'), { code: 0, out: goesOn }, what)
    const running = await run('config', 'running')
    t.match(running, { code: 0, stdout: /It refuses the current file:/ }, what)
    t.match(await run('config', 'reload'), { code: 1, out: /answers 409: The file is refused/ })
    t.match(await run('explain', 'AAAAAAAAAAAAAAAAAAAAAA'), { code: 1, out: goesOn }, what)
    t.match(await run('keys', 'change', id, '--plan', 'free'), { code: 0, out: goesOn }, what)
    t.match(await run('keys', 'change', id, '--plan', 'pro'), { code: 0 }, what)
    t.match(await run('keys', 'create', '--plan', 'x', '--name', 'B'), { code: 1, out: /plan "x"/ })
    for (const command of strict) {
      const refused = await run(...command)
      t.match(refused, { code: 2, stdout: '' }, `${what}: ${command.join(' ')}`)
      t.notMatch(refused.out, /goes on/)
    }
  }
  t.match(await run('now'), { out: /, and 2 more: the gateway goes on/ })
})

t.test(
  'without a gateway they go by the rest of the file, and never by another store',
  async (t) => {
    const redis = await startRedis(t)
    const { file, env, run } = await commandLine(t, `redis: "\${REDIS}"`, more)
    const withRedis = (...words: string[]) => runCommand(words, { ...env, REDIS: redis.url })
    t.match(await withRedis('keys', 'create', '--plan', 'free', '--name', 'A'), { code: 0 })
    const sound = readFileSync(file, 'utf8')
    writeFileSync(file, sound.replace('perMinute: 300', 'perMinute: 3OO'))
    const listed = await withRedis('keys', 'list')
    t.match(listed, { code: 0, stdout: /A +free +active/ })
    t.match(
      listed.out,
      /: plans\.pro\.perMinute must be .*: this goes by the valid part of the file \(no gateway answers at /,
    )
    t.match(await withRedis('plans', 'list'), { code: 0, stdout: /^free .*\n(?!pro)/m })
    const astray =
      /^\S+: the environment variable REDIS is not set;.*\n.*needs the store, and its place can’t be/
    t.match(await run('keys', 'list'), { code: 2, out: astray })
    writeFileSync(file, sound.replace('redis: ', 'redes: '))
    const create = ['keys', 'create', '--plan', 'free', '--name', 'B']
    t.match(await withRedis(...create), { code: 2, out: /needs the store, and its place can’t/ })
    writeFileSync(file, 'plans: [')
    t.match(await withRedis('config', 'running'), { code: 1, out: /no gateway answers at/ })
    t.match(await withRedis('keys', 'list'), { code: 2, out: /needs the store/ })
  },
)

t.test('another store never takes the place of the one that can’t be read', async (t) => {
  const { url } = await startUpstream(t)
  const { file } = await start(t, { upstream: url, more })
  const run = (environment: Record<string, string>, ...words: string[]) =>
    runCommand([...words, '--config', file], environment)
  const admin = { ADMIN_TOKEN: token }
  t.match(await run(admin, 'keys', 'create', '--plan', 'free', '--name', 'Mine'), { code: 0 })
  const sound = readFileSync(file, 'utf8')
  const [place = '', path = ''] = /^store: .*file: "?([^"\s}]+)"?.*$/m.exec(sound) ?? []
  t.ok(path)
  const create = ['keys', 'create', '--plan', 'free', '--name', 'Lost']
  for (const broken of [
    place.replace(path, '${NOVAR}').replaceAll('"', ''),
    place.replace('store:', 'sotre:'),
    `store: { file: ${path}x, filf: y }`,
    '',
  ]) {
    writeFileSync(file, sound.replace(place, broken).replace('perMinute: 300', 'perMinute: 3OO'))
    t.match(await run(admin, 'keys', 'list'), { code: 0, stdout: /Mine/ }, broken)
    for (const command of [['keys', 'list'], create])
      t.match(await run({}, ...command), { code: 2, out: /needs the store, and its place/ }, broken)
  }
  const cut = sound.slice(0, sound.indexOf(path) + path.length - 4)
  writeFileSync(
    file,
    `${cut
      .split('\n')
      .filter((line) => !line.startsWith('store'))
      .join('\n')}\nstore: { file: ${path.slice(0, -3)}`,
  )
  t.match(await run({}, 'keys', 'list'), { code: 2, out: /needs the store, and its place/ })
})
