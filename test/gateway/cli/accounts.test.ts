import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../../gateway/office/config/load.ts'
import type { AuditView } from '../../../gateway/office/operations/reports/audit.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { commandLine } from '../../support/command-line.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

t.test('the commands on keys', async (t) => {
  const { run, runWith, runJson, folder } = await commandLine(t, 'file: $DIR/gateway.db')

  t.test('list a page, and how to get the next one', async (t) => {
    const names = ['Page c', 'page A', 'PAGE b']
    for (const name of names) await run('keys', 'create', '--plan', 'free', '--name', name)
    const list = ['keys', 'list', '--search', 'pAgE ']
    const first = await run(...list, '--limit', '2')
    t.match(
      first.stdout,
      /page A[^]*PAGE b[^]*For the next page, repeat the command with --after \S+\n$/,
    )
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
      out: /^2 keys would change:\n\w{12} +M One +state active → disabled\n[^]*1 key stays as it is:/,
    })
    const answered = (answer: boolean | undefined, words: string[]) => {
      const asked: string[] = []
      const confirm = (question: string) => {
        asked.push(question)
        return Promise.resolve(answer)
      }
      return runWith({ confirm }, ...words).then((ran) => ({ ...ran, asked }))
    }
    const question = 'Disable 2 keys of the account ACME?'
    t.match(await answered(undefined, [...many, ...account]), {
      ...{ code: 2, asked: [question] },
      out: `tollgate: ${question} Confirm with --yes; nothing was changed\n`,
    })
    t.match(await answered(false, [...many, ...account]), { code: 1, asked: [question] })
    t.match(await states(), [{ state: 'active' }, { state: 'revoked' }, { state: 'active' }])
    t.equal(await lines(), before, 'and nothing is in the audit')
    t.match(await answered(true, [...many, ...account]), { code: 0, asked: [question] })
    t.match(await states(), [{ state: 'disabled' }, { state: 'revoked' }, { state: 'disabled' }])
    t.equal(await lines(), before + 1, 'one act')
    t.match(
      (await run('audit', '--limit', '1')).out,
      / ACME +disabled 2 keys of the account ACME \(“M/,
    )
    for (const name of ['M One', 'M Two']) {
      const own = await run('audit', '--key', name, '--limit', '1')
      t.match(own.out, new RegExp(` disabled “${name}”\\n`))
    }
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

  t.test('import', async (t) => {
    const file = join(folder, 'keys.csv')
    writeFileSync(file, 'token,plan,name\nold-token-1,free,One\nold-token-2,free,Two\n')
    t.strictSame(await runJson('keys', 'import', file), { imported: 2 })
    const taken = 'this token is in the store already'
    t.match(await run('keys', 'import', file), {
      code: 2,
      out: `tollgate: lines 2, 3: ${taken}\nnothing was added\n`,
    })
    writeFileSync(file, 'token,plan,name\nold-token-1,free,One\nold-token-3,free,Three\nx,free,X\n')
    const mistakes = [
      { line: 2, message: taken },
      { line: 4, message: 'a token must be 8 to 512 of the characters A-Za-z0-9-._~+/' },
    ]
    for (const more of [[], ['--dry-run']]) {
      const { code, stdout } = await run('keys', 'import', file, '--json', ...more)
      t.equal(code, 2)
      t.strictSame(JSON.parse(stdout), { mistakes, keys: 1 })
    }
    writeFileSync(file, 'token,plan,name\nold-token-3,free,Three\n')
    t.strictSame(await runJson('keys', 'import', file, '--dry-run'), { mistakes: [], keys: 1 })
    t.match(await run('keys', 'import', file, '--dry-run'), { out: /: 1 key would be imported/ })
    t.strictSame(await runJson('keys', 'import', file), { imported: 1 }, 'a dry run added nothing')
  })
})

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
    await until(async () => (await redis.client.xlen('tollgate:{list:audit}')) > 20)
    await redis.client.config('SET', 'min-replicas-to-write', '1')
    const { code, stdout } = await disabling
    t.equal(code, 1)
    const [, done = '', left = ''] =
      /^(\d+) keys are changed:[^]*\n(\d+) keys are left:\n/.exec(stdout) ?? []
    t.equal(Number(done) + Number(left), 300)
    t.match(
      stdout,
      /(?:NOREPLICAS|to the audit)[^]*\n\nRepeat the command to continue with those that are left\.\n$/,
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

    const stores = await openStores(readConfig(join(folder, 'gateway.yaml'), {}).config.store)
    t.teardown(() => stores.close())
    const last = (keys as { id: string }[]).at(-1)?.id ?? ''
    const lines = await redis.client.xlen('tollgate:{list:audit}')
    const enabling = runJson('keys', 'enable', '--account', 'ACME', '--yes')
    await until(async () => (await redis.client.xlen('tollgate:{list:audit}')) > lines + 5)
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

t.test('an act is one line of the audit, and a line of each of its keys', async (t) => {
  const { run, runJson, folder } = await commandLine(t, 'file: $DIR/gateway.db')
  const names = Array.from({ length: 500 }, (_, i) => `Key ${i}`)
  const file = (columns: string, rowOf: (name: string) => string): string => {
    const at = join(folder, 'keys.csv')
    writeFileSync(at, [columns, ...names.map(rowOf)].join('\n'))
    return at
  }
  const all = (what: string) => `${what} 500 keys (“Key 0”, “Key 1”, “Key 2” and 497 more)`
  const latest = async () => ((await runJson('audit')) as unknown as AuditView[])[0]
  const ownLines = async (name: string) =>
    ((await runJson('audit', '--key', name)) as unknown as AuditView[]).map(
      ({ sentence }) => sentence,
    )

  const imported = file(
    'token,plan,name',
    (name) => `${name.replace(' ', '-of-old-')},free,${name}`,
  )
  t.strictSame(await runJson('keys', 'import', imported), { imported: 500 })
  t.match(await latest(), { subject: 'keys', sentence: all('tester imported') })
  t.strictSame(await ownLines('Key 7'), ['tester imported “Key 7”, one of 500 keys'])
  t.match(await runJson('keys', 'timeline', 'Key 7'), {
    lines: [{ what: 'keys.import', sentence: 'tester imported “Key 7”, one of 500 keys' }],
  })
  t.match(await run('keys', 'import', imported), {
    code: 2,
    out: /^tollgate: lines 2, 3, 4 and 497 more: this token is in the store already\nnothing was added\n$/,
  })
  const skip = ['keys', 'import', imported, '--skip-existing']
  t.strictSame(await runJson(...skip), { imported: 0, skipped: 500 })
  writeFileSync(imported, '\na-token-that-is-new,free,New\n', { flag: 'a' })
  t.match(await run(...skip, '--dry-run'), {
    out: 'The file has no mistakes: 1 key would be imported. 500 left out: in the store already.\n',
  })
  t.match(await run(...skip), { out: '1 key imported. 500 left out: in the store already.\n' })
  t.match(await latest(), { sentence: 'tester imported 1 key (“New”)' })
  t.match(await runJson('keys', 'show', 'New'), { id: /^\w{12}$/, name: 'New' })
  writeFileSync(imported, 'x,free,X\n', { flag: 'a' })
  t.match(await run(...skip), {
    code: 2,
    out: /^tollgate: line 503: a token must be [^\n]*\nnothing/,
  })

  const ofZoo = file('token,plan,name,account', (name) => {
    return `${name.replace(' ', '-of-zoo-')},free,${name},zoo`
  })
  t.strictSame(await runJson('keys', 'import', ofZoo), { imported: 500 })
  await run('keys', 'change', '--account', 'zoo', '--plan', 'pro', '--yes')
  const line = await latest()
  t.match(line, { subject: 'zoo', act: { account: 'zoo', keys: 500 } })
  t.match(
    line?.sentence,
    /^tester changed 500 keys of the account zoo \(.* and 497 more\): plan → pro$/,
  )
  const sentences = ((await runJson('audit')) as unknown as AuditView[]).map(({ what }) => what)
  t.strictSame(sentences, ['keys.change', 'keys.import', 'keys.import', 'keys.import'])
})
