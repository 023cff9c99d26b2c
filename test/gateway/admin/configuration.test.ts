import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { plans, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { start, token } from '../../support/operator.ts'
import { startProcess } from '../../support/process.ts'
import { until } from '../../support/until.ts'

/** A file in which nothing is wrong. */
const sound = { sound: true, mistakes: [], warnings: [] }

t.test('the configuration is shown, checked and read again; the audit says by whom', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { ask, text, write, runJson } = await start(t, {
    upstream,
    more: plans,
    environments: [{ ADMIN_TOKEN: `alice:${token}, bob:${token}-too` }],
  })
  const check = (body: string) =>
    ask('POST', '/admin/config/check', body, { 'content-type': 'application/yaml' })
  const nothing = { ...sound, differences: [], keys: {}, refused: {}, diff: '' }
  t.strictSame(json(await check(text)), nothing)
  const faster = text.replace('perMinute: 60,', 'perMinute: 61,')
  t.match(json(await check(faster)), {
    sound: true,
    differences: [{ place: 'plans.free.perMinute', before: 60, after: 61 }],
    ...{ keys: { free: 0 }, refused: { free: 0 } },
  })
  t.match(json(await check(text.replace('perMinute: 60,', 'perMinute: 6O,'))), {
    sound: false,
    mistakes: [/^body:\d+:\d+: plans\.free\.perMinute must be .* got "6O"$/],
  })
  const unknown = text.replace('perMinute: 60,', 'perMinute: "${ADMIN_TOKEN}",')
  const made = json(await ask('POST', '/admin/keys', { name: 'First', plan: 'free' }))
  const counts = { keys: { free: 1 }, refused: { free: 0 } }
  t.match(json(await check(unknown)), { sound: true, ...counts }, 'no limit is missing')
  const custom = text.replace(/free: \{[^}]*\}/, 'free: { limits: custom }')
  t.match(json(await check(custom)), { sound: true, keys: { free: 1 }, refused: { free: 1 } })
  await ask('POST', `/admin/keys/${String(made['id'])}/revoke`)
  write(() => faster)
  const asBob = { authorization: `Bearer ${token}-too` }
  const answer = await ask('POST', '/admin/config/reload', undefined, asBob)
  const result = String(json(answer)['result'])
  t.ok(['changed', 'unchanged'].includes(result), 'the file may have been seen by then')
  await until(async () => ((await runJson('audit')) as unknown[]).length === 3)
  t.match(await runJson('audit', '--limit', '1'), [
    {
      what: 'config.change',
      by: result === 'changed' ? 'bob' : 'the file',
      before: { 'plans.free.perMinute': 60 },
      after: { 'plans.free.perMinute': 61 },
    },
  ])
  await ask('POST', '/admin/keys', { name: 'A', plan: 'free' }, asBob)
  t.match(await runJson('audit', '--limit', '1'), [{ what: 'keys.create', by: 'bob' }])
})

t.test('warnings are told at a start, by the admin address, and at a reload', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const odd = 'plans: { odd: { perMinute: 60, perDay: 50 }, free: { perMinute: 60, perDay: 1000 } }'
  const { ask, gateway, write, runJson } = await start(t, { upstream, more: odd })
  const told = /plans\.odd\.perMinute is never reached: perDay is 50$/
  const inLog = (what: string): boolean => gateway.output().includes(`${what} is never reached`)
  await until(() => inLog('plans.odd.perMinute'))
  const { warnings } = json(await ask('GET', '/admin/config'))
  t.match(warnings, [told])
  t.match(warnings, [/gateway\.yaml:\d+:\d+: warning: /])
  const yaml = { 'content-type': 'application/yaml' }
  const check = async (text: string) => json(await ask('POST', '/admin/config/check', text, yaml))
  write((text) => text.replace('perMinute: 60, perDay: 1000', 'perMinute: 60, perDay: 7'))
  t.match(json(await ask('POST', '/admin/config/reload')), {
    warnings: [told, /plans\.free\.perMinute is never reached: perDay is 7$/],
  })
  await until(() => inLog('plans.free.perMinute'))
  const two = 'routes: [ { path: /x, upstream: animals }, { path: /x, upstream: animals } ]'
  let now = ''
  write((text) => (now = text))
  t.match(await check(now), { sound: true, warnings: [told] })
  t.match(await check(now.replace(/^routes: .*$/m, two)), {
    ...{ sound: false, warnings: [], mistakes: [/is listed twice: \/x$/] },
  })
  await ask('POST', '/admin/config/reload')
  const before = ((await runJson('audit')) as unknown[]).length
  write((text) => text.replace('plans:', 'plams:'))
  t.equal((await ask('POST', '/admin/config/reload')).status, 409)
  write((text) => text)
  t.match(json(await ask('POST', '/admin/config/reload')), { result: 'unchanged', mistakes: [] })
  t.equal(((await runJson('audit')) as unknown[]).length, before, 'what is restored is no change')
})

t.test('what the environment says is told nowhere, whoever asks', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const secrets = {
    GATEWAY_SECRET: 'canary-of-the-signature',
    PLACE: 'canary-of-a-place',
    DOCS: 'canary-of-the-docs',
    OTHER_DOCS: 'canary-of-other-docs',
    PASSWORD: 'canary-of-a-password',
  }
  const environment = {
    ...secrets,
    ADMIN_TOKEN: `alice:${token},bob:canary-of-bobs-token`,
    LOG_LEVEL: 'trace',
  }
  const used = `${plans}
deprecations:
  - { operation: GET /v1/old, since: 2025-12-05, docs: "\${DOCS}" }
`
  const { ask, operate, write, text, file, gateway } = await start(t, {
    ...{ upstream, more: used, environments: [environment] },
  })
  let told = ''
  const tell = async (answer: ReturnType<typeof ask>) => {
    const { status, text, headers } = await answer
    told += text + JSON.stringify(headers)
    return { status, text }
  }
  const yaml = { 'content-type': 'application/yaml' }
  const check = (body: string) => tell(ask('POST', '/admin/config/check', body, yaml))

  // A sound one of somebody who wants to read it, then one that is wrong wherever a value may be quoted.
  const all = '${ADMIN_TOKEN} ${GATEWAY_SECRET} ${PASSWORD}'
  const greedy = text.replace('${DOCS}', `${all}", replacement: "${all}`)
  t.match(await check(greedy), { text: /"sound":true.*"after":"\$\{ADMIN_TOKEN\} \$\{GATEWAY/ })
  t.strictSame(json(await ask('POST', '/admin/config/check', text, yaml)), {
    ...sound,
    ...{ differences: [], keys: {}, refused: {}, diff: '' },
  })
  for (const part of ['ADMIN_TOKEN', 'GATEWAY_SECRET', 'PASSWORD', 'DOCS']) {
    const faulty = `
plans: { "\${${part}}": 5, free: "\${${part}}" }
store: { redis: { cluster: "\${${part}}" }, timeout: "\${${part}}" }
upstreams: { animals: { targets: [ "\${${part}}" ], tls: { ca: "/\${${part}}" } } }
routes: [ { path: /v1/x, upstream: "\${${part}}" }, { path: "\${${part}}", upstream: animals, cost: [ "\${${part}}" ] } ]
deprecations: [ { operation: "GET /\${${part}}", since: "\${${part}}" } ]
trustedProxies: [ "\${${part}}" ]
`
    t.match(await check(faulty), { text: /"sound":false/ })
    write(() => faulty)
    t.equal((await tell(ask('POST', '/admin/config/reload'))).status, 409)
    for (const path of ['/readyz', '/healthz', '/metrics']) await tell(operate('GET', path))
    await tell(ask('GET', '/admin/config'))
    write(() => text)
    await ask('POST', '/admin/config/reload')
  }
  // One that only the app that is built of it finds wrong.
  const twice = ['/v1/*', '"/${PLACE}/{a}"', '"/${PLACE}/{b}"'].map(
    (path) => `{ path: ${path}, upstream: animals }`,
  )
  write(() => text.replace(/^routes: .*$/m, `routes: [ ${twice.join()} ]`))
  t.match(await tell(ask('POST', '/admin/config/reload')), { text: /PLACE/, status: 409 })
  // And one that is put in force.
  write(() => text.replace('${DOCS}', '${OTHER_DOCS}'))
  await tell(ask('POST', '/admin/config/reload'))
  await until(() => gateway.output().includes('config.change'))
  t.match(await tell(ask('GET', '/admin/audit')), { text: /"\$\{OTHER_DOCS\}/ })
  await tell(ask('GET', '/admin/config'))
  const command = ['config', 'show', '--config', file]
  const { ended, output } = startProcess(t, 'gateway/office/cli/main.ts', {
    args: command,
    env: environment,
  })
  t.equal((await ended).code, 0, output())
  told += output()
  for (const args of [['config', 'show', '--json'], ['config', 'diff'], ['audit']]) {
    const { code, out } = await runCommand([...args, '--config', file], environment)
    t.equal(code, 0, out)
    told += out
  }
  told += gateway.output()
  t.match(told, /\$\{OTHER_DOCS\}/, 'their names are told')
  for (const secret of [...Object.values(secrets), 'canary-of-bobs-token', token]) {
    const place = told.indexOf(secret)
    t.equal(place, -1, `${secret}: ${told.slice(place - 200, place + 100)}`)
  }
})

t.test('values of headers for a backend are told nowhere, however they are written', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const environment = {
    ...{ KEY: 'canary-of-a-variable', OTHER_KEY: 'canary-of-another' },
    ...{ ADMIN_TOKEN: `alice:${token},eve/read:${token}-too`, LOG_LEVEL: 'trace' },
  }
  const written = `authorization: "Bearer \${KEY}", x-api-key: "\${KEY}", x-tenant: canary-in-the-file`
  const { ask, write, text, file, gateway, key, url } = await start(t, {
    ...{ upstream, more: plans, environments: [environment] },
    upstreamMore: `forward: { headers: { ${written}, x-default: "\${NONE:-canary-of-a-default}" } }`,
  })
  const told: string[] = []
  const tell = async (answer: ReturnType<typeof ask>) => told.push((await answer).text)
  const asked = await fetch(`${url}/v1/x`, { headers: await key() })
  const shown = {
    ...{ authorization: '…', 'x-api-key': '${KEY}', 'x-tenant': '…', 'x-default': '…' },
  }
  const { config } = json(await ask('GET', '/admin/config'))
  t.match(config, { upstreams: { animals: { forward: { headers: shown } } } })

  const yaml = { 'content-type': 'application/yaml' }
  const asReader = { ...yaml, authorization: `Bearer ${token}-too` }
  for (const faulty of [
    text.replace('x-tenant: canary', 'x-tenant: 5, x_tenant: canary'),
    text.replace(/headers: \{(.*?)\} \}/, 'headers: [ {$1} ] }'),
    text.replace('x-tenant: canary', 'x-tenant:canary'),
  ]) {
    t.not(faulty, text)
    const answer = await ask('POST', '/admin/config/check', faulty, asReader)
    t.match(json(answer), { sound: false })
    told.push(answer.text)
    write(() => faulty)
    await tell(ask('POST', '/admin/config/reload'))
  }
  write(() => text.replace('x-tenant: canary', 'x-other: other-canary').replace('KEY', 'OTHER_KEY'))
  await tell(ask('POST', '/admin/config/reload'))
  await until(() => gateway.output().includes('config.change'))
  const paths = ['/admin/config', '/admin/audit', '/admin/upstreams', '/admin/live', '/metrics']
  for (const path of paths) await tell(ask('GET', path))
  t.match(told.at(-4), /config\.change.*x-other/, 'its name is')
  const commands = [
    'config show',
    'config show --json',
    'config running',
    'config diff',
    'config check',
  ]
  const request = asked.headers.get('x-request-id') ?? ''
  for (const command of [...commands, 'config check --json', `explain ${request}`]) {
    const { out } = await runCommand([...command.split(' '), '--config', file], environment)
    t.ok(out, command)
    told.push(out)
  }
  t.notMatch([...told, gateway.output()].join('\n'), 'canary')
})

t.test('a posted text tells nothing of files, and waits for none', async (t) => {
  const { ask, file } = await startAdmin(t)
  const text = readFileSync(file, 'utf8')
  const yaml = { 'content-type': 'application/yaml' }
  const dir = dirname(file)
  writeFileSync(join(dir, 'there.pem'), 'x')
  execFileSync('mkfifo', [join(dir, 'pipe')])
  for (const name of ['there.pem', 'not-there.pem', 'pipe']) {
    const ca = join(dir, name)
    const body = text.replace('targets:', `tls: { ca: "${ca}" }, targets:`)
    const checked = json(await ask('POST', '/admin/config/check', body, yaml))
    t.match(checked, { sound: true, differences: [{ after: { ca } }] }, name)
  }
})

t.test(
  'of many mistakes of the file a hundred are told, and how many more there are',
  async (t) => {
    const { ask, write } = await startAdmin(t, { thread: {} })
    const wrong = Array.from({ length: 130 }, (_, i) => `x${i}: 1\n`).join('')
    write((text) => text + wrong)
    const reloaded = json(await ask('POST', '/admin/config/reload'))
    t.match(reloaded['message'], /has no setting "x99"; .*; and 30 more\.$/)
    t.match(json(await ask('GET', '/admin/config')), { mistakes: { length: 100 }, more: 30 })
    t.match(json(await ask('GET', '/readyz')), { config: { mistakes: 130 } })
    const yaml = { 'content-type': 'application/yaml' }
    const text = `plans: { a: custom }\nroutes: []\n${wrong}`
    const checked = json(await ask('POST', '/admin/config/check', text, yaml))
    t.match(checked, { sound: false, mistakes: { length: 100 }, more: 30 })
    write((text) => text.replace(wrong, ''))
    const sound = json(await ask('POST', '/admin/config/reload'))
    t.match(sound, { result: 'unchanged', mistakes: [] })
    t.notOk('more' in sound)
  },
)

t.test('a file that can’t be put in force is a conflict, in the form of every error', async (t) => {
  const { ask, write } = await startAdmin(t)
  t.match(json(await ask('POST', '/admin/config/reload')), { result: 'unchanged', mistakes: [] })
  write((text) => text.replace('plans:', 'plams:'))
  const answer = await ask('POST', '/admin/config/reload')
  t.equal(answer.status, 409)
  t.match(json(answer), {
    code: 'conflict',
    message: /^The file is refused, .* has no setting "plams"; did you mean plans\?$/,
    status: 409,
  })
  t.strictSame(Object.keys(json(answer)), ['code', 'message', 'status'])
  const { hash, mistakes } = json(await ask('GET', '/admin/config'))
  t.match(mistakes, [/gateway\.yaml:\d+:\d+: the file has no setting "plams"/])
  write((text) => text.replace('plams:', 'plans:').replace('perMinute: 60', 'perMinute: 61'))
  const changed = json(await ask('POST', '/admin/config/reload'))
  t.match(changed, { result: 'changed', mistakes: [] })
  t.not(changed['hash'], hash)
})
