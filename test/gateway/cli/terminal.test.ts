import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../../gateway/office/config/load.ts'
import { newToken } from '../../../gateway/front/keys/token.ts'
import { dayMs } from '../../../shared/windows.ts'
import { aligned } from '../../../gateway/office/operations/table.ts'
import { callsCsv } from '../../../gateway/front/counts/deprecated-calls.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { commandLine } from '../../support/command-line.ts'
import { runCommand } from '../../support/command.ts'
import { configFor, startUpstream } from '../../support/gateway.ts'
import { folderOf } from '../../support/folder.ts'

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
  const file = join(folderOf(t), 'gateway.yaml')
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
  const { file, run, runWith } = await commandLine(t, 'file: $DIR/gateway.db')
  const { id } = JSON.parse(
    (await run('keys', 'create', '--plan', 'free', '--name', 'x', '--json')).stdout,
  ) as { id: string }
  const stores = await openStores(readConfig(file, {}).config.store)
  const { key, version } = (await stores.keys.get(id)) ?? { version: 0 }
  if (!key) throw new Error('it was made')
  const day = Math.floor(Date.now() / dayMs)
  await stores.keys.replace(
    { ...key, name: evil, account: evil, note: evil, methods: [evil], addresses: [evil] },
    version,
  )
  const tally = { day, key: id, count: 1, lastMs: Date.now() }
  await stores.tallies.add({
    by: 'b',
    number: 1,
    lines: [
      { ...tally, what: `refused ${evil}` },
      { ...tally, what: `deprecated ${evil}` },
    ],
  })
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
      const { out } = await runWith({ line: token, confirm }, ...words, ...more)
      // Not with `match`: a report of what is wrong would be as evil.
      t.notOk(obeyed.test(out.replaceAll('\n', '')), [...words.slice(0, 2), ...more].join(' '))
      t.notOk(obeyed.test(asked), `the question of ${words.slice(0, 2).join(' ')}`)
    }
  }
})

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

t.test('the commands on keys', async (t) => {
  const { run } = await commandLine(t, 'file: $DIR/gateway.db')

  t.test('say what is wrong, with an exit code', async (t) => {
    const create = (...args: string[]) => run('keys', 'create', '--name', 'x', ...args)
    const instead =
      /^tollgate: the command "simulate" no longer exists: plans preview .*plans demand .*shadow limits [^\n]*\n$/
    for (const [ran, code, out] of [
      [create('--plan', 'gold'), 1, /there is no plan "gold"; there are free, pro, enterprise/],
      [
        create('--plan', 'enterprise', '--per-day', '5'),
        1,
        /"enterprise" is custom: its keys need both/,
      ],
      [
        create('--plan', 'free', '--address', '10.0.0.0/99'),
        1,
        /"10.0.0.0\/99" is neither an address/,
      ],
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
      [
        create('--plan', 'free', 'extra'),
        2,
        /"keys create" takes no arguments, and "extra" is too much; tollgate keys create --help lists/,
      ],
      [
        run('keys', 'show'),
        2,
        /"keys show" needs KEY \(the id of a key, or a name that no other key has\)\n$/,
      ],
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
        /^tollgate: there is no command "keys issue"; tollgate keys --help lists all\n$/,
      ],
      [run('keys', 'sho', 'Acme'), 2, /no command "keys sho"; did you mean keys show\?/],
      [run('--plan', 'free'), 2, /^tollgate: there is no command "free"[^\n]*\n$/],
      [
        run('nonsense'),
        2,
        /^tollgate: there is no command "nonsense"; tollgate --help lists all\n$/,
      ],
      [
        run('upstream', 'swap', 'stat', 'animals'),
        2,
        /no command "upstream swap stat"; did you mean upstream swap status\? tollgate upstream swap --help/,
      ],
      [run('--json'), 2, /there is no command "--json"/],
      [run('quota', 'grant', 'Me', '100'), 2, /"quota grant" takes KEY, and "100" is too much;/],
      [run('explain'), 2, /"explain" needs WHAT \(the id of a request, or a key\)\n$/],
      [run('--config', 'new.yaml', 'simulate', 'a.log', '--against', 'old.yaml'), 2, instead],
      [run('simulate', '--help'), 2, instead],
      [
        run('upstream', 'compare', 'http://10.0.0.9:8090'),
        2,
        /^tollgate: the command "upstream compare" no longer exists: upstream check .* a swap [^\n]*\n$/,
      ],
      [run('plans', 'preview', 'free'), 2, /^tollgate: give at least one of --per-second, .*\n$/],
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

  t.test('take options before, between and behind their words, until --', async (t) => {
    const made = ['--plan', 'free', 'create']
    t.match(await run('--json', 'keys', ...made, '--name', 'Wide'), {
      code: 0,
      out: /"plan":"free"/,
    })
    const found = /"name":"Wide"/
    t.match(await run('keys', '--json', 'show', 'Wide'), { code: 0, out: found })
    t.match(await run('--json', 'keys', 'show', '--', 'Wide'), { code: 0, out: found })
    t.match(await run('keys', 'show', 'Wide', '--json'), { code: 0, out: found })
    t.match(await run('keys', 'show', '--', '--json'), { code: 1, out: /name "--json"/ })
    t.match(await run('keys', '-h', 'show'), { code: 0, out: /^Show one key/ })
    t.match(await run('usage', '--csv', 'export'), { code: 0, out: /^"id","day"/ })
    t.match(await run('--config', '/nowhere.yaml', 'keys', 'list'), { code: 2, out: /nowhere/ })
  })

  t.test('explain themselves', async (t) => {
    t.match(await run('--help'), { code: 0, out: /keys create .*\n.*keys list/ })
    t.match(await run(), { code: 0, out: /Usage: tollgate COMMAND/ })
    t.match(await run('keys'), { code: 0, out: /Usage: tollgate keys COMMAND/ })
    t.match(await run('upstream', 'swap'), {
      code: 0,
      out: /Usage: tollgate upstream swap COMMAND[^]+\n {2}upstream swap finish/,
    })
    t.notMatch((await run('upstream', 'swap')).out, 'upstream check')
    t.match(await run('help'), { code: 0, out: /Usage: tollgate COMMAND/ })
    for (const words of ['help keys', 'keys help', 'keys nonsense --help']) {
      t.match(await run(...words.split(' ')), { code: 0, out: /Usage: tollgate keys COMMAND/ })
    }
    for (const words of ['help keys show', 'keys help show']) {
      t.match(await run(...words.split(' ')), { code: 0, out: /^Show one key/ })
    }
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
})
