import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync, mkdirSync, chmodSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import t from 'tap'
import { isMap, isScalar, LineCounter, parseDocument, visit, type Document, type Node } from 'yaml'
import { descriptions } from '../../gateway/config/descriptions.ts'
import { changeOf, differencesOf } from '../../gateway/config/diff.ts'
import { ConfigError } from '../../gateway/config/config-error.ts'
import { loadConfig, parseConfig, readConfig } from '../../gateway/config/load.ts'
import { NamedFiles } from '../../gateway/config/named-files.ts'
import { previewConfig } from '../../gateway/config/preview.ts'
import { jsonSchema } from '../../gateway/config/json-schema.ts'
import { withoutPasswords } from '../../gateway/config/mask.ts'
import { nearest } from '../../shared/near.ts'
import { fileSchema } from '../../gateway/config/schema.ts'
import { configText } from '../../gateway/config/show.ts'
import { yamlDocument } from '../../gateway/config/yaml-document.ts'
import { atOnce } from '../../shared/pieces.ts'
import { durationFrom, instantFrom, sizeFrom } from '../../shared/units.ts'
import { startAdmin } from '../support/admin.ts'
import { appOfCosts } from '../support/routes.ts'
import { runCommand } from '../support/command.ts'
import { root, startProcess } from '../support/process.ts'
import { settingsOf } from '../support/settings.ts'
import { selfSigned } from '../support/certificate.ts'
import { token } from '../support/operator.ts'
import { bound } from '../support/promises.ts'
import { seeded } from '../support/seeded.ts'

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
  t.match(
    message,
    /^x:\d+:\d+: store\.redis must be .*, got \$\{REDIS_URL:-\}, where REDIS_URL is set$/,
  )
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
  - { path: "/v1/\${WORD}", upstream: "\${NAME}", methods: [ "\${METHOD}", GET ], bodyLimit: "\${SIZE}" }
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
    plans: { free: { perMinute: 60, bans: '${BANS}' }, dear: { limits: '${PLAN}' } },
    store: {
      ...{ file: 'data/gateway.db', prefix: '${PREFIX}', timeout: '${TIMEOUT}' },
      redis: { sentinels: ['${HOST}:26379'], password: '${PASSWORD}', sentinelPassword: '…' },
    },
    strangers: { perDay: 'unlimited' },
    upstreams: {
      animals: {
        targets: [{ url: 'http://${HOST}:8090' }],
        timeout: { connect: '${TIMEOUT}', response: '10s' },
        probes: [{ request: 'GET /v1/${WORD}' }],
      },
    },
    routes: [{ upstream: '${NAME}', methods: ['${METHOD}', 'GET'], bodyLimit: '${SIZE}' }],
    deprecations: [{ since: '${SINCE}', docs: 'https://x/?token=…' }],
    trustedProxies: ['${PROXY}'],
    drain: '${TIMEOUT}',
  })
  t.notMatch(JSON.stringify(shown), /canary|7000|77\.77|2007|in-the-file|DELETE/)
  t.strictSame(
    previewConfig(filled, environment, 'body').shown,
    shown,
    'and by its name alone it is sound',
  )
  const other = {
    ...environment,
    ...{ BANS: 'on', TIMEOUT: '9s', WORD: 'other', NAME: 'no', SIZE: '1B' },
  }
  t.strictSame(previewConfig(filled, other, 'body').shown, shown, 'whatever it says')
  t.throws(() => previewConfig(filled, { ...other, NAME: '' }, 'body'), {
    message:
      'body:17:38: the environment variable NAME is not set; set it, or write ${NAME:-default}',
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
  t.match(told.join('\n'), /names an unknown upstream, got "\$\{SECRET\}"; there are animals/)
  t.match(told.join('\n'), /such as 10\.0\.0\.0\/8 or 2001:db8::\/32, got "\$\{SECRET\}"/)
  t.match(told.join('\n'), /tls\.ca can't be read: there is no such file/)
  t.match(told.join('\n'), /cors must be a section of settings, got \$\{SECRET\}/)
  t.match(told.join('\n'), /quota\.path must be a path such as \/v1\/quota, got \["\$\{SECRET\}"\]/)
  t.equal(told.length, 6, 'and what follows from a route that is wrong is left out')
  t.notMatch(told.join('\n'), secret)
  const uncovered = filled.replace('"${METHOD} /v1/${WORD}"', '"GET /${SECRET}"')
  t.match(messagesOf(uncovered, 'x', { ...environment, SECRET: secret }), [
    /operation matches no route: GET \/\$\{SECRET\}$/,
  ])
  const named = messagesOf(filled.replace('animals:', '${SECRET}:'), 'x', {
    ...environment,
    SECRET: secret,
  })
  t.notMatch(named.join('\n'), secret, 'nor in the place of a name')
  t.end()
})

t.test('what works but makes no sense is a warning beside its place', async (t) => {
  const text = `
plans:
  free: { perMinute: 60, perDay: 50 }
  pro: { perMinute: unlimited, perDay: 10000 }
  enterprise: { limits: custom, paths: [ /v2/*, '/v1/{kind}/pets', /v1, /v3/x, /v1/quota ] }
listen: { host: 0.0.0.0 }
admin: { host: 0.0.0.0 }
strangers: { perMinute: 2000 }
bans: { grace: 60s }
upstreams:
  animals: { targets: [ "http://127.0.0.1:8090" ] }
  plants:
    targets: [ "http://127.0.0.1:8091" ]
routes:
  - { path: /v1/*, upstream: animals, cost: 60 }
  - { path: /v2/*, upstream: animals, cost: 50 }
drain: 30s
`
  const expected = [
    '3:22: warning: plans.free.perMinute is never reached: perDay is 50',
    '4:21: warning: plans.pro.perMinute is never reached: perDay is 10000',
    '5:68: warning: plans.enterprise.paths[2] is covered by no route: /v1',
    '5:73: warning: plans.enterprise.paths[3] is covered by no route: /v3/x',
    '7:16: warning: admin.host is 0.0.0.0, which other machines can reach: the gateway starts only if ADMIN_TOKEN is set',
    '8:25: warning: strangers.perMinute is never reached: perDay is 1000',
    '9:16: warning: bans.grace is a minute or longer: a key that goes on after its minute is used up is never banned',
    '13:5: warning: upstreams.plants isn’t used by any route',
    '15:45: warning: routes[0].cost is more than some plans allow, whose keys get 403: free has 50 a day',
    '17:8: warning: drain is longer than shutdown, which is 15s: requests still in flight after shutdown are cut',
  ]
  const file = join(t.testdir({ 'x.yaml': text }), 'x.yaml')
  const lines = expected.map((line) => `${file}:${line}`)
  t.strictSame(readConfig(file, {}).warnings, lines)
  t.strictSame(previewConfig(text, {}, file).warnings, lines)
  const withToken = readConfig(file, { ADMIN_TOKEN: token }).warnings
  t.notMatch(withToken.join(), /ADMIN_TOKEN/)
  t.equal(withToken.length, lines.length - 1)
  const run = async (...args: string[]) => {
    const { ended, output } = startProcess(t, 'gateway/cli/main.ts', { args })
    return { code: (await ended).code, out: output() }
  }
  const sound = `${file} is sound: 3 plans, 2 routes, 2 upstreams.`
  t.strictSame(await run('config', 'check', file), {
    code: 0,
    out: [...lines, sound, ''].join('\n'),
  })
  t.strictSame(JSON.parse((await run('config', 'check', file, '--json')).out), {
    ...{ file, sound: true, mistakes: [], warnings: lines },
  })
  t.strictSame(readConfig(join(root, 'config/gateway.yaml'), {}).warnings, [], 'the shipped: none')
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

t.test('a wrong value of a variable is told, unless it may be a secret', (t) => {
  const told = (text: string, environment: Record<string, string>) =>
    messagesOf(`${text}\nroutes: []\n`, 'x', environment).join('\n')
  const free = (perMinute: string) => `plans: { free: { perMinute: ${perMinute}, perDay: 1000 } }`
  const limit = 'plans.free.perMinute must be a whole number above 0 or "unlimited", got '
  t.match(
    told(free('${FREE:-60}'), { FREE: 'abc' }),
    `${limit}"abc" from FREE, written \${FREE:-60}`,
  )
  t.match(told(free('${FREE:-abc}'), {}), new RegExp(`${limit}\\$\\{FREE:-abc\\}$`))
  t.match(
    told(`${free('60')}\ndrain: "\${ONE}\${TWO}"`, { ONE: '5', TWO: 'x' }),
    'drain must be a duration such as 50ms, 1s, 5m or 24h, got "5x" from ONE and TWO, written ',
  )
  for (const [name, value] of [
    ['FREE_TOKEN', 'abc'],
    ['FREE', 'canary of a secret'],
    ['FREE', 'https://canary.example'],
  ] as const) {
    const sentence = told(free(`\${${name}:-60}`), { [name]: value })
    t.match(sentence, `${limit}\${${name}:-60}, where ${name} is set`)
    t.notMatch(sentence, value)
  }
  const url = told(`${free('60')}\nstore: { redis: "\${URL}" }`, { URL: 'hunter2' })
  t.match(url, 'got ${URL}, where URL is set')
  t.notMatch(url, 'hunter2')
  t.end()
})

t.test('a variable stands for any value, in quotes or not, in braces or not', (t) => {
  const text = `
plans:
  free: { perMinute: \${FREE:-60}, perDay: "\${DAY}" }
  dear: { limits: \${CUSTOM:-custom}, bans: \${BANS} }
listen: { port: \${PORT} }
store: { redis: { cluster: [ \${HOST}:7000, "\${HOST}:7001" ], tls: \${TLS}, password: \${DIGITS} }, prefix: "\${DIGITS}" }
bans: { factor: \${FACTOR:-1.5} }
upstreams: { animals: { targets: [ \${URL:-http://[::1]:8090}, { url: http://\${HOST}, weight: \${WEIGHT:-9} } ] } }
routes: [ { path: /v1/*, upstream: \${NAME}, methods: [\${METHOD:-GET}, POST], cost: '\${COST:-5}' } ]
headers: { ietf: "\${IETF}" }  # \${COMMENT is not read
keys:
  cache: \${CACHE:-7}
quota: { path: "\${QUOTA:-/a, b: {c}}" }
`.replace(', b: {c}', '')
  const said = {
    ...{ DAY: '1000', BANS: 'off', PORT: '9000', HOST: 'redis', TLS: 'true', DIGITS: '123456' },
    ...{ NAME: 'animals', IETF: 'true' },
  }
  const file = join(t.testdir({ 'x.yaml': text }), 'x.yaml')
  const { config, shown } = readConfig(file, said)
  t.match(config, {
    listen: { port: 9_000 },
    store: {
      redis: { cluster: ['redis:7000', 'redis:7001'], tls: true, password: '123456' },
      prefix: '123456',
    },
    bans: { factor: 1.5 },
    routes: [{ upstream: 'animals', methods: ['GET', 'POST', 'HEAD'], cost: 5 }],
    ietfHeaders: true,
    keys: { cache: 7 },
  })
  t.strictSame(config.plans.get('free')?.limits, { perMinute: 60, perDay: 1_000 })
  t.match(config.plans.get('dear'), { limits: 'custom', bans: false })
  t.strictSame(config.upstreams.get('animals')?.targets, [
    { url: 'http://[::1]:8090', weight: 1 },
    { url: 'http://redis', weight: 9 },
  ])
  t.match(shown, {
    plans: { free: { perMinute: 60, perDay: '${DAY}' }, dear: { bans: '${BANS}' } },
    store: { redis: { cluster: ['${HOST}:7000', '${HOST}:7001'], password: '${DIGITS}' } },
  })
  t.strictSame(previewConfig(text, said, 'x').shown, shown)
  const wrong = messagesOf(text, 'x', { ...said, FREE: '6O', WEIGHT: '0', FACTOR: '0.5' })
  t.match(wrong, [
    /^x:3:22: plans\.free\.perMinute must be .*, got "6O" from FREE, written \$\{FREE:-60\}$/,
    /^x:7:17: bans\.factor must be .*, got "0\.5" from FACTOR, written \$\{FACTOR:-1\.5\}$/,
    /^x:8:94: upstreams\.animals\.targets\[1\]\.weight must be .*, got "0" from WEIGHT, written \$\{WEIGHT:-9\}$/,
  ])
  t.equal(wrong.length, 3)
  t.end()
})

/** One of each setting, some of which can't be there together. */
const everySetting = [
  'redis: { cluster: [ "127.0.0.1:7000" ]',
  'redis: { sentinels: [ "[::1]:26379" ], name: gw, sentinelUsername: s, sentinelPassword: p',
].map(
  (redis) => `
name: edge-1.eu_2:7
listen: { host: "::1", port: 0 }
admin: { host: localhost, port: 9001, hosts: [ gateway.internal ], save: true }
store:
  file: some/where.db
  ${redis}, username: u, password: p, tls: { ca: CERT } }
  prefix: "60"
  timeout: 70ms
  whenUnreachable: deny
plans:
  free: { perMinute: 7, perDay: unlimited, shadow: { perMinute: 5, perDay: 900 }, bans: off, methods: [ GET, M-SEARCH ] }
  dear: { limits: custom, bans: off, paths: [ /v1/*, '/v1/{a}' ] }
strangers: { perMinute: unlimited, perDay: unlimited }
bans: { strikes: 7, within: 2m, grace: 0s, for: 7m, factor: 1.5, atMost: 2h, memory: 7d }
keys: { cache: 7 }
quota: { path: /me }
usage: { path: /mine, routes: true }
portal: { path: /help/me, openapi: config/openapi/admin.yaml, rotate: on }
headers: { ietf: true, near: [ 50 ] }
upstreams:
  animals:
    targets: [ { url: "https://10.0.0.1:8443", weight: 9 }, "https://10.0.0.2/" ]
    swap: { to: [ { url: "https://10.0.0.3:8443", weight: 2 } ], steps: [ 5, 50 ], every: 7m, methods: [ GET ], back: { errors: 2%, slower: 3, after: 70, callers: 4 } }
    timeout: { connect: 2s, response: 3s, idle: 4s, request: 5s }
    health: { path: /well, every: 7s, unhealthyAfter: 7 }
    maxInFlight: 7
    fair: off
    tls: { ca: CERT }
    probes: [ { request: HEAD /v1/x?y=1, status: 204 } ]
routes:
  - { path: "/v1/{a}", upstream: animals, cost: 5, methods: [ GET, M-SEARCH ], bodyLimit: 64KiB }
  - { path: "/v1/{b}", upstream: animals, cost: 0 }
  - { path: /old/*, upstream: animals, rewrite: /api/* }
deprecations:
  - operation: DELETE /v1/{a}
    since: 2025-12-05T10:00+01:00
    sunset: 2030-12-05
    replacement: /v2/x?y=true&z=1
    docs: https://docs.example/?token=hunter2
    afterSunset: serve
    brownouts: [ { from: 2026-01-01, to: 2026-01-02 } ]
    extensions:
      - { key: k3yVb0TQnW8d, until: 2031-03-01, spare: true }
      - { account: acme, until: 2031-04-01T08:00Z }
cors: { origins: [ "*", "http://localhost:3000" ] }
traces: { to: "https://collector.example/otlp", sample: 0.5% }
notices: [ { to: "https://10.0.0.9/x", secret: sixteen characters, about: [ key.*, store.back ], allow: [ 10.0.0.0/8 ] } ]
workers: auto
drain: 1s
shutdown: 1m
trustedProxies: [ 10.0.0.0/8, "::1" ]
`,
)

t.test('what is shown of a file is a file that changes nothing', async (t) => {
  const dir = t.testdir({ 'cert.pem': selfSigned().cert })
  const every = everySetting.map((text) => text.replaceAll('CERT', join(dir, 'cert.pem')))
  const written = every.map((text) => parseDocument(text).toJS() as unknown)
  const missing = [...settingsOf(fileSchema).keys()].filter(
    (place) => !written.some((file) => isWritten(file, place)),
  )
  t.strictSame(missing, [], 'each setting is tried')
  const texts = {
    shipped,
    deployed: readFileSync(join(root, 'config/deploy/etc/gateway.yaml'), 'utf8'),
    ...Object.fromEntries(every.entries()),
    filled,
  }
  const said = { ...environment, REDIS_URL: 'redis://:hunter2@redis:6379' }
  for (const [name, text] of Object.entries(texts)) {
    const [file, copy] = [join(dir, `${name}.yaml`), join(dir, `${name}-shown.yaml`)]
    writeFileSync(file, text)
    const before = readConfig(file, said)
    const yaml = configText(before.shown)
    t.notMatch(yaml, /hunter2/)
    writeFileSync(copy, yaml)
    if (yaml.includes('…')) {
      const lost = yaml.split('\n').filter((line) => line.includes('…'))
      const told = messagesOf(yaml, 'x', said)
      t.equal(told.length, lost.length, `each secret that ${name} has lost is told`)
      for (const each of told)
        t.match(each, / has … in place of a secret, as config show prints it: write the secret/)
      continue
    }
    const after = readConfig(copy, said)
    t.strictSame(differencesOf(before.shown, after.shown), [], name)
    t.strictSame(after.config, { ...before.config, hash: after.config.hash }, name)
  }
  t.end()
})

t.test('a secret that was left out when a configuration was shown is missed', (t) => {
  const text = (redis: string) => shipped.replace('${REDIS_URL:-}', redis)
  const told = (redis: string, env = {}) => messagesOf(text(redis), 'x', env).join()
  const sentence =
    ' has … in place of a secret, as config show prints it: write the secret, or ${NAME}'
  t.match(told("'redis://…@redis:6379'"), `store.redis${sentence}`)
  t.match(told("'redis://redis:6379?password=…'"), `store.redis${sentence}`)
  t.match(told('{ cluster: ["a:1"], password: … }'), `store.redis.password${sentence}`)
  t.match(told('${URL}', { URL: 'redis://…@redis' }), `store.redis${sentence}`)
  for (const sound of [
    "'redis://:a…b@redis:6379'",
    '{ cluster: ["a:1"], username: …, password: "${PASSWORD}" }',
    "'redis://:${PASSWORD}@redis'",
  ]) {
    t.equal(told(sound, { PASSWORD: 'x' }), '', sound)
  }
  t.end()
})

function isWritten(value: unknown, place: string): boolean {
  if (place === '') return value !== undefined
  const [, first = '', rest = ''] = /^(\[\]|[^.[]+)\.?(.*)$/.exec(place) ?? []
  if (typeof value !== 'object' || value === null) return false
  const within = ['[]', 'NAME'].includes(first) ? Object.values(value) : [Reflect.get(value, first)]
  return within.some((each) => isWritten(each, rest))
}

t.test('differences are named and told as one writes them', (t) => {
  const before = previewConfig(shipped, {}, 'x').shown
  const changed = shipped
    .replace('perMinute: 60, perDay: 1000 }', 'perMinute: 90, perDay: 1000, bans: off }')
    .replace('timeout: 50ms', 'timeout: 70ms')
    .replace('grace: 1s', 'grace: 2s')
    .replace('/v1/quota', '/me')
    .replace('enterprise: custom', 'enterprise: { limits: custom }\n  gold: custom')
    .replace(/^ {2}business: .*\n/m, '')
  const differences = differencesOf(before, previewConfig(changed, {}, 'x').shown)
  t.strictSame(differences, [
    { place: 'store.timeout', before: '50ms', after: '70ms', needsRestart: true },
    { place: 'plans.free.perMinute', before: 60, after: 90 },
    { place: 'plans.free.bans', before: 'on', after: 'off' },
    {
      place: 'plans.business',
      before: { perMinute: 1_000, perDay: 100_000, bans: 'on' },
      after: null,
    },
    { place: 'plans.gold', before: null, after: { limits: 'custom', bans: 'on' } },
    { place: 'bans.grace', before: '1s', after: '2s' },
    { place: 'quota.path', before: '/v1/quota', after: '/me' },
  ])
  t.equal(changeOf('x', before, before), undefined, 'nothing is nothing to write down')
  t.end()
})

t.test('editors take what the gateway takes, and tell what each setting is for', (t) => {
  const validate = new Ajv({ strict: false }).compile(jsonSchema())
  const isFine = (text: string): boolean => {
    const fine = validate(parseDocument(text).toJS())
    if (!fine) t.comment(validate.errors)
    return fine
  }
  const dir = join(root, 'config')
  for (const file of ['gateway.yaml', 'deploy/etc/gateway.yaml']) {
    t.ok(isFine(readFileSync(join(dir, file), 'utf8')), file)
  }
  for (const text of everySetting) t.ok(isFine(text), 'one of each setting')
  for (const text of everySetting) {
    const document = parseDocument(text)
    let count = 0
    visit(document, {
      Scalar: (key, node) => {
        if (key === 'key') return
        count++
        node.value = '${NAME:-x}'
      },
    })
    t.ok(count > 60, `${count} of them`)
    t.ok(isFine(String(document)), 'a variable in each place')
  }
  for (const wrong of [
    'drain: 5 minutes',
    'drain: 30',
    'store: { timeout: 0s }',
    'routes: [ { path: /v1/*, upstream: x, bodyLimit: 1MB } ]',
    'deprecations: [ { operation: GET /x, since: 5 Dec 2025 } ]',
  ]) {
    const text = `plans: { free: custom }\n${/^routes/.test(wrong) ? '' : 'routes: []\n'}${wrong}`
    t.notOk(validate(parseDocument(text).toJS()), wrong)
    t.not(messagesOf(text).length, 0)
  }
  const described = JSON.stringify(jsonSchema())
  const sections =
    /^(?:[^.[]+|plans\.NAME(?:\.shadow)?|upstreams\.NAME(?:\.\w+){0,2}(?:\[\])?|deprecations\[\]\.(?:brownouts|extensions))$/
  for (const place of settingsOf(fileSchema).keys()) t.ok(descriptions[place], place)
  for (const [place, text] of Object.entries(descriptions)) {
    t.ok(settingsOf(fileSchema).has(place) || sections.test(place), `${place} is a setting`)
    t.ok(described.includes(JSON.stringify(text).slice(1, -1)), `${place} is told`)
  }
  t.end()
})

t.test('what is sound can be served', async (t) => {
  const paths = ['/*', '/v1/*', '/v1/x', '/v1/{a}', '/v1/{b}', '/v1/{a}/*', '/v1/x/', '/', '/me']
  const methods = [undefined, ['GET'], ['POST', 'PUT'], ['HEAD'], ['GET', 'PURGE'], ['DELETE']]
  const route = fc.record({
    path: fc.constantFrom(...paths),
    methods: fc.constantFrom(...methods),
    upstream: fc.constant('animals'),
  })
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(route, { maxLength: 5 }), async (routes) => {
      const text = JSON.stringify({
        plans: { free: 'custom' },
        upstreams: { animals: { targets: ['http://127.0.0.1:1'] } },
        quota: { path: '/me' },
        routes,
      })
      if (messagesOf(text).length > 0) return
      count++
      const config = parseConfig(text, {}, 'x')
      for (const isAlone of [true, false]) await appOfCosts(t, config, isAlone)
    }),
    { seed: 7, numRuns: 150 },
  )
  t.ok(count > 40, `${count} of them`)
})

t.test('a certificate is a file of a size that is looked at before it is read', (t) => {
  const { cert } = selfSigned()
  const dir = t.testdir({
    ...{ 'huge.pem': 'x'.repeat(2 ** 20 + 1), 'sound.pem': cert },
    ...{ 'other.pem': 'x', 'half.pem': cert.slice(0, 200) },
  })
  execFileSync('mkfifo', [join(dir, 'pipe')])
  const told = (ca: string): string[] =>
    messagesOf(shipped.replace('targets:', `tls: { ca: ${ca} }\n    targets:`))
  t.strictSame(told(join(dir, 'sound.pem')), [])
  for (const [ca, why] of [
    [join(dir, 'pipe'), "can't be read: it isn't a file"],
    [dir, "can't be read: it isn't a file"],
    ['/dev/zero', "can't be read: it isn't a file"],
    [join(dir, 'huge.pem'), "can't be read: it has 1048577 bytes; at most 1048576 are allowed"],
    [join(dir, 'none.pem'), "can't be read: there is no such file"],
    [join(dir, 'other.pem'), 'must be a file that begins with a certificate in PEM'],
    [join(dir, 'half.pem'), 'must be a file that begins with a certificate in PEM'],
  ] as const) {
    t.match(told(ca), [new RegExp(`upstreams\\.animals\\.tls\\.ca ${why}$`)], ca)
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
    [join(dir, 'huge.yaml'), /it has 2097152 bytes; at most 1048576 are allowed/],
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
  const { ended, output } = startProcess(t, 'gateway/main.ts', {
    env: { TOLLGATE_CONFIG: join(folder, 'several.yaml') },
  })
  const begun = performance.now()
  t.equal((await ended).code, 2, 'and a gateway does not start with it')
  t.ok(performance.now() - begun < bound(2_000))
  t.equal(output().trim().split('\n').length, 5, 'but tells all of it')
  for (const line of output().trim().split('\n')) t.match(line, /^\/.*several\.yaml:\d+:\d+: /)
  mkdirSync(join(dir, 'more'))
})

t.test('a long list, which is read in parts, is read as the library reads it at once', (t) => {
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
    const [first] = document.errors
      .filter(({ code }) => code !== 'DUPLICATE_KEY')
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
    const ours = sums(atOnce(yamlDocument(text, new LineCounter())))
    const library = parseDocument(text, { prettyErrors: false, logLevel: 'error' })
    if (!isDeepStrictEqual(ours, sums(library))) t.strictSame(ours, sums(library), name)
    counts[library.errors.length > 0 ? 'broken' : 'sound']++
  }
  for (let run = 0; run < 150; run++) {
    const indent = oneOf(['', '  '])
    const items = Array.from(
      { length: 90 + random(250) },
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
      for (const before of [1, 99, 100, 101, 150, 199, 200]) {
        const text = `routes:${tag}\n${item.repeat(before)}${stray}${item.repeat(250 - before)}`
        compare(text, `after ${before} items of a list${tag}: ${stray}`)
      }
    }
  }
  t.ok(counts.sound > 30 && counts.broken > 30, `both kinds: ${JSON.stringify(counts)}`)

  const routes = Array.from({ length: 1_000 }, (_, i) => `  - { path: /r${i}/*, upstream: a }`)
  const lists = [
    `routes:\n${routes.join('\n')}`,
    `routes: [${routes.join(',').replaceAll('- ', '')}]`,
  ]
  const [asList = 0, inLine = 0] = lists.map((text) => {
    return [...yamlDocument(text, new LineCounter())].length
  })
  t.ok(asList >= inLine + 9, `1,000 routes become nodes in ten pieces: ${asList}, ${inLine}`)
  t.end()
})

t.test('lists of YAML that are none, and very long ones, are refused with a sentence', (t) => {
  const mistakeOf = (text: string): string => {
    try {
      parseConfig(text, {}, 'x')
    } catch (error) {
      if (error instanceof ConfigError) return error.message.slice(0, 1_000)
      throw error
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

t.test(
  'a file that a configuration names is used as it was checked, whoever writes to it meanwhile',
  (t) => {
    const folder = t.testdir({ 'document.json': '{}', 'ca.pem': 'a certificate' })
    const files = new NamedFiles(join(folder, 'gateway.yaml'), { readsDocument: true })
    const [document, certificates] = [join(folder, 'document.json'), join(folder, 'ca.pem')]
    const before = [files.openapi(document), files.certificates(certificates)]
    writeFileSync(document, '')
    writeFileSync(certificates, '')
    t.strictSame([files.openapi(document), files.certificates(certificates)], before)
    t.equal(files.certificates(certificates).text, 'a certificate')
    t.end()
  },
)

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

t.test('so are the types for programs', async (t) => {
  const { fileTypes } = await import('../../gateway/config/file-types.ts')
  const { format, resolveConfig } = await import('prettier')
  const file = join(root, 'gateway/config/file.ts')
  const style = await resolveConfig(file)
  const types = await format(fileTypes(), { ...style, parser: 'typescript' })
  t.equal(readFileSync(file, 'utf8'), types, 'else run: npm run schema')
})

t.test('the compiler says the right thing for a typo', (t) => {
  const folder = t.testdir({
    'typo.ts': `
      import type { ConfigFile } from ${JSON.stringify(join(root, 'gateway/config/file.ts'))}
      const route = { path: '/v1/*', upstream: 'a' }
      export const words: ConfigFile = { plans: { free: { perMinute: '60', perDay: 1 } }, routes: [route] }
      export const name: ConfigFile = { plans: {}, routes: [{ path: '/v1/*', upsteam: 'a' }] }
      export const fine: ConfigFile = { plans: { free: { perMinute: 60, perDay: 'unlimited' } }, routes: [route] }
    `,
  })
  const language = ['--strict', '--allowImportingTsExtensions', '--target', 'es2022']
  // Without the types of packages and browsers, which are most of the compiler's work.
  const options = ['--noEmit', ...language, '--lib', 'es2022', '--typeRoots', folder]
  const { stdout } = spawnSync(
    process.execPath,
    [
      join(root, 'node_modules/typescript/bin/tsc'),
      ...options,
      '--module',
      'nodenext',
      join(folder, 'typo.ts'),
    ],
    { encoding: 'utf8' },
  )
  const errors = stdout.split('\n').filter((line) => line.includes('error TS'))
  t.equal(errors.length, 2, stdout)
  t.match(
    errors[0],
    /Type 'string' is not assignable to type 'number \| "unlimited"'|'"60"'|not assignable/,
  )
  t.match(errors[1], /'upsteam' does not exist in type 'RouteSettings'.* Did you mean.*'upstream'/)
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

t.test('a configuration comes from standard input as well', async (t) => {
  const check = (text: string, ...args: string[]) =>
    runCommand(['config', 'check', ...args], {}, { line: text })
  t.match(await check(shipped, '-'), { code: 0, out: /^standard input is sound: 4 plans, / })
  t.match(await check('plams: 1', '-'), {
    code: 2,
    out: /^standard input:1:1: the file has no setting "plams"; did you mean plans\?/,
  })
  t.match(await check('#'.repeat(2 ** 20 + 1), '-'), { code: 2, out: /has 1048577 characters/ })
  const missing = await check('', '/nonexistent.yaml')
  t.match(missing, { code: 2, out: /\/nonexistent\.yaml can't be read: ENOENT/ })
  t.notMatch(missing.out, 'TOLLGATE_CONFIG', 'it was named')
})

t.test('config diff tells who has no ADMIN_TOKEN', async (t) => {
  const without = /was started without ADMIN_TOKEN, .*: set it where the gateway starts, and here\./
  const unset = /ADMIN_TOKEN is not set here: set it to a token of the gateway at http:/
  for (const [name, tokens, ADMIN_TOKEN, code, out] of [
    ['nobody', '', '', 2, without],
    ['the gateway', '', token, 2, without],
    ['the command', token, '', 2, unset],
    ['both, another', token, `${token}-other`, 1, /answers 401/],
    ['both, the same', token, token, 0, /SETTING +NOW +THEN/],
  ] as const) {
    await t.test(name, async (t) => {
      const { url } = await startAdmin(t, { tokens })
      const { hostname, port } = new URL(url)
      const admin = `admin: { host: ${hostname}, port: ${port} }`
      const file = join(t.testdirName, 'x.yaml')
      const store = join(t.testdirName, 'own.db')
      writeFileSync(file, shipped.replace(/^admin: .*$/m, admin).replace('data/gateway.db', store))
      t.match(await runCommand(['config', 'diff', file], { ADMIN_TOKEN }), { code, out })
    })
  }
})

t.test('the commands on configurations', async (t) => {
  const run = (...args: string[]) => runCommand(args, { ADMIN_TOKEN: token })
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
    out: /^\/[^\n]*several\.yaml:2:22: .*\n\/[^\n]*several\.yaml:3:10: .*\n\/.*several\.yaml:7:30: /,
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
  const planLine =
    readFileSync(file, 'utf8')
      .split('\n')
      .findIndex((line) => /^ {2}free:/.test(line)) + 1
  t.match(diff.out, new RegExp(`plans\\.free\\.perDay +1000 +2000 +${planLine} → ${planLine}\n`))
  t.match(
    diff.out,
    /upstreams\.animals\.targets\[0\]\.url +http:\/\/127\.0\.0\.1:8090 +http:\/\/127\.0\.0\.1:9090 +(\d+) → \1\n/,
  )
  t.match(diff.out, /1 key has the plan free\.\n$/)
  writeFileSync(then, own.replace(/^ {2}free: .*\n/m, ''))
  const gone = await run('config', 'diff', then, '--against', file)
  t.match(
    gone.out,
    new RegExp(`plans\\.free +\\{ perMinute: 60, perDay: 1000, bans: on \\} +- +${planLine} → -\n`),
  )
  t.match(gone.out, /1 key has the plan free: 1 key will be refused\.\n$/)
  writeFileSync(then, own.replace(/^ {2}free: .*$/m, '  free: custom'))
  const { differences, ...counts } = JSON.parse(
    (await run('config', 'diff', then, '--against', file, '--json')).out,
  ) as { differences: unknown[]; keys: unknown; refused: unknown }
  t.equal(differences.length, 3)
  t.strictSame(counts, { keys: { free: 1 }, refused: { free: 1 } }, 'without limits of its own')
  writeFileSync(then, own.replace('8080', '8088').replace('perDay: 1000 }', 'perDay: 2000 }'))
  const restart = await run('config', 'diff', then, '--against', file)
  t.match(restart.out, /listen\.port +8080 +8088 +(\d+) → \1 +needs a restart\n/)
  t.match(restart.out, /plans\.free\.perDay +1000 +2000 +\d+ → \d+\b/)
  t.match(await run('config', 'diff', file), {
    code: 1,
    out: /no gateway answers at http:\/\/127\.0\.0\.1:\d+\. Compare two files/,
  })
})
