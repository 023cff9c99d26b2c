import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../../gateway/office/config/load.ts'
import { withoutPasswords } from '../../../gateway/office/config/mask.ts'
import { previewConfig } from '../../../gateway/office/config/preview.ts'
import { environment, filled, messagesOf, shipped } from '../../support/configuration.ts'
import { bound } from '../../support/promises.ts'
import { folderOf } from '../../support/folder.ts'

t.test('what comes from the environment is shown by its name, and what doesn’t as it is', (t) => {
  const file = join(folderOf(t), 'x.yaml')
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
  const file = join(folderOf(t, { 'x.yaml': text }), 'x.yaml')
  const { config, shown } = readConfig(file, said)
  t.match(config, {
    listen: { port: 9_000 },
    store: {
      redis: { cluster: ['redis:7000', 'redis:7001'], tls: true, password: '123456' },
      prefix: '123456',
    },
    bans: { factor: 1.5 },
    routes: [{ upstream: 'animals', methods: ['GET', 'POST', 'HEAD'], cost: 5 }],
    ietf: 'draft-11',
    keys: { cache: 7 },
  })
  t.match(config.plans.get('free')?.limits, { perMinute: 60, perDay: 1_000, perMonth: Infinity })
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
