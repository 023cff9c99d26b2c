import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { runCommand } from '../support/command.ts'
import { plans, startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { start, token } from '../support/operator.ts'
import { startProcess } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

/** A file in which nothing is wrong. */
const sound = { sound: true, mistakes: [], warnings: [] }

const shipped = `${plans}
deprecations:
  - { operation: "GET /v1/pets/{petId}", since: 2025-12-05, replacement: /v1/pets }
`

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`the admin address and the command line are one: ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const store = redis ? `redis: "${redis.url}"` : 'file: $DIR/gateway.db'
    const { url: upstream } = await startUpstream(t)
    const { ask, url, runJson, run } = await start(t, { upstream, store, more: shipped })
    const call = caller(url)

    const made = await ask('POST', '/admin/keys', { name: 'Acme', plan: 'free', account: 'acme' })
    t.equal(made.status, 201)
    const { id, key } = json(made) as { id: string; key: string }
    t.equal(made.headers['location'], `/admin/keys/${id}`)
    const headers = { authorization: `Bearer ${key}` }
    const status = async () => (await call('GET', '/v1/pets', undefined, headers)).status
    t.equal(await status(), 200)
    const shown = await ask('GET', `/admin/keys/${id}`)
    t.match(json(shown), { id, name: 'Acme', plan: 'free', account: 'acme', state: 'active' })
    // The command line reads what was written down, half a second later.
    const isSame = async (path: string, ...command: string[]) =>
      JSON.stringify(await runJson(...command)) === (await ask('GET', path)).text
    await until(() => isSame(`/admin/keys/${id}`, 'keys', 'show', id), 20_000)
    t.strictSame(json(await ask('GET', '/admin/keys?plan=free')), await runJson('keys', 'list'))
    t.strictSame(json(await ask('GET', '/admin/keys?plan=pro')), [])

    const change = { plan: 'pro', limits: { perMinute: 5 }, note: 'x', expiresAt: '2099-01-01' }
    t.match(json(await ask('PATCH', `/admin/keys/${id}`, change)), {
      ...{ plan: 'pro', limits: { perMinute: 5 }, note: 'x' },
      expiresAt: '2099-01-01T00:00:00.000Z',
    })
    const undone = { limits: { perMinute: null }, note: null, expiresAt: null }
    const plain = json(await ask('PATCH', `/admin/keys/${id}`, undone))
    for (const name of ['limits', 'note', 'expiresAt']) t.notOk(name in plain, name)
    await until(async () =>
      Boolean(
        /300/.exec(JSON.stringify((await call('GET', '/v1/pets', undefined, headers)).headers)),
      ),
    )

    const page = json(await ask('GET', '/admin/keys?standing')) as { keys: object[] }
    const { standing } = json(await ask('GET', `/admin/keys/${id}`)) as { standing: object }
    t.match(page, { keys: [{ id, standing, refusedToday: 0 }], next: null })
    t.match(await run('keys', 'list', '--standing'), {
      out: /MINUTE +DAY .+ \d+\/300 +\d+\/10000 /s,
    })

    const quota = json(await ask('GET', `/admin/quota/${id}`))
    t.match(quota, { id, quota: 'account:acme', plan: 'pro', minute: { limit: 300 }, strikes: 0 })
    await until(() => isSame(`/admin/quota/${id}`, 'quota', 'show', id), 20_000)
    t.match(json(await ask('POST', `/admin/quota/${id}/reset`)), {
      minute: { remaining: 300 },
      day: { remaining: 10_000 },
    })

    t.match(json(await ask('PUT', `/admin/bans/${id}`, { for: '10m' })), { id, name: 'Acme' })
    t.equal(await status(), 429)
    t.strictSame(json(await ask('GET', '/admin/bans')), await runJson('bans', 'list'))
    await redis?.client.config('RESETSTAT')
    t.match(json(await ask('GET', '/admin/keys?standing')), {
      keys: [{ id, refusedToday: 1, standing: { bannedUntil: Number, ban: null } }],
    })
    // A page that is shown anew every few seconds reads neither the whole day nor the whole audit.
    t.notMatch(await redis?.client.info('commandstats'), /cmdstat_(?:hscan|xrevrange):/)
    t.match(json(await ask('GET', `/admin/keys/acme`)), {
      ...{ id, bannedUntil: /Z$/, standing: { offered: true, ban: { by: 'admin' } } },
    })
    t.match(json(await ask('GET', '/admin/keys?name=CM')), [{ id, bannedUntil: /Z$/ }])
    await until(() => isSame('/admin/keys?name=CM', 'keys', 'list'), 20_000)
    t.match(await ask('DELETE', `/admin/bans/Acme`), { status: 204, text: '' })
    t.equal(await status(), 200)
    t.match(await ask('DELETE', `/admin/bans/${id}`), { status: 404, text: / isn’t banned\./ })

    const rotated = json(await ask('POST', `/admin/keys/${id}/rotate`, { overlap: '0' }))
    t.match(rotated, { id, plan: 'pro', key: /^tg_/ })
    await until(async () => (await status()) === 401)
    headers.authorization = `Bearer ${String(rotated['key'])}`
    t.equal(await status(), 200)
    for (const [what, code] of [
      ['disable', 401],
      ['enable', 200],
      ['revoke', 401],
    ] as const) {
      t.equal((await ask('POST', `/admin/keys/${id}/${what}`)).status, 200, what)
      await until(async () => (await status()) === code)
    }
    t.match(await ask('POST', `/admin/keys/${id}/enable`), { status: 409, text: /for good/ })
    t.strictSame(json(await ask('GET', '/admin/keys')), [])
    t.match(json(await ask('GET', '/admin/keys?all')), [{ id, state: 'revoked' }])

    const csv = 'token,plan,name\nan-older-token-1,free,One\nan-older-token-2,pro,Two\n'
    t.strictSame(
      json(await ask('POST', '/admin/keys/import', csv, { 'content-type': 'text/csv' })),
      {
        imported: 2,
      },
    )
    const older = { authorization: 'Bearer an-older-token-1' }
    t.equal((await call('GET', '/v1/pets/1', undefined, older)).status, 200)
    const today = new Date().toISOString().slice(0, 10)
    t.match(json(await ask('GET', '/admin/deprecations/days')), [
      { operation: 'GET /v1/pets/{petId}', day: /^\d{4}-\d\d-\d\d$/, calls: Number, keys: 1 },
    ])
    t.match(await run('deprecations', 'days'), {
      out: new RegExp(`OPERATION +DAY .+ ${today.slice(0, 8)}`, 's'),
    })
    const report = json(await ask('GET', '/admin/deprecations')) as unknown as { calls: number }[]
    t.match(report, [{ name: 'One', operation: 'GET /v1/pets/{petId}', calls: 1 }])
    t.strictSame(report, await runJson('deprecations', 'report'))
    // The key that has called none, one that has, and none at all.
    t.strictSame(json(await ask('GET', `/admin/deprecations?key=${id}`)), [])
    t.strictSame(json(await ask('GET', '/admin/deprecations?key=one')), report)
    t.strictSame(await runJson('deprecations', 'report', '--key', 'One'), report)
    const nobody = await ask('GET', '/admin/deprecations?key=nobody')
    t.match(nobody, { status: 404, text: /no key with the id or name/ })
    const text = await ask('GET', '/admin/deprecations', undefined, { accept: 'text/csv' })
    t.match(text, { text: /^"key","name","operation","calls","last",.*\r\n"\w{12}","One",/ })
    t.match(text.headers, { 'content-type': 'text/csv; charset=utf-8' })

    const used = json(await ask('GET', '/admin/usage?days=1'))
    t.strictSame(used, await runJson('usage', '--days', '1'))
    t.match(used, [
      { key: id, name: 'Acme' },
      { name: 'One', admitted: 1 },
    ])
    const ofKey = json(await ask('GET', `/admin/usage/${id}`))
    t.match(ofKey, [{ key: id, day: new Date().toISOString().slice(0, 10) }])
    t.strictSame(ofKey, await runJson('usage', id))

    const ledger = json(await ask('GET', '/admin/ledger?by=key')) as unknown as object[]
    t.match(ledger.at(-1), { keys: [/^\w{12}$/], points: Number, final: false })
    // The file has the latest counters half a second later.
    const exported = () => runJson('usage', 'export', '--by', 'key')
    await until(async () => isDeepStrictEqual(await exported(), ledger))
    const range = ['--from', today, '--to', '2100-01-01']
    const { out } = await run('usage', 'export', ...range, '--csv')
    const asCsv = await ask('GET', `/admin/ledger?from=${today}`, undefined, {
      accept: 'text/csv',
    })
    t.equal(out, `${asCsv.text}\n`)
    t.match(out, /^"id","day","account","keys",.*\r\n"2.*","false"\n$/s)
    t.match(await run('usage', 'export'), {
      out: /^DAY .*\n\S+ +(?:key|account):.*not final yet$/m,
    })
    for (const query of ['from=2030-02-30', 'by=x', 'from=2030-01-02&to=2030-01-01']) {
      t.equal((await ask('GET', `/admin/ledger?${query}`)).status, 400, query)
    }

    const audit = json(await ask('GET', '/admin/audit')) as unknown as Record<string, unknown>[]
    t.strictSame(audit, await runJson('audit'))
    t.strictSame(
      audit.map(({ what }) => what),
      [
        ...['keys.import', 'keys.revoke', 'keys.enable', 'keys.disable', 'keys.rotate'],
        ...['bans.lift', 'bans.set', 'quota.reset', 'keys.change', 'keys.change', 'keys.create'],
      ],
      'every change, and none twice',
    )
    t.ok(audit.every(({ by }) => by === 'admin'))
    t.match(audit[8], { before: { plan: 'pro', note: 'x' }, after: { plan: 'pro' } })
    t.match(
      (await run('audit', '--limit', '2')).out,
      /WHEN .*\n.* admin +keys\.import .*\n.*keys\.revoke .*state: "active" → "revoked"/,
    )
    t.equal((await ask('GET', '/admin/audit?limit=3&key=' + id)).text.split('"what"').length, 4)
  })
}

t.test('commands that only a running gateway can carry out ask it', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { ask, write, file } = await start(t, { upstream, more: plans })
  const env = { ADMIN_TOKEN: token, TOLLGATE_CONFIG: file }
  const command = (...words: string[]) => runCommand(words, env)
  const commandJson = async (...words: string[]) =>
    json((await command(...words, '--json')).stdout) as unknown

  t.strictSame(await commandJson('upstream', 'list'), json(await ask('GET', '/admin/upstreams')))
  const upstreams = await command('upstream', 'list')
  t.match(
    upstreams.out,
    /^UPSTREAM +TARGET +STATE .+\nanimals +http:\S+ +healthy since 2\S+ \S+Z +1 +0 +- /,
  )

  t.strictSame(await commandJson('config', 'running'), json(await ask('GET', '/admin/config')))
  const running = await command('config', 'running')
  t.match(running.out, /^The gateway uses \S+gateway\.yaml \(\w+\), since 2\S+ \S+Z\.\n\nlisten:/)

  t.match(await command('config', 'reload'), {
    code: 0,
    out: /^The file changes nothing\.\nThe gateway /,
  })
  write((text) => text.replace('perMinute: 60,', 'perMinute: 6O,'))
  t.match(await command('config', 'reload', '--config', file), {
    code: 2,
    out: /gateway\.yaml:\d+:\d+: plans\.free\.perMinute must be/,
  })
  t.match(await ask('POST', '/admin/config/reload'), { status: 409 })
  const good = join(t.testdir(), 'good.yaml')
  write((text) => {
    writeFileSync(good, text)
    return text.replace('perMinute: 60,', 'perMinute: 6O,')
  })
  t.match(await command('config', 'reload', '--config', good), {
    code: 1,
    out: /answers 409: The file is refused, .*plans\.free\.perMinute must be .* got "6O"/,
  })
  t.match(await command('config', 'running', '--config', good), {
    code: 0,
    out: /\nIt refuses the file as it is now:\n\S+gateway\.yaml:\d+:\d+: plans\.free\.perMinute/,
  })
  t.strictSame(json(await ask('GET', '/admin/audit')), [], 'nothing was changed')
  t.match(await command('config', 'reload', '--by', 'me'), { code: 2, out: /has no option --by/ })
  const without = await runCommand(['upstream', 'list', '--config', good], {})
  t.match(without, { code: 2, out: /ADMIN_TOKEN is not set here/ })
})

t.test('what can’t be done is told in a sentence, and changes nothing', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { ask } = await start(t, { upstream, more: plans })
  const made = json(await ask('POST', '/admin/keys', { name: 'A', plan: 'free' }))
  const id = String(made['id'])
  for (let i = 0; i < 2; i++) await ask('POST', '/admin/keys', { name: 'Twin', plan: 'free' })
  for (const [method, path, body, status, message] of [
    ['POST', '/admin/keys', { name: 'x' }, 400, /plan is missing\./],
    [
      'POST',
      '/admin/keys',
      { nmae: 'x', plan: 'free' },
      400,
      /no setting "nmae"; did you mean name\?/,
    ],
    ['POST', '/admin/keys', { name: 5, plan: 'free' }, 400, /name must be a text, got 5/],
    [
      'POST',
      '/admin/keys',
      { name: 'x', plan: 'gold' },
      400,
      /There is no plan "gold"; there are free/,
    ],
    ['POST', '/admin/keys', { name: 'x', plan: 'enterprise' }, 400, /is custom/],
    [
      'POST',
      '/admin/keys',
      { name: 'x', plan: 'free', expiresAt: 'soon' },
      400,
      /expiresAt must be a day/,
    ],
    ['POST', '/admin/keys', '{', 400, /The body isn’t valid JSON/],
    [
      'POST',
      '/admin/keys',
      '[]',
      400,
      /the body must be an object with "plan" and "name", got \[\]/,
    ],
    [
      'PATCH',
      `/admin/keys/${id}`,
      { limits: { perMinute: 0 } },
      400,
      /limits\.perMinute must be a whole number/,
    ],
    [
      'POST',
      `/admin/keys/${id}/rotate`,
      { overlap: 'long' },
      400,
      /overlap must be 0 or a duration/,
    ],
    ['PUT', `/admin/bans/${id}`, {}, 400, /for is missing/],
    [
      'GET',
      '/admin/keys/Twin',
      undefined,
      400,
      /"Twin" is the name of 2 keys: \w{12} .*Give the id/,
    ],
    ['PATCH', '/admin/keys/Twin', { plan: 'pro' }, 400, /"Twin" is the name of 2 keys/],
    [
      'GET',
      '/admin/keys/Twi',
      undefined,
      404,
      /no key with the id or name "Twi"; similar names: \w{12}/,
    ],
    ['PUT', '/admin/bans/nobody', { for: '5m' }, 404, /no key with the id/],
    ['GET', '/admin/keys/nobody', undefined, 404, /no key with the id/],
    ['GET', '/admin/usage/nobody', undefined, 404, /no key with the id/],
    ['GET', '/admin/quota/nobody', undefined, 404, /no key with the id/],
    ['GET', '/admin/usage?days=91', undefined, 400, /days must be a whole number from 1 to 90/],
    ['GET', '/admin/audit?limit=0', undefined, 400, /limit must be/],
    ['POST', '/admin/upstreams/check', { url: 'ftp://x' }, 400, /url must be an http/],
    [
      'POST',
      '/admin/upstreams/check',
      { url: upstream, upstream: 'no' },
      400,
      /no upstream "no"; there are animals/,
    ],
    ['POST', '/admin/keys/import', 'token\nx', 400, /Line 2: /],
    ['GET', '/admin/nothing', undefined, 404, /nothing at this path/],
  ] as const) {
    const answer = await ask(method, path, body)
    const called = `${method} ${path} ${JSON.stringify(body)}`
    t.match(json(answer), { status, message }, called)
    t.equal(answer.status, status, called)
  }
  const audit = json(await ask('GET', '/admin/audit')) as unknown as unknown[]
  t.equal(audit.length, 3, 'none of it is in the audit')
  t.match(await ask('POST', '/admin/keys', '<x/>', { 'content-type': 'text/xml' }), { status: 415 })
})

t.test('the configuration is shown, checked and read again; the audit says by whom', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { ask, text, write, runJson } = await start(t, {
    upstream,
    more: plans,
    environments: [{ ADMIN_TOKEN: `alice:${token}, bob:${token}-too` }],
  })
  const check = (body: string) =>
    ask('POST', '/admin/config/check', body, { 'content-type': 'application/yaml' })
  const nothing = { ...sound, differences: [], keys: {}, refused: {} }
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
    ...{ differences: [], keys: {}, refused: {} },
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
  for (const args of [
    ['config', 'show'],
    ['config', 'show', '--json'],
    ['config', 'diff'],
    ['audit'],
  ]) {
    const command = [...args, '--config', file]
    const { ended, output } = startProcess(t, 'gateway/cli/main.ts', {
      args: command,
      env: environment,
    })
    t.equal((await ended).code, 0, output())
    told += output()
  }
  told += gateway.output()
  t.match(told, /\$\{OTHER_DOCS\}/, 'their names are told')
  for (const secret of [...Object.values(secrets), 'canary-of-bobs-token', token]) {
    const place = told.indexOf(secret)
    t.equal(place, -1, `${secret}: ${told.slice(place - 200, place + 100)}`)
  }
})

t.test('a posted text tells nothing of files, and waits for none', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { ask, text } = await start(t, { upstream, more: plans })
  const dir = t.testdir({ 'there.pem': 'x' })
  execFileSync('mkfifo', [join(dir, 'pipe')])
  const check = async (ca: string) =>
    json(
      await ask(
        'POST',
        '/admin/config/check',
        text.replace('targets:', `tls: { ca: "${ca}" }, targets:`),
        {
          'content-type': 'application/yaml',
        },
      ),
    )
  for (const name of ['there.pem', 'not-there.pem', 'pipe']) {
    const ca = join(dir, name)
    t.match(await check(ca), { sound: true, differences: [{ after: { ca } }] }, name)
  }
})

t.test('changes are in the log of a gateway that runs, whoever makes them', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { run, gateway } = await start(t, { upstream, more: plans })
  await run('keys', 'create', '--plan', 'free', '--name', 'x\u001b[31m', '--by', 'Eve')
  await run('keys', 'create', '--plan', 'free', '--name', 'Ann', '--by', 'Eve')
  await until(() => gateway.output().includes('keys.create'))
  const line =
    gateway
      .output()
      .split('\n')
      .find((each) => each.includes('keys.create')) ?? ''
  t.match(json(line), { audit: 'keys.create', by: 'Eve', after: { name: 'Ann' }, msg: 'changed' })
  t.notMatch(gateway.output(), /tg_\w{12}_\w/, 'without the token')
  t.match(await run('keys', 'create', '--plan', 'free', '--name', 'B', '--by', 'a\nb'), {
    code: 2,
    out: /--by must be a line/,
  })
})

t.test('a target tells its answers, its times and its last failure', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url?.includes('broken')) return void request.socket.destroy()
    response.statusCode = request.url?.includes('odd') ? 418 : 200
    response.end()
  })
  const { ask, url } = await start(t, { upstream: upstream.url, more: plans })
  const { key } = json(await ask('POST', '/admin/keys', { name: 'Acme', plan: 'pro' }))
  const call = (path: string) =>
    caller(url)('GET', path, undefined, { authorization: `Bearer ${String(key)}` })
  for (const path of ['/v1/a', '/v1/b', '/v1/odd']) await call(path)
  t.equal((await call('/v1/broken')).status, 502)
  const { animals } = json(await ask('GET', '/admin/upstreams')) as Record<string, object>
  const target = Reflect.get(animals ?? {}, upstream.url) as Record<string, unknown>
  t.match(target, {
    healthy: true,
    answers: { '2xx': 2, '4xx': 1, none: 1 },
    lastFailure: { at: /Z$/, cause: /./ },
  })
  t.ok(Number(target['p50Ms']) > 0 && Number(target['p50Ms']) <= Number(target['p95Ms']))
})

t.test('what is ready is told member by member', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const { operate, ask, gateway, write, url } = await start(t, { upstream, more: plans })
  t.match(json(await operate('GET', '/readyz')), {
    ready: true,
    stopping: false,
    store: 'reachable',
    upstreams: { animals: { [upstream]: { healthy: true, weight: 1 } } },
  })
  const target = { healthy: true, weight: 1, answers: {}, p50Ms: null, lastFailure: null }
  t.match(json(await ask('GET', '/admin/upstreams')), { animals: { [upstream]: target } })
  t.match(json(await ask('POST', '/admin/upstreams/check', { url: upstream })), {
    upstream: 'animals',
    fit: true,
  })
  write((text) => text.replace('plans:', 'plams:'))
  await until(async () => (await operate('GET', '/readyz')).text.includes('"mistakes":1'))
  t.match(await ask('GET', '/admin/config'), { text: /did you mean plans/ }, 'which, with a token')
  t.equal((await operate('GET', '/readyz')).status, 200, 'it goes on by the one before')
  const { hostname, port } = new URL(url)
  const open = connect(Number(port), hostname)
  t.teardown(() => open.destroy())
  await once(open, 'connect')
  gateway.child.kill('SIGTERM')
  await until(async () => (await operate('GET', '/readyz').catch(() => undefined))?.status === 503)
  t.match(json(await operate('GET', '/readyz')), { ready: false, stopping: true })
})
