import { readdirSync, readFileSync, writeFileSync, mkdirSync, chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isMap, isScalar, parseDocument, type Node } from 'yaml'
import { ConfigError, loadConfig, parseConfig } from '../../gateway/config/load.ts'
import { jsonSchema } from '../../gateway/config/json-schema.ts'
import { nearest } from '../../gateway/config/near.ts'
import { durationFrom, instantFrom, sizeFrom } from '../../gateway/config/units.ts'
import { root, startProcess } from '../support/process.ts'
import { bound } from '../support/promises.ts'

const folder = join(root, 'test/gateway/configs')
const shipped = readFileSync(join(root, 'config/gateway.yaml'), 'utf8')

function messagesOf(text: string, name = 'x.yaml', environment = {}): string[] {
  try {
    parseConfig(text, environment, name)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

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
  t.match(message, /^x:\d+:\d+: store\.redis must be .*, got \$\{REDIS_URL:-\}$/)
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

t.test('what can’t be read is a sentence', async (t) => {
  const dir = t.testdir({ folder: {}, 'huge.yaml': '#'.repeat(2 ** 21) })
  const bomb = join(dir, 'bomb.yaml')
  const levels = Array.from({ length: 9 }, (_, i) =>
    i === 0 ? 'a0: &a0 [lol]' : `a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`,
  )
  writeFileSync(bomb, `${levels.join('\n')}\nplans: *a8\n`)
  for (const [file, sentence] of [
    [join(dir, 'folder'), /^the configuration .* can't be read: EISDIR/],
    [join(dir, 'nowhere.yaml'), /can't be read: ENOENT/],
    [join(dir, 'huge.yaml'), /it has 2097152 bytes, and may have 1048576/],
  ] as const) {
    t.throws(() => loadConfig(file), { message: sentence })
  }
  const started = performance.now()
  t.throws(() => loadConfig(bomb), { message: /:1:1: its aliases make too much of it$/ })
  t.ok(performance.now() - started < bound(1_000), 'a bomb of aliases does not go off')
  const locked = join(dir, 'locked.yaml')
  writeFileSync(locked, shipped)
  chmodSync(locked, 0)
  if (process.getuid?.() !== 0) t.throws(() => loadConfig(locked), { message: /EACCES/ })
  const { ended, output } = startProcess(t, 'gateway/main.js', {
    env: { TOLLGATE_CONFIG: join(folder, 'several.yaml') },
  })
  const begun = performance.now()
  t.equal((await ended).code, 2, 'and a gateway does not start with it')
  t.ok(performance.now() - begun < bound(2_000))
  t.equal(output().trim().split('\n').length, 5, 'but tells all of it')
  mkdirSync(join(dir, 'more'))
})

t.test('a configuration is never changed', (t) => {
  const config = parseConfig(shipped, {}, 'x')
  t.throws(() => Object.assign(config.listen, { port: 1 }), TypeError)
  t.throws(() => (config.plans as Map<string, unknown>).set('x', 1), TypeError)
  t.throws(() => Object.assign(config.plans.get('free')?.limits ?? {}, { perDay: 1 }), TypeError)
  t.throws(() => (config.routes as unknown[]).push(1), TypeError)
  t.end()
})

t.test('the schema for editors is the one that the gateway goes by', (t) => {
  const file = JSON.parse(readFileSync(join(root, 'config/gateway.schema.json'), 'utf8')) as unknown
  t.strictSame(file, JSON.parse(JSON.stringify(jsonSchema())), 'else run: npm run schema')
  t.match(shipped, /^# yaml-language-server: \$schema=gateway\.schema\.json\n/)
  t.end()
})

t.test('units', (t) => {
  t.strictSame(
    ['50ms', '1s', '5m', '24h', '7d'].map(durationFrom),
    [50, 1_000, 300_000, 86_400_000, 604_800_000],
  )
  t.strictSame(
    ['', '5', '5 m', '-5m', '1.5s', '5M', '3651d'].map(durationFrom),
    Array(7).fill(undefined),
  )
  t.strictSame(['1B', '64KiB', '1MiB', '2GiB'].map(sizeFrom), [1, 65_536, 2 ** 20, 2 ** 31])
  t.strictSame(['', '1', '1MB', '1mib', '-1B'].map(sizeFrom), Array(5).fill(undefined))
  t.equal(instantFrom('2030-12-05'), Date.UTC(2030, 11, 5))
  t.equal(instantFrom('2030-12-05T01:00+01:00'), Date.UTC(2030, 11, 5))
  t.strictSame(
    ['2030-12-05T01:00', '2030-13-01', '5 Dec 2030'].map(instantFrom),
    Array(3).fill(undefined),
  )
  t.equal(nearest('strike', ['strikes', 'within']), 'strikes')
  t.equal(nearest('tmies', ['times', 'strikes']), 'times')
  t.equal(nearest('colour', ['strikes', 'within']), undefined)
  t.end()
})

t.test('the commands on configurations', async (t) => {
  const run = async (...args: string[]) => {
    const process = startProcess(t, 'gateway/cli/main.js', { args, env: { ADMIN_TOKEN: 'x' } })
    const { code } = await process.ended
    return { code, out: process.output() }
  }
  const dir = t.testdir()
  const [now, then] = [join(dir, 'now.yaml'), join(dir, 'then.yaml')]
  const yaml = shipped
    .replace('data/gateway.db', join(dir, 'gateway.db'))
    .replace('${REDIS_URL:-}', 'redis://:hunter2@127.0.0.1:1')
  writeFileSync(now, yaml)
  writeFileSync(then, yaml.replace('perDay: 1000 }', 'perDay: 2000 }').replace('8090', '9090'))
  t.match(await run('config', 'check', now), {
    code: 0,
    out: `${now} is sound: 4 plans, 1 route, 1 upstream.\n`,
  })
  t.match(await run('config', 'check', join(folder, 'several.yaml')), {
    code: 2,
    out: /several\.yaml:2:22: .*\n.*several\.yaml:3:10: .*\n.*several\.yaml:7:30: /,
  })
  const shown = await run('config', 'show', now)
  t.match(shown, { code: 0, out: /plans:\n {2}free:\n/ })
  t.notMatch(shown.out, /hunter2/)
  t.match(
    (await run('config', 'show', now, '--json')).out,
    /"targets":\[\{"url":"http:\/\/127\.0\.0\.1:8090","weight":1\}\]/,
  )
  t.match(await run('config', 'diff', now, '--against', now), { code: 0, out: /changes nothing/ })
  const file = join(dir, 'embedded.yaml')
  // Nobody listens at port 1.
  const own = shipped.replace('data/gateway.db', join(dir, 'gateway.db')).replace('8081', '1')
  writeFileSync(file, own)
  writeFileSync(
    then,
    readFileSync(file, 'utf8').replace('perDay: 1000 }', 'perDay: 2000 }').replace('8090', '9090'),
  )
  await run('keys', 'create', '--plan', 'free', '--name', 'A', '--config', file)
  const diff = await run('config', 'diff', then, '--against', file)
  t.equal(diff.code, 0)
  t.match(diff.out, /plans\.free\.limits\.perDay +1000 +2000\n/)
  t.match(
    diff.out,
    /upstreams\.animals\.targets\[0\]\.url +"http:\/\/127\.0\.0\.1:8090" +"http:\/\/127\.0\.0\.1:9090"/,
  )
  t.match(diff.out, /1 key has the plan free\./)
  t.match(await run('config', 'diff', file), {
    code: 1,
    out: /no gateway answers at http:\/\/127\.0\.0\.1:\d+\. Compare two files/,
  })
})
