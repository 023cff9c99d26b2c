import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync, mkdirSync, chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isMap, isScalar, parseDocument, type Node } from 'yaml'
import {
  ConfigError,
  loadConfig,
  parseConfig,
  previewConfig,
  readConfig,
} from '../../gateway/config/load.ts'
import { jsonSchema } from '../../gateway/config/json-schema.ts'
import { withoutPasswords } from '../../gateway/config/mask.ts'
import { nearest } from '../../gateway/config/near.ts'
import { durationFrom, instantFrom, sizeFrom } from '../../gateway/config/units.ts'
import { root, startProcess } from '../support/process.ts'
import { token } from '../support/operator.ts'
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

/** A file that takes from the environment wherever a value may stand. */
const filled = `
plans:
  free: { perMinute: 60, perDay: "unlimited", bans: "\${BANS}" }
  dear: "\${PLAN}"
store:
  file: "\${FOLDER:-data}/gateway.db"
  prefix: "\${PREFIX}"
  timeout: "\${TIMEOUT}"
  redis: { sentinels: [ "\${HOST}:26379" ], name: gw, password: "\${PASSWORD}", sentinelPassword: in-the-file }
strangers: { perMinute: 60, perDay: "\${DAY:-unlimited}" }
upstreams:
  animals:
    targets: [ "http://\${HOST}:8090" ]
    timeout: { connect: "\${TIMEOUT}" }
    probes: [ { request: "GET /v1/\${WORD}" } ]
routes:
  - { path: "/v1/\${WORD}", upstream: "\${NAME}", methods: [ "\${METHOD}" ], bodyLimit: "\${SIZE}" }
deprecations:
  - { operation: "\${METHOD} /v1/\${WORD}", since: "\${SINCE}", docs: "https://x/?token=\${WORD}" }
trustedProxies: [ "\${PROXY}" ]
drain: "\${TIMEOUT}"
`
const environment = {
  ...{ BANS: 'off', PLAN: 'custom', PREFIX: 'canary-prefix', TIMEOUT: '7s', HOST: 'canary-host' },
  ...{ PASSWORD: 'canary-password', WORD: 'canary-word', NAME: 'animals', METHOD: 'DELETE' },
  ...{ SIZE: '7MiB', SINCE: '2007-07-07', PROXY: '77.77.77.77' },
}

t.test('what comes from the environment is shown by its name, and what doesn’t as it is', (t) => {
  const file = join(t.testdir(), 'x.yaml')
  writeFileSync(file, filled)
  const { config, shown } = readConfig(file, environment)
  t.equal(config.drainMs, 7_000)
  t.equal(config.plans.get('free')?.bans, false)
  t.match(shown, {
    plans: { free: { limits: { perMinute: 60 }, bans: '${BANS}' }, dear: { limits: '${PLAN}' } },
    store: {
      ...{ file: 'data/gateway.db', prefix: '${PREFIX}', timeoutMs: '${TIMEOUT}' },
      redis: { sentinels: ['${HOST}:26379'], password: '${PASSWORD}', sentinelPassword: '…' },
    },
    strangers: { perDay: 'unlimited' },
    upstreams: {
      animals: {
        targets: [{ url: 'http://${HOST}:8090' }],
        timeouts: { connectMs: '${TIMEOUT}', responseMs: 10_000 },
        probes: [{ method: 'GET', target: '/v1/${WORD}' }],
      },
    },
    routes: [{ upstream: '${NAME}', methods: ['${METHOD}'], bodyLimit: '${SIZE}' }],
    deprecations: [{ sinceMs: '${SINCE}', docs: 'https://x/?token=…' }],
    trustedProxies: ['${PROXY}'],
    drainMs: '${TIMEOUT}',
  })
  t.notMatch(JSON.stringify(shown), /canary|7000|77\.77|2007|in-the-file|DELETE/)
  t.strictSame(
    previewConfig(filled, environment, 'body'),
    shown,
    'and by its name alone it is sound',
  )
  const other = {
    ...environment,
    ...{ BANS: 'on', TIMEOUT: '9s', WORD: 'other', NAME: 'no', SIZE: '1B' },
  }
  t.strictSame(previewConfig(filled, other, 'body'), shown, 'whatever it says')
  t.throws(() => previewConfig(filled, { ...other, NAME: '' }, 'body'), {
    message:
      'body:17:38: the environment variable NAME is not set; set it, or write ${NAME:-otherwise}',
  })
  t.end()
})

t.test('a mistake quotes what is written, not what the environment says', (t) => {
  const secret = 'canary-of-the-environment'
  const more = `
cors: "\${SECRET}"
quota: { path: [ "\${SECRET}" ] }
headers: { ietf: "\${SECRET}" }
`
  const faulty = filled
    .replace('"${NAME}"', '"${SECRET}"')
    .replace('"${PROXY}"', '"${SECRET}"')
    .replace('"${METHOD} /v1/${WORD}"', '"GET /${SECRET}"')
    .replace(
      'probes:',
      'tls: { ca: "/${SECRET}.pem" }, probes:'.replace(', probes:', '\n    probes:'),
    )
  const told = messagesOf(faulty + more, 'x', { ...environment, SECRET: secret })
  t.match(told.join('\n'), /names no upstream, got "\$\{SECRET\}"; there are animals/)
  t.match(told.join('\n'), /operation is covered by no route: GET \/\$\{SECRET\}/)
  t.match(told.join('\n'), /such as 10\.0\.0\.0\/8 or 2001:db8::\/32, got "\$\{SECRET\}"/)
  t.match(told.join('\n'), /tls\.ca can't be read: there is no such file/)
  t.match(told.join('\n'), /cors must be a section of settings, got \$\{SECRET\}/)
  t.match(told.join('\n'), /quota\.path must be a path such as \/healthz, got \["\$\{SECRET\}"\]/)
  t.equal(told.length, 8)
  t.notMatch(told.join('\n'), secret)
  const named = messagesOf(filled.replace('animals:', '${SECRET}:'), 'x', {
    ...environment,
    SECRET: secret,
  })
  t.notMatch(named.join('\n'), secret, 'nor in the place of a name')
  t.end()
})

t.test('a certificate is a file of a size that is looked at before it is read', (t) => {
  const dir = t.testdir({ 'huge.pem': 'x'.repeat(2 ** 20 + 1), 'sound.pem': 'x' })
  execFileSync('mkfifo', [join(dir, 'pipe')])
  const told = (ca: string): string[] =>
    messagesOf(shipped.replace('targets:', `tls: { ca: ${ca} }\n    targets:`))
  t.strictSame(told(join(dir, 'sound.pem')), [])
  for (const [ca, why] of [
    [join(dir, 'pipe'), 'this is no file'],
    [dir, 'this is no file'],
    ['/dev/zero', 'this is no file'],
    [join(dir, 'huge.pem'), 'it has 1048577 bytes, and may have 1048576'],
    [join(dir, 'none.pem'), 'there is no such file'],
  ] as const) {
    t.match(told(ca), [new RegExp(`upstreams\\.animals\\.tls\\.ca can't be read: ${why}$`)], ca)
  }
  t.end()
})

t.test('no password of a URL is shown, however it is written', (t) => {
  for (const [url, shown] of [
    ['redis://:hunter2@redis:6379', 'redis://…@redis:6379'],
    ['redis://:hunter@2@redis', 'redis://…@redis'],
    ['redis://:hun/ter@2@redis/0', 'redis://…@redis/0'],
    ['redis://me:hun ter?2#@redis', 'redis://…@redis'],
    ['rediss:/me:hunter2@redis', 'rediss:…@redis'],
    ['redis://redis:6379?password=hunter2&db=1', 'redis://redis:6379?password=…&db=1'],
    ['redis://redis?db=1&PassWord=hunter2', 'redis://redis?db=1&PassWord=…'],
    ['redis://redis?p%61ssword=hun=ter2', 'redis://redis?p%61ssword=…'],
    ['http://me:hun@ter2@docs.example/x', 'http://…@docs.example/x'],
    ['http://docs.example/x?to=http://me:hunter2@y', 'http://…@y'],
    ['https://docs.example/x?api_key=hunter2', 'https://docs.example/x?api_key=…'],
    ['https://docs.example/@team', 'https://docs.example/@team'],
    ['/v1/pets?status=available', '/v1/pets?status=available'],
  ] as const) {
    t.equal(withoutPasswords(url), shown)
  }
  const many = '//'.repeat(2 ** 19)
  const started = performance.now()
  t.equal(withoutPasswords(many), many)
  t.ok(performance.now() - started < bound(500), 'and long ones take no time')
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
    const process = startProcess(t, 'gateway/cli/main.js', { args, env: { ADMIN_TOKEN: token } })
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
