import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { aligned, endText } from '../../gateway/operations/table.ts'
import { keyChange } from '../../gateway/operations/keys/settings.ts'
import { readConfig } from '../../gateway/config/load.ts'
import { hashOf, newToken } from '../../gateway/keys/token.ts'
import { dayMs } from '../../gateway/limits/step.ts'
import { openStores } from '../../gateway/stores/open.ts'
import { start as startOperator } from '../support/operator.ts'
import { callsCsv } from '../../gateway/records/deprecated-calls.ts'
import { runCommand, type Ran } from '../support/command.ts'
import { configFor, startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { modesIn, startProcess } from '../support/process.ts'
import { bound } from '../support/promises.ts'
import { startRedis, watchCommands } from '../support/redis.ts'
import { until } from '../support/until.ts'

/** The command line on a store of its own; `store` as in the configuration. */
async function commandLine(t: Test, store: string) {
  const upstream = await startUpstream(t)
  const file = join(t.testdir(), 'gateway.yaml')
  writeFileSync(file, configFor(upstream.url, store.replace('$DIR', t.testdirName)))
  const env = { TOLLGATE_CONFIG: file }
  const run = (...args: string[]): Promise<Ran> => runCommand(args, env)
  const runJson = async (...args: string[]) => json((await run(...args, '--json')).stdout)
  const gateway = () => startProcess(t, 'gateway/main.ts', { env: { ...env, LOG_LEVEL: 'trace' } })
  return { env, run, runJson, gateway, folder: t.testdirName, upstream }
}

t.test('a would-be backend is held against the present one', async (t) => {
  const answering = (pets: unknown, more: Record<string, unknown> = {}) =>
    startUpstream(t, ({ url = '' }, response) => {
      const body = url.startsWith('/api/pets') ? pets : more[url]
      response.setHeader('content-type', 'application/json')
      response.statusCode = url === '/healthz' || body !== undefined ? 200 : 404
      response.end(JSON.stringify(body ?? {}))
    })
  const pet = { id: 1, name: 'Rex', tags: ['a'] }
  const present = await answering([pet])
  const folder = t.testdir()
  const file = join(folder, 'gateway.yaml')
  const yaml = configFor(present.url, 'file: x', {
    routes: '[ { path: /v1/*, upstream: animals, rewrite: /api/* } ]',
    upstreamMore:
      'health: { path: /healthz }, probes: [ { request: GET /v1/pets?limit=1 }, { request: GET /v1/no, status: 404 } ]',
  })
  writeFileSync(file, yaml)
  const check = (url: string, env: Record<string, string> = {}, ...more: string[]) =>
    runCommand(['upstream', 'check', url, '--config', file, ...more], env)
  t.match(await check(present.url), { code: 0, out: /3 probes, nothing breaks\.\n$/ })
  t.equal(present.seen.find(({ url }) => url?.startsWith('/api/pets'))?.url, '/api/pets?limit=1')
  const longer = await answering([{ ...pet, age: 3 }])
  t.equal((await check(longer.url)).code, 0, 'more than callers know does not hurt')
  const other = await answering([{ id: '1', tags: [] }], { '/api/no': {} })
  const { code, out } = await check(other.url)
  t.equal(code, 1)
  t.match(out, /\[\]\.id is a string, not a number; \[\]\.name is missing/)
  t.match(out, /GET \/v1\/no +404 +200 +\d+ +the status is not 404/)
  t.match(out, /would break 2 of 3 probes/)
  t.match(await check('http://127.0.0.1:1'), { code: 1, out: /it does not answer/ })
  t.match(await check(longer.url, { GATEWAY_SECRET: 'x' }), {
    code: 1,
    out: /anybody who reaches it is believed to be the gateway/,
  })
  const json = await check(other.url, {}, '--json')
  t.match(JSON.parse(json.out), { upstream: 'animals', fit: false, findings: [{}, {}, {}] })
  t.match(await check(longer.url, { GATEWAY_SECRET: 'x,' }), {
    code: 2,
    out: /^tollgate: GATEWAY_SECRET has an empty part/,
  })
  const dead = 'http://127.0.0.1:1'
  const gone = await check(dead, { GATEWAY_SECRET: 'x' })
  t.match(gone.out, /the same, not signed +403 .*ECONNREFUSED.* it does not answer\n/)
  t.notMatch(gone.out, /is believed/)
  t.match(await check('ftp://x'), { code: 2, out: /must be an http or https URL/ })
  t.match(await check(longer.url, {}, '--upstream', 'x'), { code: 2, out: /there are animals/ })
})

t.test('a backend that could be compared with nothing is not fit', async (t) => {
  const wouldBe = await startUpstream(t, ({ url }, response) =>
    response.writeHead(url === '/v1/no' ? 404 : 200).end('{}'),
  )
  const dead = 'http://127.0.0.1:1'
  const file = join(t.testdir(), 'gateway.yaml')
  const check = async (targets: string, probes: string, env: Record<string, string> = {}) => {
    const upstreamMore = `probes: [ ${probes} ]`
    writeFileSync(file, configFor('', 'file: x', { targets, upstreamMore }))
    return runCommand(['upstream', 'check', wouldBe.url, '--config', file], env)
  }
  const asNow = '{ request: GET /v1/pets }'
  const withStatus = '{ request: GET /v1/no, status: 404 }'
  const { code, out } = await check(`[ '\${ANIMALS_URL:-${dead}}' ]`, `${asNow}, ${withStatus}`)
  t.equal(code, 1)
  t.match(out, new RegExp(`GET /v1/pets .* not compared: the present backend ${dead} does not`))
  t.match(out, /GET \/v1\/no +404 +404 .* type and body are not compared: the present/)
  t.match(out, /\nNothing was compared in 1 of 3 probes\.\n/)
  t.notMatch(out, /nothing breaks|would break \d/)
  const lines = out.trimEnd().split('\n')
  t.match(lines.at(-1), `The present backend ${dead} does not answer: is it running?`)
  t.match(lines.at(-1), /ANIMALS_URL, which is not set in this terminal: set it/)
  const both = await runCommand(['upstream', 'check', dead, '--config', file], {})
  t.match(both, { code: 1, out: /it does not answer; not compared: the present backend/ })
  t.match(
    both.out,
    /would break 3 of 3 probes\.\nNothing was compared in 1 of 3 probes\.\nThe present/,
  )
  const set = await check(`[ { url: '\${ANIMALS_URL}' } ]`, asNow, { ANIMALS_URL: dead })
  t.match(set, { code: 1, out: /ANIMALS_URL, as it is set in this terminal\.\n$/ })
  t.match(await check(`[ '${dead}' ]`, asNow), { code: 1, out: /is that of the configuration/ })
  t.match(await check(`[ '${dead}' ]`, withStatus), {
    code: 0,
    out: /2 probes, nothing breaks\.\nThe present backend .* does not answer/,
  })
})

t.test('what somebody else has written does nothing to a terminal', async (t) => {
  const evil = '\u001bc\u009b2J\u202e\u2028\u200b'
  const escaped = '\\u{1b}c\\u{9b}2J\\u{202e}\\u{2028}\\u{200b}'
  const shown = aligned([
    ['ID', evil, 'X'],
    ['1', 'a', 'b'],
  ])
  // Not with `equal`: a report of what is wrong would be as evil.
  t.ok(shown === `ID  ${escaped}  X\n1   a${' '.repeat(escaped.length - 1)}  b`)
  const answering = (body: object) =>
    startUpstream(t, (_request, response) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body)),
    )
  const file = join(t.testdir(), 'gateway.yaml')
  const present = await answering({ [evil]: 1, name: 'x' })
  const upstreamMore = 'probes: [ { request: GET /v1/pets } ]'
  writeFileSync(file, configFor(present.url, `file: "${file}.db"`, { upstreamMore }))
  const run = (...args: string[]) => runCommand([...args, '--config', file], {})
  const obeyed = /[^\n\P{C}]|[\u2028\u2029]/u
  const other = (await answering({})).url
  for (const args of [
    ['upstream', 'check', other],
    ['upstream', 'check', other, '--json'],
  ]) {
    const { code, out } = await run(...args)
    t.equal(code, 1)
    t.ok(out.includes('is missing'))
    t.notOk(obeyed.test(out), args.join(' '))
  }
  for (const [option, value] of [
    ['--name', 'Acme\u202e'],
    ['--name', 'Ac\u200bme'],
    ['--account', 'acme\u2028'],
    ['--note', 'a\u2029b'],
    ['--by', 'Eve\u202e'],
  ] as const) {
    const name = option === '--name' ? [] : ['--name', 'Acme']
    const { code, out } = await run('keys', 'create', '--plan', 'free', ...name, option, value)
    t.equal(code, option === '--by' ? 2 : 1, option)
    t.ok(out.endsWith('must be a line of 1 to 255 characters, none of them invisible\n'), option)
    t.notOk(obeyed.test(out))
  }
  t.match(await run('keys', 'list'), { code: 0, out: /There are no keys yet/ })
  t.match(await run('keys', 'show', evil), {
    code: 1,
    out: `tollgate: there is no key with the id or name "${escaped}"\n`,
  })
})

t.test('a store that was written by somebody else does nothing to a terminal', async (t) => {
  const evil = '\u001b]0;x\u0007\u009b2J\u202e\u2028\u200b\ud800'
  const { env, run } = await commandLine(t, 'file: $DIR/gateway.db')
  const { id } = JSON.parse(
    (await run('keys', 'create', '--plan', 'free', '--name', 'x', '--json')).stdout,
  ) as { id: string }
  const stores = openStores(readConfig(env.TOLLGATE_CONFIG, {}).config.store)
  const { key, version } = (await stores.keys.get(id)) ?? { version: 0 }
  if (!key) throw new Error('it was made')
  const day = Math.floor(Date.now() / dayMs)
  await stores.keys.replace(
    { ...key, name: evil, account: evil, note: evil, methods: [evil], addresses: [evil] },
    version,
  )
  const tally = { day, key: id, count: 1, lastMs: Date.now() }
  await stores.tallies.add('b', [
    { ...tally, what: `refused ${evil}` },
    { ...tally, what: `deprecated ${evil}` },
  ])
  const change = { what: evil, subject: id, before: { [evil]: evil }, after: null }
  await stores.audit.add({ ...change, atMs: Date.now(), by: evil })
  await stores.close()
  const obeyed = /[^\n\P{C}]|[\u2028\u2029]/u
  const token = newToken(id)
  for (const words of [
    ['keys', 'list'],
    ['keys', 'list', '--limit', '1', '--search', '\u001b'],
    ['keys', 'show', id],
    ['keys', 'show', evil],
    ['keys', 'disable', '--account', evil, '--dry-run'],
    ['keys', 'disable', '--account', evil],
    ['keys', 'change', id, '--plan', 'pro'],
    ['keys', 'find'],
    ['bans', 'set', id, '--for', '1h'],
    ['bans', 'list'],
    ['bans', 'lift', id],
    ['quota', 'show', id],
    ['usage'],
    ['usage', id],
    ['usage', 'export'],
    ['audit'],
    ['deprecations', 'report'],
    ['keys', 'rotate', id],
    ['keys', 'revoke', id],
  ]) {
    for (const more of [[], ['--json']]) {
      let asked = ''
      const confirm = (question: string) => {
        asked += question
        return Promise.resolve(words.includes('revoke'))
      }
      const { out } = await runCommand([...words, ...more], env, { line: token, confirm })
      // Not with `match`: a report of what is wrong would be as evil.
      t.notOk(obeyed.test(out.replaceAll('\n', '')), [...words.slice(0, 2), ...more].join(' '))
      t.notOk(obeyed.test(asked), `the question of ${words.slice(0, 2).join(' ')}`)
    }
  }
})

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`whose a token is leaves no trace of the token: ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const monitored = redis ? await watchCommands(t, redis) : []
    const store = redis ? `redis: "${redis.url}"` : 'file: $DIR/gateway.db'
    const { ask, admin, gateway, file, runJson } = await startOperator(t, {
      upstream: 'http://127.0.0.1:1',
      store,
      more: 'plans: { free: { perMinute: 60, perDay: 1000 } }',
      environments: [{ LOG_LEVEL: 'trace' }],
    })
    const created = await ask('POST', '/admin/keys', { name: 'Acme', plan: 'free' })
    const { id, key: older } = json(created)
    const { key: newer } = json(await ask('POST', `/admin/keys/${String(id)}/rotate`))
    const foreign = 'canary-of-another-system-0123456789'
    const csv = { 'content-type': 'text/csv' }
    // The import holds the token, and hashes it before it asks the store.
    await ask('POST', '/admin/keys/import', `token,plan,name\n${foreign},free,Other\n`, csv)
    const tokens = [older, newer, foreign, newToken(String(id)), 'canary-nobodys-98765'].map(String)
    const [old = '', current = '', imported = '', invented = '', nobodys = ''] = tokens
    const find = (token: string) => ask('POST', '/admin/keys/find', { token })
    t.match(json(await find(current)), { token: 'current', until: null, works: true, key: { id } })
    t.match(json(await find(old)), { token: 'rotated_out', until: /Z$/, works: true, key: { id } })
    t.match(json(await find(imported)), { token: 'current', key: { name: 'Other' } })
    t.match(await find(invented), { status: 404, text: /"No key has this token\."/ })
    t.match(await find(nobodys), { status: 404 })
    t.match(await find(current.slice(0, -1)), { status: 404, text: /mistyped or cut/ })
    const findBy = (config: string) =>
      runCommand(['keys', 'find', '--config', config], {}, { line: current })
    t.match(await findBy(file), { out: /current token of the key\. It works\.\n/ })
    const without = join(dirname(file), 'without.yaml')
    writeFileSync(without, readFileSync(file, 'utf8').replace('{ free:', '{ pro:'))
    t.match(await findBy(without), {
      out: /It is valid, but its key is refused: the configuration has no limits for the plan free\.\n/,
    })
    t.match(await ask('PUT', `/admin/bans/${String(id)}`, { for: '1h' }), { status: 200 })
    t.match(await findBy(file), { out: /It is valid, but its key is banned until .*\.\n/ })
    const answers: string[] = []
    for (const token of tokens) {
      const bodies = [
        `{"token":"${token}"`,
        { [token]: 1 },
        { token, [token]: 1 },
        { token: [token] },
      ]
      for (const body of [...bodies, { tokem: token }, { token: `${token} ${token}` }, token]) {
        const { status, text } = await ask('POST', '/admin/keys/find', body)
        t.equal(status, 400)
        answers.push(text)
      }
      const { status, text } = await ask(
        'POST',
        '/admin/keys/find',
        { token },
        { 'content-type': 'text/plain' },
      )
      t.equal(status, 415)
      answers.push(text)
      const command = (line: string, ...more: string[]) =>
        runCommand(['keys', 'find', '--config', file, ...more], {}, { line })
      answers.push((await command(`${token}\n`)).out, (await command(token, '--json')).out)
      const told = await command('', token)
      t.match(told, { code: 2, out: /takes no arguments: what it asks for comes from standard/ })
      answers.push(told.out, (await command('', `--token=${token}`)).out)
    }
    await ask('POST', `/admin/keys/${String(id)}/rotate`, { overlap: '0' })
    const ended = json(await find(current))
    t.match(ended, { token: 'rotated_out', works: false, key: { state: 'active' } })
    await ask('POST', `/admin/keys/${String(id)}/disable`)
    t.match(json(await find(old)), {
      token: 'rotated_out',
      works: false,
      key: { state: 'disabled' },
    })
    await ask('POST', `/admin/keys/${String(id)}/revoke`)
    const text = await runCommand(['keys', 'find', '--config', file], {}, { line: current })
    t.match(text, { code: 0, out: /was rotated out: [^]* The key is revoked\. It doesn’t work/ })
    t.match(await runCommand(['keys', 'find', '--config', file], {}, { line: nobodys }), {
      ...{ code: 1, out: 'tollgate: no key has this token\n' },
    })
    const audit = JSON.stringify(await runJson('audit'))
    t.match(await caller(admin)('POST', '/admin/keys/find', { token: current }), { status: 401 })
    gateway.child.kill('SIGTERM')
    await gateway.ended
    const files = redis
      ? ''
      : readdirSync(dirname(file))
          .map((name) => readFileSync(join(dirname(file), name), 'latin1'))
          .join()
    const places = {
      answers: answers.join(),
      log: gateway.output(),
      audit,
      files,
      monitored: monitored.join(),
    }
    t.ok(redis ? monitored.length > 50 : files.length > 10_000)
    for (const [place, content] of Object.entries(places)) {
      for (const token of tokens) {
        // The secret part of a token of ours, since logs may have its id.
        const secret = token.slice(token.startsWith('tg_') ? 16 : 0)
        t.notOk(content.includes(secret), `${place} has no token`)
      }
    }
  })
}

t.test(
  'a change of many keys that is broken off says what is left, and goes on later',
  async (t) => {
    const redis = await startRedis(t)
    const { run, runJson, folder } = await commandLine(t, `redis: "${redis.url}"`)
    const file = join(folder, 'keys.csv')
    const rows = Array.from({ length: 300 }, (_, i) => `token-number-${i},free,ACME`)
    writeFileSync(file, ['token,plan,account', ...rows].join('\n'))
    t.match(await run('keys', 'import', file), { code: 0 })
    const disabling = run('keys', 'disable', '--account', 'ACME', '--yes')
    await until(async () => (await redis.client.xlen('tollgate:audit')) > 20)
    await redis.client.config('SET', 'min-replicas-to-write', '1')
    const { code, stdout } = await disabling
    t.equal(code, 1)
    const [, done = '', left = ''] =
      /^(\d+) keys are changed:[^]*\n(\d+) keys are left:\n/.exec(stdout) ?? []
    t.equal(Number(done) + Number(left), 300)
    t.match(
      stdout,
      /(?:NOREPLICAS|to the audit)[^]*\n\nThe same command again goes on with those that are left\.\n$/,
    )
    t.match(await run('keys', 'disable', '--account', 'ACME', '--yes'), {
      code: 1,
      out: /NOREPLICAS/,
    })
    await redis.client.config('SET', 'min-replicas-to-write', '0')
    const again = await runJson('keys', 'disable', '--account', 'ACME', '--yes')
    const rest = again as unknown as Record<'changed' | 'skipped' | 'left', unknown[]>
    t.equal(rest.left.length, 0)
    t.equal(rest.changed.length + rest.skipped.length, 300)
    t.ok(Math.abs(rest.skipped.length - Number(done)) <= 1, 'those that were done stay')
    const { keys } = await runJson('keys', 'list', '--state', 'disabled', '--limit', '1000')
    t.match(keys, { length: 300 })

    const stores = openStores(readConfig(join(folder, 'gateway.yaml'), {}).config.store)
    t.teardown(() => stores.close())
    const last = (keys as { id: string }[]).at(-1)?.id ?? ''
    const lines = await redis.client.xlen('tollgate:audit')
    const enabling = runJson('keys', 'enable', '--account', 'ACME', '--yes')
    await until(async () => (await redis.client.xlen('tollgate:audit')) > lines + 5)
    const { key, version = 0 } = (await stores.keys.get(last)) ?? {}
    if (!key) throw new Error('it was imported')
    t.ok(await stores.keys.replace({ ...key, account: 'other' }, version))
    const enabled = (await enabling) as unknown as typeof rest
    t.match(enabled.changed, { length: 299 })
    t.strictSame(enabled.left, [])
    t.match(enabled.skipped, [{ id: last, why: 'it has left the account' }])
    t.match((await stores.keys.get(last))?.key, { account: 'other', disabled: true })
  },
)

t.test('a spreadsheet makes a formula of nothing', (t) => {
  const forever = { sunsetMs: undefined, extension: undefined, needsExtension: false }
  const cells = (name: string): string => {
    const calls = { key: 'k', name, operation: 'GET /v1/pets', calls: 2, lastMs: 0 }
    return (
      callsCsv([{ ...calls, ...forever }])
        .split('\r\n')[1]
        ?.split('","')[1] ?? ''
    )
  }
  for (const [name, cell] of [
    ['=HYPERLINK(0)', "'=HYPERLINK(0)"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(1)', "'@SUM(1)"],
    ['  =1', "  '=1"],
    ['a;=HYPERLINK(0)', "a;'=HYPERLINK(0)"],
    ['a; +1;-2', "a; '+1;'-2"],
    ['\uff1d1', "'\uff1d1"],
    ['a;\uff0b1;\uff0d1;\uff201', "a;'\uff0b1;'\uff0d1;'\uff201"],
    ['Acme, "Inc"', 'Acme, ""Inc""'],
    ['1=1; a-b', '1=1; a-b'],
  ] as const) {
    t.equal(cells(name), cell)
  }
  const [heads, row] = callsCsv([
    { key: 'k', name: 'a', operation: 'o', calls: 2, lastMs: 0, ...forever },
  ]).split('\r\n')
  const more = '"sunset","extension","needsExtension"'
  t.equal(heads, `"key","name","operation","calls","last",${more}`)
  const last = '"1970-01-01T00:00:00.000Z"'
  t.equal(row, `"k","a","o","2",${last},"","","false"`, 'every cell is in quotes')
  t.end()
})

t.test('a report tells whom to write to', async (t) => {
  const { run, runJson, gateway, folder } = await commandLine(t, 'file: $DIR/gateway.db')
  const file = join(folder, 'gateway.yaml')
  const more = 'deprecations: [ { operation: "GET /v1/pets/{petId}", since: 2025-12-05 } ]\n'
  writeFileSync(file, readFileSync(file, 'utf8') + more)
  t.match(await run('deprecations', 'report'), { code: 0, out: /No key has called/ })
  const made = await runJson('keys', 'create', '--plan', 'free', '--name', '=Acme, "Inc"')
  const { child, url, ended } = gateway()
  const call = caller(await url)
  for (let i = 0; i < 2; i++) {
    await call('GET', '/v1/pets/1', undefined, { authorization: `Bearer ${String(made['key'])}` })
  }
  child.kill('SIGTERM')
  await ended
  t.match(await run('deprecations', 'report'), {
    code: 0,
    out: /ID +NAME +OPERATION +CALLS +LAST +SUNSET\n\w{12} +=Acme, "Inc" +GET \/v1\/pets\/\{petId\} +2 +20/,
  })
  const csv = await run('deprecations', 'report', '--csv', '--days', '1')
  t.match(
    csv.out,
    /^"key",.*,"last","sunset",.*\r\n"\w{12}","'=Acme, ""Inc""","GET [^,]+","2","20[^,]+Z","","","false"\n$/,
  )
  t.match(await runJson('deprecations', 'report'), [{ key: made['id'], calls: 2 }])
  t.match(await run('deprecations', 'report', '--days', '0'), { code: 2, out: /from 1 to 90/ })
})

t.test('the commands on keys', async (t) => {
  const { env, run, runJson, folder } = await commandLine(t, 'file: $DIR/gateway.db')

  t.test('create, list, show, change, disable, enable, rotate, revoke', async (t) => {
    t.match(await run('keys', 'list'), { code: 0, out: /There are no keys yet/ })
    const made = await run(
      'keys',
      'create',
      '--plan',
      'free',
      '--name',
      'Acme Inc',
      '--expires',
      '2099-01-01',
    )
    t.equal(made.code, 0)
    t.match(
      made.out,
      /Made the key \w{12} \(Acme Inc, plan free\)\. Its token is shown this once:\n\n {2}tg_/,
    )
    const created = await runJson(
      'keys',
      'create',
      '--plan',
      'enterprise',
      '--name',
      'Big',
      '--per-minute',
      '5',
      '--per-day',
      'unlimited',
    )
    t.strictSame(Object.keys(created), ['id', 'key', 'plan'])
    const id = String(created['id'])
    t.match(await run('keys', 'list'), {
      out: /^ID +NAME +PLAN +STATE +LIMITS +EXPIRES +CREATED\n\w{12} +Acme Inc +free +active +2099-01-01 /,
    })
    t.match(await runJson('keys', 'show', id), {
      id,
      state: 'active',
      limits: { perMinute: 5, perDay: 'unlimited' },
    })
    t.match(
      await runJson(
        'keys',
        'change',
        id,
        '--plan',
        'pro',
        '--per-minute',
        'plan',
        '--account',
        'big',
      ),
      {
        plan: 'pro',
        account: 'big',
        limits: { perDay: 'unlimited' },
      },
    )
    t.match(await runJson('keys', 'disable', id), { state: 'disabled' })
    t.match(await runJson('keys', 'enable', id), { state: 'active' })
    const rotated = await runJson('keys', 'rotate', id, '--overlap', '1h')
    t.equal(rotated['id'], id)
    t.not(rotated['key'], created['key'])
    t.match(await run('keys', 'show', id), { out: /oldTokenUntil: +20/ })
    t.match(await runJson('keys', 'revoke', id), { state: 'revoked' })
    t.match(await run('keys', 'change', id, '--name', 'x'), {
      code: 1,
      out: /is revoked, which is for good/,
    })
    t.notMatch((await run('keys', 'list')).out, id)
    t.match((await run('keys', 'list', '--all', '--account', 'big')).out, id)
  })

  t.test('take a name, a token or a line where an id is meant', async (t) => {
    const create = (name: string, ...more: string[]) =>
      runJson('keys', 'create', '--plan', 'free', '--name', name, ...more)
    const { id, key } = await create('Zoo of Bern')
    t.match(await runJson('keys', 'show', 'zoo OF bern'), { id, name: 'Zoo of Bern' })
    const shown = await run('keys', 'show', String(key))
    t.match(shown, { code: 0, stdout: /name: +Zoo of Bern/, out: /a token is a secret/ })
    t.notMatch(shown.out, String(key).slice(16), 'it is not repeated')
    t.match(await runJson('keys', 'show', `tg_${String(id)}_…`), { id }, 'as the log has it')
    for (const lost of [`${String(key)}x`, 'tg_123456789012_34', 'tg_x']) {
      const { code, out } = await run('keys', 'disable', lost)
      t.equal(code, lost.startsWith(String(key)) ? 0 : 1)
      t.notMatch(out, lost.slice(20) || 'tg_x')
    }
    const asked = await runCommand(['keys', 'enable', '-'], env, { line: String(key) })
    t.equal(asked.code, 0)
    t.notMatch(asked.out, 'tg_', 'neither repeated nor warned of')
    t.match(await runJson('keys', 'show', String(id)), { state: 'active' })

    const twins = [await create('Twin'), await create('twin'), await create('TWIN')]
    await run('keys', 'revoke', String(twins[2]?.['id']))
    t.match(await runJson('keys', 'show', 'Twin'), { id: twins[0]?.['id'] }, 'spelled the same')
    for (const args of [
      ['keys', 'change', 'tWIN', '--plan', 'pro'],
      ['keys', 'revoke', 'tWIN'],
      ['quota', 'reset', 'tWIN'],
      ['bans', 'set', 'tWIN', '--for', '1h'],
      ['usage', 'tWIN'],
    ]) {
      const { code, out } = await run(...args)
      t.equal(code, 1, args.join(' '))
      t.match(out, /"tWIN" is the name of 2 keys: \w{12} \(\w+, plan free\), \w{12} .* Give the id/)
    }
    t.match(await run('keys', 'show', 'zoo'), {
      code: 1,
      out: `no key with the id or name "zoo"; similar names: ${String(id)} (Zoo of Bern, plan free)`,
    })
    t.match(await runJson('keys', 'list', '--name', 'OO OF'), [{ id }])
    t.match(await run('keys', 'list', '--name', 'nobody'), { out: /No key matches/ })
    t.match(await run('audit', '--key', 'Zoo of Bern', '--limit', '1'), { out: /keys\.enable/ })
  })

  t.test('take away whatever can be given, as the admin API does', async (t) => {
    const all = {
      ...{ name: 'Full', plan: 'pro', account: 'full', expires: '2099-01-01', note: 'n' },
      ...{ 'per-minute': '5', 'per-day': '6', method: 'get', path: '/v1/*', address: '10.0.0.0/8' },
    }
    const taken = Object.keys(all).filter((name) => name !== 'name' && name !== 'plan')
    const options = (some: Record<string, string>) =>
      Object.entries(some).flatMap(([name, value]) => [`--${name}`, value])
    const { id } = await runJson('keys', 'create', ...options(all))
    const full = await runJson('keys', 'show', String(id))
    t.match(full, { account: 'full', methods: ['GET'], limits: { perMinute: 5, perDay: 6 } })
    // An end is no setting of its own.
    const names = Object.keys(keyChange).filter((name) => !name.endsWith('until'))
    t.equal(names.length, Object.keys(all).length, 'all that can be changed is given')
    for (const name of names) t.ok(String(name.split('.')[0]) in full, name)
    for (const name of taken) {
      const { code, out } = await run('keys', 'change', String(id), `--${name}`, '')
      t.equal(code, 2)
      t.match(out, `--${name} is empty; --no-${name} takes away what the key has`)
    }
    const away = taken.map((name) => `--no-${name}`)
    const { code, out } = await run('keys', 'change', String(id), ...away)
    t.equal(code, 0)
    t.match(out, /It no longer draws on the quota of the account full\.\nIts limits are now 300 a /)
    const bare = await runJson('keys', 'show', String(id))
    t.strictSame(Object.keys(bare), [
      'id',
      'name',
      'plan',
      'state',
      'createdAt',
      'lastUsedAt',
      'standing',
    ])
    t.match(await run('keys', 'change', String(id), '--account', 'x', '--no-account'), {
      ...{ code: 2, out: '--account and --no-account contradict each other' },
    })
    t.match(await run('keys', 'change', String(id), '--method', 'any'), {
      ...{
        code: 2,
        out: /--method must be one method such as GET; without one, all are allowed, got "any"/,
      },
    })
  })

  t.test('tell what a change leads to', async (t) => {
    const create = (name: string, ...more: string[]) =>
      run('keys', 'create', '--plan', 'pro', '--name', name, ...more)
    t.match(await create('One', '--account', 'many'), {
      out: /only key of the account many so far/,
    })
    t.match(await create('Two', '--account', 'many'), { out: /shares one quota with 1 other key / })
    await create('Three')
    const moved = await run('keys', 'change', 'Three', '--account', 'many')
    t.match(moved.out, /^It shares one quota with 2 other keys of the account many\.\n\n/)
    const trial = await create('Trial', '--account', 'many', '--test')
    t.match(trial.out, /As a test key of the account many it has a quota of its own\.\n/)
    const seventh = await create('Seventh', '--account', 'many')
    t.match(seventh.out, /It shares one quota with 3 other keys of/, 'test keys share nothing')
    t.notMatch((await run('keys', 'change', 'Trial', '--no-account')).out, /no longer draws/)
    t.match(await run('quota', 'show', 'Three'), {
      out: /\(Three, plan pro\): active, shared by all keys of many\n\n.*\nminute +300 +0 +300 /,
    })
    t.match(await run('keys', 'change', 'Three', '--plan', 'free'), {
      out: /^Its limits are now 60 a minute and 1000 a day\.\n/,
    })
    t.match(await run('keys', 'disable', 'Three'), { out: /refuses it within a second, with 401/ })
    t.match(await run('keys', 'rotate', 'Three'), { out: /It is disabled; .* lets it in again/ })
    const never = /Its limit per minute \(100\) is never reached: its limit per day is 10\.\n/
    const own = ['--per-minute', '100', '--per-day', '10']
    t.match(await create('Four', ...own), { out: never })
    t.notMatch(await create('Five', '--per-day', '300'), { out: /never reached/ })
    t.match(await run('keys', 'change', 'Five', ...own), { out: never })
    await run('keys', 'change', 'Five', '--name', 'Six')
    const end = '20\\d\\d-\\d\\d-\\d\\d \\d\\d:\\d\\d(?::\\d\\d)?Z'
    const first = await run('keys', 'rotate', 'Six', '--overlap', '2h')
    t.notMatch(first.out, 'The one before it')
    const until = new RegExp(`The old one works until (${end})`).exec(first.out)?.[1] ?? 'none'
    t.match(await run('keys', 'rotate', 'Six'), {
      out: `\nThe one before it works no longer: it would have worked until ${until}, but a key has two`,
    })
    t.notMatch((await run('keys', 'change', 'Six', '--name', 'Seven')).out, 'within a second')
    t.match(await run('keys', 'revoke', 'Seven'), {
      out: /^Every gateway refuses it within a second, with 401\.\n\nid: /,
    })
  })

  t.test('tell an end to the second, and never too early', (t) => {
    const at = (time: string) => endText(Date.parse(`2026-11-23T${time}Z`))
    t.equal(at('02:10:26.001'), '2026-11-23 02:10:27Z')
    t.equal(at('02:10:27.000'), '2026-11-23 02:10:27Z')
    t.equal(at('02:10:59.999'), '2026-11-23 02:11Z')
    t.equal(at('02:11:00.000'), '2026-11-23 02:11Z')
    t.end()
  })

  t.test('no answer about a key that is refused looks well', async (t) => {
    const { id } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Banned')
    await run('bans', 'set', 'Banned', '--for', '1h', '--by', 'Eve')
    t.match((await run('keys', 'list')).out, /Banned +free +banned until \d\d:\d\d(?::\d\d)?Z /)
    t.match(await runJson('keys', 'list', '--name', 'banned'), [{ bannedUntil: /Z$/ }])
    const shown = await run('keys', 'show', 'Banned')
    t.match(shown.out, /state: +banned until 20/)
    t.match(shown.out, /why: +banned by Eve since 20/)
    t.match(shown.out, /minute: +0 of 60 used \(plan free\), until 20/)
    const { out } = await run('quota', 'show', 'Banned')
    t.match(out, /^\w{12} \(Banned, plan free\): banned until 20.*\nWhy: banned by Eve since/)
    t.match(out, /WINDOW +LIMIT +USED +LEFT +RESET\nminute +60 +0 +0, banned +20/)
    t.match(await runJson('quota', 'show', 'Banned'), {
      ...{ id, name: 'Banned', plan: 'free', offered: true, ban: { by: 'Eve' } },
    })
    for (const args of [
      ['quota', 'reset', 'Banned'],
      ['keys', 'enable', 'Banned'],
      ['keys', 'rotate', 'Banned'],
    ]) {
      t.match((await run(...args)).out, /Its ban goes on until 20.*bans lift \w{12} ends it\./)
    }
    await run('bans', 'set', 'Banned', '--for', '7d')
    t.match((await run('keys', 'list')).out, /Banned +free +banned until 20\d\d-\d\d-\d\d /)
    t.match(await run('bans', 'lift', 'Banned'), { out: /\(Banned\) is lifted/ })
    t.match(await run('keys', 'show', 'Banned'), { out: /state: +active\n/ })

    const file = join(folder, 'gateway.yaml')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/\bfree:/, 'gone:'))
    t.match(await run('keys', 'list', '--name', 'Banned'), { out: /free +refused: no limits/ })
    t.match(await run('keys', 'show', 'Banned'), {
      out: /state: +active; refused: the configuration has no limits for the plan free/,
    })
    t.match(await run('quota', 'show', 'Banned'), { out: /minute +none +- +- +-\n/ })
    t.match(await runJson('quota', 'show', 'Banned'), { offered: false, minute: null })
    writeFileSync(file, text)
  })

  t.test('revoke asks whoever sits at a terminal', async (t) => {
    const { id } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Dear')
    const asked: string[] = []
    const revoke = (answer: boolean, ...more: string[]) =>
      runCommand(['keys', 'revoke', 'Dear', '--json', ...more], env, {
        confirm: (question) => {
          asked.push(question)
          return Promise.resolve(answer)
        },
      })
    t.match(await revoke(false), { code: 1, out: 'tollgate: nothing was changed\n' })
    t.strictSame(asked, [`End the key ${String(id)} (Dear, plan free) for good?`])
    t.match(await runJson('keys', 'show', String(id)), { state: 'active' })
    t.match(await revoke(false, '--yes'), { code: 0, out: /"state":"revoked"/ })
    t.match(await revoke(false), { code: 0 }, 'nothing more can be lost')
    t.equal(asked.length, 1)
  })

  t.test('list a page, and how to get the next one', async (t) => {
    const names = ['Page c', 'page A', 'PAGE b']
    for (const name of names) await run('keys', 'create', '--plan', 'free', '--name', name)
    const list = ['keys', 'list', '--search', 'pAgE ']
    const first = await run(...list, '--limit', '2')
    t.match(first.stdout, /page A[^]*PAGE b[^]*The next page: the same command with --after \S+\n$/)
    const [, cursor = ''] = /--after (\S+)\n$/.exec(first.stdout) ?? []
    t.match(await runJson(...list, '--after', cursor), { keys: [{ name: 'Page c' }], next: null })
    const { out } = await run(...list, '--after', cursor)
    t.match(out, /Page c/)
    t.notMatch(out, /--after|page A/)
    t.match(await run('keys', 'list', '--limit', '1', '--search', 'none'), {
      out: /No key matches/,
    })
    t.match(await runJson('keys', 'list', '--search', 'page a'), [{ name: 'page A' }])
    await run('keys', 'disable', 'page A')
    t.match(await runJson('keys', 'list', '--search', 'page', '--state', 'disabled'), [
      { name: 'page A', state: 'disabled' },
    ])
  })

  t.test('work on all keys of an account', async (t) => {
    const made = async (name: string, account: string) =>
      String((await runJson(...create, '--name', name, '--account', account))['id'])
    const create = ['keys', 'create', '--plan', 'free']
    for (const name of ['M One', 'M Two', 'M Three']) await made(name, 'ACME')
    const other = await made('Other', 'acme')
    await run('keys', 'revoke', 'M Three', '--yes')
    const states = async () =>
      (await runJson('keys', 'list', '--account', 'ACME', '--all', '--limit', '9'))['keys']
    const [many, account] = [
      ['keys', 'disable'],
      ['--account', 'ACME'],
    ]
    const lines = async () => ((await runJson('audit')) as unknown as unknown[]).length
    const before = await lines()
    const dry = await runJson(...many, ...account, '--dry-run')
    t.match(dry, {
      ...{ account: 'ACME', dryRun: true, left: [] },
      changed: [{ name: 'M One', before: { state: 'active' }, after: { state: 'disabled' } }, {}],
      skipped: [{ name: 'M Three', why: 'it is revoked already' }],
    })
    t.match(await run(...many, ...account, '--dry-run'), {
      out: /^2 keys would change:\n\w{12} +M One +state: "active" → "disabled"\n[^]*1 key stays as it is:/,
    })
    const answered = (answer: boolean | undefined, words: string[]) => {
      const asked: string[] = []
      const confirm = (question: string) => {
        asked.push(question)
        return Promise.resolve(answer)
      }
      return runCommand(words, env, { confirm }).then((ran) => ({ ...ran, asked }))
    }
    const question = 'Disable 2 keys of the account ACME?'
    t.match(await answered(undefined, [...many, ...account]), {
      ...{ code: 1, asked: [question] },
      out: `tollgate: ${question} Say so by --yes; nothing was changed\n`,
    })
    t.match(await answered(false, [...many, ...account]), { code: 1, asked: [question] })
    t.match(await states(), [{ state: 'active' }, { state: 'revoked' }, { state: 'active' }])
    t.equal(await lines(), before, 'and nothing is in the audit')
    t.match(await answered(true, [...many, ...account]), { code: 0, asked: [question] })
    t.match(await states(), [{ state: 'disabled' }, { state: 'revoked' }, { state: 'disabled' }])
    t.equal(await lines(), before + 2, 'a line for each key')
    t.match(await answered(undefined, [...many, ...account]), {
      ...{ code: 0, asked: [], out: /^3 keys stay as they are:[^]*it is so already/ },
    })
    await run('keys', 'enable', ...account, '--yes')
    const changed = ['keys', 'change', ...account, '--yes', '--plan', 'pro', '--note', 'moved']
    t.match(await runJson(...changed), {
      changed: [
        { after: { plan: 'pro', note: 'moved' }, before: { plan: 'free', note: null } },
        {},
      ],
    })
    t.match(await runJson('keys', 'show', other), { plan: 'free', account: 'acme' })
    await run('keys', 'revoke', 'M One', '--dry-run')
    t.match(await runJson('keys', 'show', 'M One'), { state: 'active' })
    for (const [words, code, out] of [
      [['disable'], 2, /name a key, or an account to mean all of its keys\n$/],
      [['revoke', '--account', '', '--yes'], 2, /name a key, or an account/],
      [['revoke', 'M One', ...account, '--yes'], 2, /either a key or an account, not both/],
      [['enable', '--account', 'nobodys', '--yes'], 1, /no key belongs to the account "nobodys"/],
      [['change', ...account, '--yes'], 2, /no change was given/],
      [['change', '--no-account', '--plan', 'pro'], 2, /name a key, or an account/],
      [['change', ...account, '--yes', '--plan', 'gold'], 1, /there is no plan "gold"/],
      [['change', ...account, '--dry-run', '--plan', 'enterprise'], 1, /is custom/],
    ] as const) {
      const ran = await run('keys', ...words)
      t.match(ran, { code, out }, words.join(' '))
    }
    t.match(await runJson('keys', 'change', 'M One', '--account', 'zoo'), { account: 'zoo' })
    const gone = await runJson('keys', 'revoke', ...account, '--yes')
    t.match(gone, { changed: [{ name: 'M Two' }], skipped: [{ name: 'M Three' }], left: [] })
    t.match(await runJson('keys', 'show', 'M One'), { state: 'active' })
  })

  t.test('say what is wrong, with an exit code', async (t) => {
    const create = (...args: string[]) => run('keys', 'create', '--name', 'x', ...args)
    for (const [ran, code, out] of [
      [create('--plan', 'gold'), 1, /there is no plan "gold"; there are free, pro, enterprise/],
      [
        create('--plan', 'enterprise', '--per-day', '5'),
        1,
        /"enterprise" is custom: its keys need both/,
      ],
      [create('--plan', 'free', '--address', '10.0.0.0/99'), 1, /"10.0.0.0\/99" is no address/],
      [create('--plan', 'free', '--method', 'FETCH'), 1, /"FETCH" isn’t a valid HTTP method/],
      [create('--plan', 'free', '--path', 'v1'), 1, /the path "v1" must start with \//],
      [create('--plan', 'free', '--note', 'a\nb'), 1, /the note must be a line/],
      [create(), 2, /--plan is required/],
      [create('--plan', 'free', '--per-minute', '1.5'), 2, /--per-minute must be a whole number/],
      [create('--plan', 'free', '--expires', 'soon'), 2, /--expires must be a day/],
      [
        create('--plan', 'free', '--nonsense'),
        2,
        /"keys create" has no option --nonsense; it has --plan, --name/,
      ],
      [create('--plan', 'free', 'extra'), 2, /"keys create" takes no arguments, got "extra"/],
      [run('keys', 'show'), 2, /"keys show" takes KEY, got ""/],
      [run('keys', 'show', 'nobody'), 1, /there is no key with the id or name "nobody"/],
      [run('keys', 'change', 'nobody', '--note', 'x'), 1, /no key with the id or name/],
      [
        run('keys', 'rotate', 'nobody', '--overlap', 'long'),
        2,
        /--overlap must be 0 or a duration/,
      ],
      [run('keys', 'import', '/nowhere.csv'), 1, /the file can't be read: ENOENT/],
      [run('keys', 'lst'), 2, /there is no command "keys lst"; did you mean keys list\?/],
      [run('key', 'create', '--plan', 'free'), 2, /; did you mean keys create\?/],
      [run('create', 'key'), 2, /; did you mean keys create\?/],
      [
        run('keys', 'issue', '--plan', 'free'),
        2,
        /there is no command "keys issue"\n\ntollgate: [^]*tollgate keys COMMAND[^]*keys create/,
      ],
      [run('keys', 'sho', 'Acme'), 2, /no command "keys sho"; did you mean keys show\?/],
      [run('--plan', 'free'), 2, /there is no command "--plan"\n/],
      [run('nonsense'), 2, /there is no command "nonsense"[^]*keys list/],
      [
        create('--plan', 'free', '--adress', 'x'),
        2,
        /has no option --adress; did you mean --addre/,
      ],
      [create('--plan'), 2, /--plan needs a value: PLAN/],
      [create('--plan', '--note', 'x'), 2, /one that begins with - is written --plan=--note/],
      [create('--plan', 'free', '--plan', 'pro'), 2, /--plan is given twice/],
      [create('--plan', 'free', '--json=1'), 2, /--json takes no value, got "1"/],
      [create('--plan', 'free', '-x'), 2, /"keys create" has no option -x/],
      [run('audit', '--limit', '10001'), 2, /--limit must be a whole number from 1 to 10000, got/],
      [
        run('keys', 'list', '--config', '/nowhere.yaml'),
        2,
        /the configuration \/nowhere.yaml can't be read: ENOENT.*'\n$/,
      ],
    ] as const) {
      const { code: ended, out: said } = await ran
      t.equal(ended, code)
      t.match(said, out)
      t.match(said, /^tollgate: /)
    }
  })

  t.test('explain themselves', async (t) => {
    t.match(await run('--help'), { code: 0, out: /keys create .*\n.*keys list/ })
    t.match(await run(), { code: 0, out: /Usage: tollgate COMMAND/ })
    t.match(await run('keys'), { code: 0, out: /Usage: tollgate keys COMMAND/ })
    t.match(await run('--version'), { code: 0, out: /^\d+\.\d+\.\d+\n$/ })
    const commands = 'create list show rotate revoke disable enable change import'.split(' ')
    await Promise.all(
      commands.map(async (command) => {
        const usage = new RegExp(`Usage: tollgate keys ${command}`)
        const { code, out } = await run('keys', command, '--help')
        t.equal(code, 0)
        t.match(out, usage)
        const long = out.split('\n').filter((line) => line.length > 80)
        t.strictSame(long, [], 'it fits a terminal')
      }),
    )
  })

  t.test('import', async (t) => {
    const file = join(folder, 'keys.csv')
    writeFileSync(file, 'token,plan,name\nold-token-1,free,One\nold-token-2,free,Two\n')
    t.strictSame(await runJson('keys', 'import', file), { imported: 2 })
    t.match(await run('keys', 'import', file), {
      code: 1,
      out: /line 2: this token is in the store already/,
    })
  })
})

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`two gateways and the command line on one store: ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const store = redis ? `redis: "${redis.url}"` : 'file: $DIR/gateway.db'
    const { runJson, run, gateway, folder, upstream } = await commandLine(t, store)
    const gateways = [gateway(), gateway()]
    const calls = (await Promise.all(gateways.map(({ url }) => url))).map(caller)
    const statuses = (token: unknown) =>
      Promise.all(
        calls.map(
          async (call) =>
            (await call('GET', '/v1/pets', undefined, { authorization: `Bearer ${String(token)}` }))
              .status,
        ),
      )
    const become = async (token: unknown, status: number, what: string) => {
      const started = performance.now()
      await until(async () => (await statuses(token)).every((seen) => seen === status), 3_000)
      const took = performance.now() - started
      t.ok(took < bound(1_000), `${what}: on every gateway after ${took.toFixed()} ms`)
    }
    const { id, key: token } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Acme')
    await become(token, 200, 'made')
    await run('keys', 'disable', String(id))
    await become(token, 401, 'disabled')
    await run('keys', 'enable', String(id))
    await become(token, 200, 'enabled')
    const { key: next } = await runJson('keys', 'rotate', String(id), '--overlap', '0')
    await become(token, 401, 'rotated away')
    await become(next, 200, 'rotated')
    await run('keys', 'revoke', String(id))
    await become(next, 401, 'revoked')

    await t.test('a token used everywhere wrong is written nowhere', async (t) => {
      const { key: canary } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Canary')
      const secret = String(canary)
      const [call] = calls
      if (!call) throw new Error('there are two')
      const answers = [
        await call('GET', `/v1/pets?key=${secret}`, undefined, {
          authorization: `Bearer ${secret}`,
        }),
        await call('GET', `/v1/${secret}`, undefined, {
          cookie: `key=${secret}`,
          authorization: `Basic ${secret}`,
        }),
        await call(
          'POST',
          '/v1/pets',
          { name: secret },
          { 'x-api-key': secret, authorization: `Bearer ${secret}x` },
        ),
        await call('GET', `/${secret}%zz`, undefined, {
          authorization: secret,
          'x-request-id': `!${secret}`,
        }),
      ]
      for (const { text, headers } of answers) t.notMatch(text + JSON.stringify(headers), secret)
      const bySecret = [secret.slice(16, 48), secret]
      const output = gateways.map((service) => service.output()).join('')
      t.match(output, /"answered"/, 'there are logs')
      const files = readdirSync(folder).filter((name) => name.startsWith('gateway.db'))
      const kept = files.map((name) => readFileSync(join(folder, name), 'latin1')).join('')
      const inRedis = redis ? JSON.stringify(await everything(redis.client)) : ''
      for (const text of bySecret) {
        t.notOk(output.includes(text), 'no log line')
        t.notOk(kept.includes(text) || inRedis.includes(text), 'no store')
      }
      t.ok((kept + inRedis).includes(hashOf(secret)), 'which keeps its hash alone')
      t.notOk(
        upstream.seen.some(({ headers }) =>
          JSON.stringify(headers.authorization ?? headers.cookie ?? '').includes(secret),
        ),
      )
    })
    if (redis) return
    const warned = gateways.filter((service) =>
      service.output().includes('another gateway counts in'),
    )
    t.equal(warned.length, 1, 'the second one on a file says that it counts by itself')
    for (const service of gateways) {
      service.child.kill('SIGTERM')
      t.strictSame(await service.ended, { code: 0, signal: null })
    }
  })
}

t.test('the commands on bans and quotas', async (t) => {
  for (const kind of ['embedded', 'redis'] as const) {
    await t.test(`act on gateways that run: ${kind}`, async (t) => {
      const redis = kind === 'redis' ? await startRedis(t) : undefined
      const store = redis ? `redis: "${redis.url}"` : 'file: $DIR/gateway.db'
      const { run, runJson, gateway } = await commandLine(t, store)
      const gateways = redis ? [gateway(), gateway()] : [gateway()]
      const calls = (await Promise.all(gateways.map(({ url }) => url))).map(caller)
      const { id, key } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Acme')
      const headers = { authorization: `Bearer ${String(key)}` }
      const name = String(id)
      const onAll = async (status: number, what: string) => {
        const started = performance.now()
        await until(async () => {
          const all = await Promise.all(
            calls.map((call) => call('GET', '/v1/pets', undefined, headers)),
          )
          return all.every((answer) => answer.status === status)
        }, 3_000)
        const took = performance.now() - started
        t.ok(took < bound(1_000), `${what}: on every gateway after ${took.toFixed()} ms`)
      }
      await onAll(200, 'as made')
      t.match(await run('bans', 'list'), { code: 0, out: 'No ban runs.' })
      t.match(await run('bans', 'set', name, '--for', '1h'), { code: 0, out: /is banned until 20/ })
      await onAll(429, 'banned')
      t.match(await run('bans', 'list'), { out: new RegExp(`ID +NAME +UNTIL\\n${name} +Acme`) })
      t.match(await runJson('bans', 'list'), [{ id, name: 'Acme' }])
      t.match(await run('bans', 'lift', name), { code: 0, out: /is lifted/ })
      await onAll(200, 'lifted')
      t.match(await run('bans', 'lift', name), { code: 1, out: /the key "\w+" isn’t banned/ })
      t.match(await run('bans', 'set', name, '--for', 'ever'), {
        code: 2,
        out: /--for must be a duration/,
      })
      t.match(await run('bans', 'set', 'nobody', '--for', '1h'), {
        code: 1,
        out: /there is no key/,
      })

      const [call] = calls
      const left = async () => {
        const { day } = json((await call?.('GET', '/v1/quota', undefined, headers)) ?? '{}')
        return (day as { remaining: number }).remaining
      }
      t.ok((await left()) < 1_000)
      t.match(await run('quota', 'reset', name), {
        code: 0,
        out: new RegExp(`counters of key ${name} are empty`),
      })
      await until(async () => (await left()) === 1_000, 1_000)
      for (const word of ['list', 'lift', 'set'])
        t.match(await run('bans', word, '--help'), { code: 0 })
      t.match(await run('quota', 'reset', '--help'), { code: 0 })
    })
  }
})

t.test('an embedded gateway that is killed has lost a second of counting at most', async (t) => {
  const { runJson, gateway } = await commandLine(t, 'file: $DIR/gateway.db')
  const { key } = await runJson('keys', 'create', '--plan', 'pro', '--name', 'Acme')
  const headers = { authorization: `Bearer ${String(key)}` }
  const left = async (url: string) => {
    const { day } = json(await caller(url)('GET', '/v1/quota', undefined, headers))
    return (day as { remaining: number }).remaining
  }
  let used = 0
  for (const signal of ['SIGKILL', 'SIGKILL', 'SIGTERM'] as const) {
    const service = gateway()
    const url = await service.url
    t.equal(await left(url), 10_000 - used, 'nothing that is a second old is forgotten')
    for (let i = 0; i < 25; i++) await caller(url)('GET', '/v1/pets', undefined, headers)
    used += 25
    if (signal === 'SIGKILL') await new Promise((go) => setTimeout(go, 1_000))
    service.child.kill(signal)
    await service.ended
  }
  const last = gateway()
  t.equal(await left(await last.url), 10_000 - used, 'and nothing at all after a stop')
})

async function everything(
  client: Awaited<ReturnType<typeof startRedis>>['client'],
): Promise<unknown[]> {
  const names = await client.keys('*')
  return Promise.all(
    names.map(async (name) => [
      name,
      await client.dump(name).catch(() => ''),
      (await client.type(name)) === 'hash' ? await client.hgetall(name) : '',
    ]),
  )
}

t.test('nobody else may read the file of keys, nor what is beside it', async (t) => {
  const file = join(t.testdir(), 'gateway.yaml')
  const folder = join(t.testdirName, 'made')
  writeFileSync(file, configFor('http://127.0.0.1:1', `file: ${join(folder, 'gateway.db')}`))
  const env = { TOLLGATE_CONFIG: file }
  const shell = 'umask 000'
  const { url } = startProcess(t, 'gateway/main.ts', { env, shell })
  await url
  const args = ['keys', 'create', '--plan', 'free', '--name', 'Me']
  t.match(await startProcess(t, 'gateway/cli/main.ts', { args, env, shell }).ended, { code: 0 })
  t.strictSame(modesIn(folder), {
    '.': '700',
    'gateway.db': '600',
    'gateway.db-counting': '600',
    'gateway.db-counting-journal': '600',
    'gateway.db-shm': '600',
    'gateway.db-wal': '600',
  })
})

t.test('a secret that can be guessed is warned of, and not told', async (t) => {
  const file = join(t.testdir(), 'gateway.yaml')
  writeFileSync(file, configFor('http://127.0.0.1:1', `file: ${join(t.testdirName, 'gateway.db')}`))
  const env = { TOLLGATE_CONFIG: file, GATEWAY_SECRET: 'hunter2' }
  const { child, url, ended, output } = startProcess(t, 'gateway/main.ts', { env })
  await url
  child.kill('SIGTERM')
  t.match(await ended, { code: 0 })
  t.match(output(), /"level":40.*GATEWAY_SECRET has fewer than 16 characters/)
  t.notMatch(output(), 'hunter2')
})

t.test('a gateway that cannot start says why', async (t) => {
  const start = async (config: string, env = {}) => {
    const file = join(t.testdir(), 'gateway.yaml')
    writeFileSync(file, config)
    const service = startProcess(t, 'gateway/main.ts', { env: { TOLLGATE_CONFIG: file, ...env } })
    return { ...(await service.ended), output: service.output() }
  }
  const sound = configFor('http://127.0.0.1:1', `file: ${join(t.testdirName, 'gateway.db')}`)
  t.match(await start('plans: 5'), { code: 2, output: /plans/ })
  t.match(await start(sound.replace('upstream: animals', 'upstream: plants')), {
    code: 2,
    output: /:\d+:\d+: routes\[0\]\.upstream names an unknown upstream, got "plants"/,
  })
  t.match(await start(sound.replace(/file: \S+/, 'file: /dev/null/x.db')), {
    code: 2,
    output: /can't be used/,
  })
  t.match(await start(sound.replace('"http', '"${NOWHERE}http')), {
    code: 2,
    output: /environment variable NOWHERE is not set/,
  })
  t.match(await start(sound, { LOG_LEVEL: 'loud' }), {
    code: 2,
    output: /LOG_LEVEL must be one of/,
  })
  for (const GATEWAY_SECRET of ['between the two,', ',between the two', 'one,,two']) {
    const { code, output } = await start(sound, { GATEWAY_SECRET })
    t.equal(code, 2, GATEWAY_SECRET)
    t.match(output, /^gateway: GATEWAY_SECRET has an empty part[^\n]*\n$/)
    const workers = sound.replace(
      /store: .*/,
      'store: { redis: "redis://127.0.0.1:1" }\nworkers: 2',
    )
    t.match(await start(workers, { GATEWAY_SECRET }), { code: 2, output }, 'nor do workers')
  }
  const open = sound.replace('admin: { host: 127.0.0.1', 'admin: { host: 0.0.0.0')
  for (const env of [{}, { ADMIN_TOKEN: '' }, { ADMIN_TOKEN: ' ' }]) {
    t.match(await start(open, env), {
      code: 2,
      output: /admin\.host is 0\.0\.0\.0, which others can reach: set ADMIN_TOKEN/,
    })
  }
  for (const ADMIN_TOKEN of [
    'alice:',
    'a-token-of-alice,',
    'alice:a-token:of-alice',
    'too-short',
  ]) {
    const { code, output } = await start(sound, { ADMIN_TOKEN })
    t.equal(code, 2, ADMIN_TOKEN)
    t.match(output, /^gateway: (?:part 2 of )?ADMIN_TOKEN has .*\n$/, 'in one sentence')
    t.notMatch(output, /of-alice|too-short/)
  }
})
