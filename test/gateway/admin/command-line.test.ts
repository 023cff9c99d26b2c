import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { deprecatedCall } from '../../../gateway/front/counts/deprecated-calls.ts'
import { dayMs } from '../../../shared/windows.ts'
import { newKey } from '../../contracts/keys.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { plans, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { start, token } from '../../support/operator.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const shipped = `${plans}
deprecations:
  - { operation: "GET /v1/pets/{petId}", since: 2025-12-05, replacement: /v1/pets }
`

/** A process, which has a port of its configuration and a log of changes. */
const running = await start(t, { upstream: (await startUpstream(t)).url, more: plans })

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`the admin address and the command line are one: ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const store = redis ? { store: `redis: "${redis.url}"` } : {}
    const { ask, file, gateway } = await startAdmin(t, { ...store, more: shipped })
    const { call, stores } = gateway
    const run = (...words: string[]) => runCommand([...words, '--config', file], {})
    const runJson = async (...words: string[]): Promise<unknown> =>
      JSON.parse((await run(...words, '--json')).stdout)

    const made = await ask('POST', '/admin/keys', { name: 'Acme', plan: 'free', account: 'acme' })
    t.equal(made.status, 201)
    const { id, key } = json(made) as { id: string; key: string }
    t.equal(made.headers['location'], `/admin/keys/${id}`)
    const headers = { authorization: `Bearer ${key}` }
    const status = async () => (await call('GET', '/v1/pets', undefined, headers)).status
    t.equal(await status(), 200)
    const shown = await ask('GET', `/admin/keys/${id}`)
    t.match(json(shown), { id, name: 'Acme', plan: 'free', account: 'acme', state: 'active' })
    // The command line reads what the gateway has written down; another minute may begin meanwhile.
    const isSame = async (path: string, ...command: string[]) => {
      await stores.quota.flush?.()
      return JSON.stringify(await runJson(...command)) === (await ask('GET', path)).text
    }
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
      out: /MINUTE +DAY .+ \d+\/300 +\d+\/10,000 /s,
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
    const imported = await ask('POST', '/admin/keys/import', csv, { 'content-type': 'text/csv' })
    t.strictSame(json(imported), { imported: 2 })
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
    await stores.quota.flush?.()
    t.strictSame(await runJson('usage', 'export', '--by', 'key'), ledger)
    const range = ['--from', today, '--to', '2100-01-01']
    const { out } = await run('usage', 'export', ...range, '--csv')
    const asCsv = await ask('GET', `/admin/ledger?from=${today}`, undefined, {
      accept: 'text/csv',
    })
    t.equal(out, `${asCsv.text}\n`)
    t.match(out, /^"id","day","account","keys",.*\r\n"2.*"\n$/s)
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
      /^WHEN +BY +OF +DID\n\S+ \S+Z +admin +keys +imported 2 keys \(“One”, “Two”\)\n.* admin +\w{12} +revoked “/,
    )
    t.equal((await ask('GET', '/admin/audit?limit=3&key=' + id)).text.split('"what"').length, 4)
  })
}

t.test('commands that only a running gateway can carry out ask it', async (t) => {
  const { ask, write, text, file } = running
  const audit = async () => json(await ask('GET', '/admin/audit'))
  const before = await audit()
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
  const inForce = await command('config', 'running')
  t.match(
    inForce.out,
    /^Running \S+gateway\.yaml \(\w+\) since 2\S+ \S+Z\.\nadmin\.save is on by default here, because .*\.\n\nlisten:/,
  )

  t.match(await command('config', 'reload'), {
    code: 0,
    out: /^The file changes nothing\.\nRunning /,
  })
  write((text) => text.replace('perMinute: 60,', 'perMinute: 6O,'))
  t.match(await command('config', 'reload', '--config', file), {
    code: 1,
    out: /gateway\.yaml:\d+:\d+: plans\.free\.perMinute must be .*: the gateway goes on with/,
  })
  t.match(await ask('POST', '/admin/config/reload'), { status: 409 })
  const good = join(folderOf(t), 'good.yaml')
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
    out: /\nIt refuses the current file:\n\S+gateway\.yaml:\d+:\d+: plans\.free\.perMinute/,
  })
  t.strictSame(await audit(), before, 'nothing was changed')
  t.match(await command('config', 'reload', '--by', 'me'), { code: 2, out: /has no option --by/ })
  const without = await runCommand(['upstream', 'list', '--config', good], {})
  t.match(without, { code: 2, out: /ADMIN_TOKEN is not set here/ })
  const short = await runCommand(['upstream', 'list', '--config', good], { ADMIN_TOKEN: 'short' })
  t.match(short, {
    code: 2,
    out: /^tollgate: ADMIN_TOKEN has a token of 5 characters, .* as it is set here: set it to a token of the gateway at http:\S+\n$/,
  })
  write(() => text)
})

t.test('changes are in the log of a gateway that runs, whoever makes them', async (t) => {
  const { run, gateway } = running
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

t.test(
  'callers of what is deprecated come by their calls, and as many as are asked for',
  async (t) => {
    const { ask, file, gateway } = await startAdmin(t, { more: shipped })
    const day = Math.floor(Date.now() / dayMs)
    const keys = ['One', 'Two', 'Three'].map((name) => newKey({ name }))
    await gateway.stores.keys.add(keys)
    const what = deprecatedCall('GET /v1/pets/{petId}')
    const lines = keys.map(({ id }, i) => {
      return { day, key: id, what, count: [3, 1_200, 3][i] ?? 0, lastMs: i }
    })
    await gateway.stores.tallies.add({ by: 'test', number: 1, lines })
    const most = [{ name: 'Two', calls: 1_200 }, { name: 'Three' }]
    t.match(json(await ask('GET', '/admin/deprecations')), [...most, { name: 'One', calls: 3 }])
    const first = json(await ask('GET', '/admin/deprecations?limit=2'))
    t.match(first, most)
    t.equal(Object.keys(first).length, 2)
    const report = ['deprecations', 'report', '--limit', '1', '--config', file]
    t.match(await runCommand(report, {}), { out: /^ID .*\n\S+ +Two +GET \S+ +1,200 +\S+ \S+\s*$/ })
  },
)
