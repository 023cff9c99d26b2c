import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { keyChange } from '../../../gateway/office/operations/keys/settings.ts'
import { windows } from '../../../shared/windows.ts'
import { commandLine } from '../../support/command-line.ts'

t.test('the commands on keys', async (t) => {
  const { file, run, runWith, runJson } = await commandLine(t, 'file: $DIR/gateway.db')

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
      /Created the key \w{12} \(Acme Inc, plan free\)\. Copy its token now and share it securely; it isn’t shown again:\n\n {2}tg_/,
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
    const asked = await runWith({ line: String(key) }, 'keys', 'enable', '-')
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
    t.match(await run('audit', '--key', 'Zoo of Bern', '--limit', '1'), {
      out: /\n\S+ \S+Z +\S+ +\w{12} +enabled “Zoo of Bern”$/m,
    })
  })

  t.test('list tells of a plan that there isn’t', async (t) => {
    const { run } = await commandLine(t, 'file: $DIR/gateway.db')
    t.match(await run('keys', 'list', '--plan', 'gold'), {
      code: 0,
      out: /^No key matches: there is no plan "gold"; there are free, \S.*\.\n?$/,
    })
    t.match(await run('keys', 'list', '--plan', 'free'), { out: /^No key matches\.\n?$/ })
  })

  t.test('create warns of a name that another key has', async (t) => {
    const named = ['keys', 'create', '--plan', 'free', '--name']
    const { id } = await runJson(...named, 'Me')
    const warning = `another key has the name "ME": ${String(id)} (Me, plan free). Give commands the id, or another name to one of them: tollgate keys change ID --name NAME`
    const second = await run(...named, 'ME', '--json')
    t.match(second, { code: 0, out: `\ntollgate: ${warning}\n` })
    const made = JSON.parse(second.stdout) as Record<string, unknown>
    t.strictSame(made['warnings'], [warning])
    t.match(await run(...named, 'me'), {
      out: /\n {2}tg_[^]*\ntollgate: 2 other keys have the name/,
    })
    for (const each of [id, made['id'], 'me']) await run('keys', 'revoke', String(each), '--yes')
    t.strictSame(Object.keys(await runJson(...named, 'Me')), ['id', 'key', 'plan'], 'none is alive')
  })

  t.test('take away whatever can be given, as the admin API does', async (t) => {
    const all = {
      ...{ name: 'Full', plan: 'pro', account: 'full', expires: '2099-01-01', note: 'n' },
      reference: 'cus_1',
      ...{
        method: 'get',
        path: '/v1/*',
        address: '10.0.0.0/8',
        scope: 'pets:read',
        origin: 'https://app.example',
      },
      ...Object.fromEntries(
        windows.flatMap(({ name }, i) => [
          [`per-${name}`, `${i + 5}`],
          [`cap-per-${name}`, `${i + 1}`],
        ]),
      ),
      ...{ 'at-once': '5', 'cap-at-once': '3' },
    }
    const taken = Object.keys(all).filter((name) => name !== 'name' && name !== 'plan')
    const options = (some: Record<string, string>) =>
      Object.entries(some).flatMap(([name, value]) => [`--${name}`, value])
    const { id } = await runJson('keys', 'create', ...options(all))
    const full = await runJson('keys', 'show', String(id))
    t.match(full, { account: 'full', methods: ['GET'], limits: { perSecond: 5, perMonth: 10 } })
    const names = Object.keys(keyChange)
    t.equal(names.length, Object.keys(all).length, 'all that can be changed is given')
    for (const name of names) t.ok(String(name.split('.')[0]) in full, name)
    for (const name of taken.filter((name) => name !== 'reference' && name !== 'origin')) {
      const { code, out } = await run('keys', 'change', String(id), `--${name}`, '')
      t.equal(code, 2)
      t.match(out, `--${name} is empty; --no-${name} removes it from the key`)
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
    const told = await create('Told', '--per-day', '900', '--expires', '2099-03-31')
    t.match(
      told.out,
      /\n\nIts limits are 300 a minute and 900 a day\.\nIt ends at 2099-03-31 00:00:00Z, as that day begins\.\n/,
    )
    const capped = ['--account', 'capped', '--cap-per-day', '50', '--expires', '2099-03-31T12:00Z']
    t.match(
      (await create('Capped', ...capped)).out,
      /at most 50 a day of its account\.\nIt ends at 2099-03-31 12:00:00Z\.\n/,
    )
    t.match(await run('keys', 'change', 'Told', '--expires', '2099-04-01'), {
      out: /^It ends at 2099-04-01 00:00:00Z, as that day begins\.\n/,
    })
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
    await run('keys', 'change', 'Three', '--at-once', '3')
    t.match(await run('quota', 'show', 'Three'), {
      out: /AT ONCE +LIMIT +UNDER WAY\nquota +3 +–\nWith an embedded store only its gateway knows/,
    })
    await run('keys', 'change', 'Three', '--at-once', 'plan')
    t.match(await run('keys', 'change', 'Three', '--plan', 'free'), {
      out: /^Its limits are now 60 a minute and 1,000 a day\.\n/,
    })
    t.match(await run('keys', 'disable', 'Three'), { out: /refuses it within a second, with 401/ })
    t.match(await run('keys', 'rotate', 'Three'), { out: /It is disabled; .* enables it again/ })
    const never = /Its limit per minute \(100\) is never reached: its limit per day is 10\.\n/
    const own = ['--per-minute', '100', '--per-day', '10']
    t.match(await create('Four', ...own), { out: never })
    t.notMatch(await create('Five', '--per-day', '300'), { out: /never reached/ })
    t.match(await run('keys', 'change', 'Five', ...own), { out: never })
    await run('keys', 'change', 'Five', '--name', 'Six')
    const end = '20\\d\\d-\\d\\d-\\d\\d [\\d:]+Z'
    const first = await run('keys', 'rotate', 'Six', '--overlap', '2h')
    t.notMatch(first.out, 'The one before it')
    const sixth = String((await runJson('keys', 'show', 'Six'))['id'])
    const endsIt = `if others have it, tollgate keys rotate ${sixth} --overlap 0 ends it at once.`
    t.match(first.out, endsIt)
    const until = new RegExp(`The old one works until (${end})`).exec(first.out)?.[1] ?? 'none'
    t.match(await run('keys', 'rotate', 'Six'), {
      out: `\nThe one before it no longer works: it would have worked until ${until}, but a key has two`,
    })
    t.notMatch((await run('keys', 'change', 'Six', '--name', 'Seven')).out, 'within a second')
    t.match(await run('keys', 'revoke', 'Seven'), {
      out: /^Every gateway refuses it within a second, with 401\.\n\nid: /,
    })
  })

  t.test('no answer about a key that is refused looks well', async (t) => {
    const { id } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Banned')
    const note = ['--note', 'scrapes us']
    await run('bans', 'set', 'Banned', '--for', '1h', '--by', 'Eve', ...note)
    t.match(await run('bans', 'set', 'Banned', '--for', '1h', '--note', 'a\nb'), {
      ...{ code: 1, out: /the note must be a line/ },
    })
    t.match(
      (await run('audit', '--limit', '1')).out,
      /Eve +\w+ +banned “Banned” until .*: scrapes us\n/,
    )
    t.match((await run('keys', 'list')).out, /Banned +free +banned until 20\S+ [\d:]+Z \(in 1 h\) /)
    t.match(await runJson('keys', 'list', '--name', 'banned'), [{ bannedUntil: /Z$/ }])
    const shown = await run('keys', 'show', 'Banned')
    t.match(shown.out, /state: +banned until 20/)
    t.match(shown.out, /createdAt: +20\S+ \S+Z\n/)
    t.notMatch(shown.out, /\dT\d\d:/, 'one form of time')
    t.match(shown.out, /why: +Eve has banned it \(scrapes us\), since 20/)
    t.match(shown.out, /minute: +0 of 60 used \(plan free\), until 20/)
    const { out } = await run('quota', 'show', 'Banned')
    t.match(
      out,
      /^\w{12} \(Banned, plan free\): banned until 20.*\nWhy: Eve has banned it \(scrapes us\), since/,
    )
    t.match(out, /WINDOW +LIMIT +USED +LEFT +RESET\nminute +60 +0 +0, banned +20/)
    t.match(await runJson('quota', 'show', 'Banned'), {
      ...{
        id,
        name: 'Banned',
        plan: 'free',
        offered: true,
        ban: { by: 'Eve', note: 'scrapes us' },
      },
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

  t.test('revoke asks at a terminal, and needs --yes without one', async (t) => {
    const { id } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Dear')
    const asked: string[] = []
    const confirming = (answer?: boolean) => (question: string) => {
      asked.push(question)
      return Promise.resolve(answer)
    }
    const revoke = (answer?: boolean, ...more: string[]) =>
      runWith({ confirm: confirming(answer) }, 'keys', 'revoke', 'Dear', '--json', ...more)
    t.match(await revoke(false), { code: 1, out: 'tollgate: nothing was changed\n' })
    const question = `Revoke the key ${String(id)} (Dear, plan free) for good?`
    t.strictSame(asked, [question])
    t.match(await revoke(), {
      code: 2,
      out: `tollgate: ${question} Confirm with --yes; nothing was changed\n`,
    })
    t.match(await runJson('keys', 'show', String(id)), { state: 'active' })
    t.match(await revoke(false, '--yes'), { code: 0, out: /"state":"revoked"/ })
    t.match(await revoke(false), { code: 0 }, 'nothing more can be lost')
    t.equal(asked.length, 2)
  })
})
