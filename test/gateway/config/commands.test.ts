import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../../gateway/office/config/load.ts'
import { previewConfig } from '../../../gateway/office/config/preview.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { shipped } from '../../support/configuration.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { start, token } from '../../support/operator.ts'
import { root } from '../../support/process.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

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
  animals: { targets: [ "http://127.0.0.1:8090" ], forward: { cookies: on } }
  plants:
    targets: [ "http://127.0.0.1:8091" ]
    forward: { cookies: on, host: caller }
routes:
  - { path: /v1/*, upstream: animals, cost: 60 }
  - { path: /v2/*, upstream: animals, cost: 50 }
drain: 30s
jwt:
  - { issuer: i, audience: a, keys: 'https://login.example/', plan: enterprise }
  - { issuer: j, audience: a, keys: 'https://login.example/', plan: free, account: tenant }
  - { issuer: k, audience: a, keys: 'https://login.example/', plan: free, account: { claim: tenant, prefix: 'j#k' } }
  - { issuer: l, audience: a, keys: 'https://login.example/', plan: free, account: { claim: tenant, prefix: '' } }
  - { issuer: m, audience: a, keys: 'https://login.example/', plan: free, account: { claim: tenant, prefix: '' } }
`
  const expected = [
    '3:22: warning: plans.free.perMinute is never reached: perDay is 50',
    '4:21: warning: plans.pro.perMinute is never reached: perDay is 10000',
    '5:68: warning: plans.enterprise.paths[2] is covered by no route: /v1',
    '5:73: warning: plans.enterprise.paths[3] is covered by no route: /v3/x',
    '7:16: warning: admin.host is 0.0.0.0, which other machines can reach: the gateway starts only with ADMIN_TOKEN or admin.trust',
    '8:25: warning: strangers.perMinute is never reached: perDay is 1000',
    '9:16: warning: bans.grace is a minute or longer: a key that goes on after its minute is used up is never banned',
    "11:72: warning: upstreams.animals.forward.cookies is on: the backend gets all cookies that callers have for the gateway's host; the same go to plants",
    '13:5: warning: upstreams.plants isn’t used by any route',
    "14:25: warning: upstreams.plants.forward.cookies is on: the backend gets all cookies that callers have for the gateway's host; the same go to animals",
    '16:45: warning: routes[0].cost is more than some plans allow, whose keys get 403: free has 50 a day',
    '18:8: warning: drain is longer than shutdown, which is 15s: requests still in flight after shutdown are cut',
    '20:69: warning: jwt[0].plan is enterprise, a custom plan: its callers are refused until an operator gives each limits of its own',
    '22:84: warning: jwt[2].account shares a prefix with jwt[1].account: tokens of both issuers can name the same accounts',
    '24:84: warning: jwt[4].account shares a prefix with jwt[3].account: tokens of both issuers can name the same accounts',
  ]
  const file = join(folderOf(t, { 'x.yaml': text }), 'x.yaml')
  const lines = expected.map((line) => `${file}:${line}`)
  t.strictSame(readConfig(file, {}).warnings, lines)
  t.strictSame(previewConfig(text, {}, file).warnings, lines)
  const withToken = readConfig(file, { ADMIN_TOKEN: token }).warnings
  t.notMatch(withToken.join(), /ADMIN_TOKEN/)
  t.equal(withToken.length, lines.length - 1)
  const sound = `${file} is valid: 3 plans, 2 routes, 2 upstreams.`
  const { code, out } = await runCommand(['config', 'check', file], {})
  t.strictSame({ code, out }, { code: 0, out: [...lines, sound, ''].join('\n') })
  t.strictSame(readConfig(join(root, 'config/gateway.yaml'), {}).warnings, [], 'the shipped: none')
})

t.test('a configuration comes from standard input as well', async (t) => {
  const check = (text: string, ...args: string[]) =>
    runCommand(['config', 'check', ...args], {}, { line: text })
  t.match(await check(shipped, '-'), { code: 0, out: /^standard input is valid: 4 plans, / })
  t.match(await check('plams: 1', '-'), {
    code: 2,
    out: /^standard input:1:1: the file has no setting "plams"; did you mean plans\?/,
  })
  t.match(await check('#'.repeat(2 ** 20 + 1), '-'), { code: 2, out: /has 1,048,577 characters/ })
  const missing = await check('', '/nonexistent.yaml')
  t.match(missing, { code: 2, out: /\/nonexistent\.yaml can't be read: ENOENT/ })
  t.notMatch(missing.out, 'TOLLGATE_CONFIG', 'it was named')
})

t.test('config diff tells who has no ADMIN_TOKEN', async (t) => {
  const without = /was started without ADMIN_TOKEN, .*: set it where the gateway starts, and here\./
  const unset = /ADMIN_TOKEN is not set here: set it to a token of the gateway at http:/
  const cases = {
    '': [
      ['nobody', '', 2, without],
      ['the gateway', token, 2, without],
    ],
    [token]: [
      ['the command', '', 2, unset],
      ['both, another', `${token}-other`, 1, /answers 401/],
      ['both, the same', token, 0, /SETTING +NOW +THEN/],
    ],
  } as const
  for (const [tokens, tries] of Object.entries(cases)) {
    await t.test(tokens === '' ? 'where the gateway has none' : 'where it has one', async (t) => {
      const { url } = await startAdmin(t, { tokens })
      const { hostname, port } = new URL(url)
      const admin = `admin: { host: ${hostname}, port: ${port} }`
      const file = join(t.testdirName, 'x.yaml')
      const store = join(t.testdirName, 'own.db')
      writeFileSync(file, shipped.replace(/^admin: .*$/m, admin).replace('data/gateway.db', store))
      for (const [who, ADMIN_TOKEN, code, out] of tries) {
        t.match(await runCommand(['config', 'diff', file], { ADMIN_TOKEN }), { code, out }, who)
      }
    })
  }
})

t.test('the commands on configurations', async (t) => {
  const run = (...args: string[]) => runCommand(args, { ADMIN_TOKEN: token })
  const dir = folderOf(t)
  const [now, then] = [join(dir, 'now.yaml'), join(dir, 'then.yaml')]
  const yaml = shipped
    .replace('data/gateway.db', join(dir, 'gateway.db'))
    .replace('${REDIS_URL:-}', 'redis://:hunter2@127.0.0.1:1')
  writeFileSync(now, yaml)
  writeFileSync(then, yaml.replace('perDay: 1000 }', 'perDay: 2000 }').replace('8090', '9090'))
  t.match(await run('config', 'check', now), {
    code: 0,
    out: `${now} is valid: 4 plans, 1 route, 1 upstream.\n`,
  })
  t.match(await run('config', 'check', join(root, 'test/gateway/configs/several.yaml')), {
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
  t.match(diff.out, /plans\.free\.perDay +1000 +2000\n/)
  t.match(
    diff.out,
    /upstreams\.animals\.targets\[0\]\.url +http:\/\/127\.0\.0\.1:8090 +http:\/\/127\.0\.0\.1:9090\n/,
  )
  t.match(diff.out, /1 key has the plan free\.\n$/)
  writeFileSync(then, own.replace(/^ {2}free: .*\n/m, ''))
  const gone = await run('config', 'diff', then, '--against', file)
  t.match(gone.out, /plans\.free +\{ perMinute: 60, perDay: 1000, bans: on \} +-\n/)
  t.match(gone.out, /1 key has the plan free: 1 key will be refused\.\n$/)
  writeFileSync(then, own.replace(/^ {2}free: .*$/m, '  free: custom'))
  const { differences, ...counts } = JSON.parse(
    (await run('config', 'diff', then, '--against', file, '--json')).out,
  ) as { differences: unknown[]; keys: unknown; refused: unknown }
  t.equal(differences.length, 3)
  t.strictSame(counts, { keys: { free: 1 }, refused: { free: 1 } }, 'without limits of its own')
  writeFileSync(then, own.replace('8080', '8088').replace('perDay: 1000 }', 'perDay: 2000 }'))
  const restart = await run('config', 'diff', then, '--against', file)
  t.match(restart.out, /listen\.port +8080 +8088 +needs a restart\n/)
  t.match(restart.out, /plans\.free\.perDay +1000 +2000\n/)
  t.match(await run('config', 'diff', file), {
    code: 1,
    out: /no gateway answers at http:\/\/127\.0\.0\.1:\d+\. Compare two files/,
  })
})

t.test('a command saves, the audit has its author, and no log has the text', async (t) => {
  const upstream = await startUpstream(t)
  const { ask, gateway, file } = await start(t, {
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
  writeFileSync(
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
