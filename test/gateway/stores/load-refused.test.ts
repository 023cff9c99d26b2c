import { once } from 'node:events'
import { createWriteStream, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { permissionFault } from '../../../gateway/front/stores/embedded/permission.ts'
import { isSameStore } from '../../../gateway/front/stores/dump/open.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { plainCause, redisName } from '../../../gateway/front/stores/redis/name.ts'
import { loadDump } from '../../../gateway/office/operations/store/transfer.ts'
import { runCommand } from '../../support/command.ts'
import { contextOf, copy, dumpText, filled, open, storeAt } from '../../support/filled-store.ts'
import { configFor } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'
import { folderOf } from '../../support/folder.ts'

t.test('a file that this user may not use is told with what to do', (t) => {
  const folder = folderOf(t, { 'gateway.db': '', 'gateway.db-wal': '' })
  const file = join(folder, 'gateway.db')
  // Of files, the first user of a system may do everything: so the system is played here.
  const faultIn = (path: string, denied: string) =>
    permissionFault(path, {
      exists: existsSync,
      require: (asked) => {
        if (asked === denied) throw new Error('EACCES')
      },
      uid: 1000,
    })
  t.equal(faultIn(file, ''), undefined)
  const own = "this process's user (uid 1000) may not"
  t.match(faultIn(file, file), `${own} read and write ${file}: chown 1000 ${file}; or chmod u+rw`)
  t.match(faultIn(file, `${file}-wal`), `${own} read and write ${file}-wal: chown 1000 `)
  t.match(faultIn(file, folder), `${own} write into the folder ${folder}: chown 1000 ${folder}`)
  t.match(
    faultIn(join(folder, 'new/folder/gateway.db'), folder),
    `write into the folder ${folder}: `,
    'nor make one in it',
  )
  t.end()
})

t.test('what is damaged is left out and counted; what is no store is refused', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'gateway.db')
  const { stores, keys } = await filled(t, storeAt(file))
  await stores.close()
  const database = openGatewayFile(file)
  database.prepare("UPDATE keys SET record = '{' WHERE id = ?").run(keys[0]?.id)
  database.exec("UPDATE quotas SET state = 'x' WHERE quota = 'account:acme'")
  database.exec("INSERT INTO list_audit (atMs, key, body) VALUES (1, 'x', 'x')")
  database.close()
  // A command that no gateway has applied.
  const visitor = await openStores(storeAt(file), { forCommandLine: true })
  const [, , , , , ordered = ''] = keys.map(({ id }) => id)
  await visitor.quota.ban(`key:${ordered}`, ordered, Date.now() + 60_000)
  await visitor.close()
  const { url, client } = await startRedis(t)
  const copied = await copy(storeAt(file), storeAt({ url }))
  t.match(copied, { keys: 5, quotas: 3, audit: 3, damaged: 2 })
  await client.hset('test:{keys}:records', keys[1]?.id ?? '', 'x')
  await client.hset('test:quota:odd', 'c', 'x')
  await client.xadd('test:{list:audit}', '*', 'entry', 'x')
  // Of an import that was broken off.
  await client.hset('test:{keys}:pending', keys[2]?.id ?? '', '1')
  const back = join(folder, 'back.db')
  t.match(await copy(storeAt({ url }), storeAt(back)), { keys: 3, quotas: 3, audit: 4, damaged: 2 })

  const text = join(folder, 'some.txt')
  writeFileSync(text, 'no database')
  const others = join(folder, 'others.db')
  const foreign = openGatewayFile(others)
  foreign.exec('DROP TABLE quotas')
  foreign.close()
  for (const settings of [storeAt(text), storeAt(others)]) {
    await t.rejects(copy(settings, storeAt(join(folder, 'x.db'))), /isn't a gateway's store/)
    await t.rejects(copy(storeAt(file), settings), /isn't a gateway's store/)
  }
  await t.rejects(
    copy(storeAt(join(folder, 'missing.db')), storeAt(join(folder, 'x.db'))),
    /doesn't exist/,
  )
  t.notOk(existsSync(join(folder, 'x.db')))
  t.notOk(existsSync(join(folder, 'x.db.part')))
})

t.test('a file that is written is nobody’s, and is in its place when it is whole', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'gateway.db')
  const { stores } = await filled(t, storeAt(file))
  const goal = join(folder, 'goal.db')
  const serving = await open(t, storeAt(goal))
  await t.rejects(
    copy(storeAt(file), storeAt(goal), true),
    /a gateway counts in .*goal\.db: stop it first/,
  )
  await serving.close()
  t.match(await copy(storeAt(file), storeAt(goal)), { keys: 6 })
  await stores.close()

  const fresh = join(folder, 'fresh.db')
  writeFileSync(`${fresh}.part`, '')
  await t.rejects(
    copy(storeAt(file), storeAt(fresh)),
    /fresh\.db\.part exists: a copy .* interrupted/,
  )
  const other = join(folder, 'other.db')
  writeFileSync(`${other}-wal`, 'of another file')
  await t.rejects(
    copy(storeAt(file), storeAt(other)),
    /other\.db-wal is left of a file that was moved/,
  )
  const last = join(folder, 'last.db')
  t.throws(() => statSync(last))
  await copy(storeAt(file), storeAt(last))
  t.equal(statSync(last).mode & 0o777, 0o600)
  t.strictSame(
    readdirSync(folder).filter((name) => name.startsWith('last')),
    ['last.db'],
    'and nothing is left beside it',
  )
})

t.test('messages name a Redis without what is secret, and say plainly what is wrong', (t) => {
  const names = [
    ['redis://127.0.0.1:6399', 'Redis at 127.0.0.1:6399'],
    [
      'rediss://user:p@ss/w0rd@redis.internal:7000/2?x=p',
      'Redis at redis.internal:7000, database 2',
    ],
    ['redis://:secret@[::1]/0', 'Redis at [::1]:6379'],
    ['redis://redis', 'Redis at redis:6379'],
  ]
  for (const [url = '', name] of names) t.equal(redisName({ url }), name)
  t.match(
    redisName({ cluster: ['a:1', 'b:2'], password: 'secret' }),
    /^the Redis Cluster at a:1, b:2$/,
  )
  t.match(redisName({ sentinels: ['a:1'], name: 'gw' }), /"gw" of the Sentinels at a:1/)
  const coded = (code: string) => Object.assign(new Error('x'), { code })
  t.equal(plainCause(coded('ECONNREFUSED')), 'connection refused')
  t.match(
    plainCause(new Error('WRONGPASS invalid username-password pair')),
    /refuses this username/,
  )
  t.equal(plainCause(new Error('x', { cause: coded('ENOTFOUND') })), 'the host name is unknown')
  t.equal(plainCause(new Error('Command timed out')), 'no answer')
  t.equal(plainCause(undefined), 'no answer')
  t.equal(plainCause(new Error('ERR odd')), 'ERR odd')
  t.ok(isSameStore(storeAt({ url: 'redis://a' }), storeAt({ url: 'redis://a' })))
  t.notOk(isSameStore(storeAt({ url: 'redis://a' }), storeAt({ url: 'redis://a' }, 'other:')))
  t.ok(isSameStore(storeAt('/tmp/../tmp/none.db'), storeAt('/tmp/none.db')))
  t.end()
})

t.test('a copy that can’t be meant is refused with a sentence', async (t) => {
  const folder = folderOf(t)
  const configFile = join(folder, 'gateway.yaml')
  const file = join(folder, 'gateway.db')
  writeFileSync(configFile, configFor('http://127.0.0.1:1', `file: ${file}`))
  const { stores } = await filled(t, storeAt(file))
  await stores.close()
  const run = (...args: string[]) =>
    runCommand(['store', 'copy', ...args], { TOLLGATE_CONFIG: configFile })
  const mistakes: [string[], RegExp][] = [
    [[], /tollgate: name a store with --from, --to or both/],
    [['--to', file], /are the same store/],
    [['--to', `config:${configFile}`], /are the same store/],
    [['--to', 'localhost:6379'], /must be a file, a redis:.*got "localhost:6379"/],
    [['--to', 'http://x'], /must be a file, a redis:/],
    [['--to', ''], /must be a file, a redis:/],
    [['--to', 'redis:x'], /must be a URL such as redis:/],
    [
      ['--to', 'redis://:hush@127.0.0.1:1'],
      /tollgate: Redis at 127\.0\.0\.1:1 can't be reached: connection refused\n$/,
    ],
    [['--from', 'config:nowhere.yaml'], /nowhere\.yaml can't be read/],
  ]
  for (const [args, sentence] of mistakes) {
    const { code, out } = await run(...args)
    t.ok(code > 0, args.join(' '))
    t.match(out, sentence)
  }
  const other = join(folder, 'other.db')
  t.match(await run('--to', other, '--dry-run'), {
    code: 0,
    out: /^Would copy from .*nothing was written:\n +6 +keys/,
  })
  t.notOk(existsSync(other))
  const copied = async (...args: string[]) => json((await run(...args, '--json')).stdout)
  t.match(await copied('--to', other), { keys: 6, dryRun: false })
  t.match(await run('--to', other), {
    code: 1,
    out: /isn't empty: it has quotas, tallies, peaks, ledger, keys \(.* …\)\. Nothing was written\. .*keys import/,
  })
  t.match(await run('--to', other, '--into-non-empty'), { code: 2, out: /into-non-empty/ })
})

/** Writes a dump and loads it into a new file and into Redis; tells why it is refused. */
async function refusal(t: Test, folder: string, lines: readonly string[]): Promise<string> {
  const file = join(folder, 'some.dump')
  writeFileSync(file, `${lines.join('\n')}\n`)
  const goal = storeAt(join(folder, 'goal.db'))
  const error: unknown = await loadDump(contextOf(goal), file).catch((error: unknown) => error)
  t.notOk(existsSync(goal.file))
  t.notOk(existsSync(`${goal.file}.part`))
  return error instanceof Error ? error.message : ''
}

t.test('a dump that isn’t whole and sound is refused with its line', async (t) => {
  const folder = folderOf(t)
  const store = storeAt(join(folder, 'source.db'))
  await (await filled(t, store)).stores.close()
  const lines = (await dumpText(store)).trimEnd().split('\n')
  const [head = '', ...rest] = lines
  const at = (shelf: string) => lines.findIndex((line) => line.startsWith(`{"shelf":"${shelf}"`))
  /** The same with another line. */
  const changed = (i: number, change: (line: string) => string) =>
    lines.map((line, place) => (place === i ? change(line) : line))
  const within = (shelf: string, from: RegExp | string, to: string) =>
    changed(at(shelf), (line) => line.replace(from, to))
  const damaged = (shelf: string) =>
    new RegExp(`^line ${at(shelf) + 1} of the dump: the row is dam`)
  const end = JSON.stringify({ end: true, rows: lines.length - 2 })
  t.equal(lines.at(-1), end)
  const faults: [readonly string[], RegExp][] = [
    [[], /^line 1 .*begins with/],
    [rest, /^line 1 .*begins with/],
    [['{"tollgate":"dump"}'], /^line 1 .*begins with/],
    [
      [head.replace('"format":5', '"format":2'), ...rest],
      /^line 1 .*format 2, .* knows format 5 a/,
    ],
    [lines.slice(0, -1), /^line \d+ .*end is missing/],
    [[head], /^line 2 .*end is missing/],
    [[...lines.slice(0, -2), end], /tells of \d+ rows, and \d+ are there/],
    [[...lines, end], /something is behind the end/],
    [[...lines, lines[1] ?? ''], /something is behind the end/],
    [changed(2, (line) => line.slice(0, -5)), /^line 3 .*isn’t JSON/],
    [changed(2, () => ''), /^line 3 .*isn’t JSON/],
    [changed(2, () => '{"shelf":"leases"}'), /^line 3 .*"leases" is no shelf/],
    [changed(2, () => '{"shelf":"__proto__"}'), /^line 3 .*"__proto__" is no shelf/],
    [changed(2, () => '[1]'), /^line 3 .*without a shelf/],
    [within('counts', /"space":"\w+"/, '"space":"strangers"'), /"strangers" is unknown/],
    [within('lists', /"list":"\w+"/, '"list":"notices"'), /"notices" is unknown/],
    [within('documents', /"folder":"\w+"/, '"folder":"leases"'), /"leases" is unknown/],
    [within('quotas', '"c":"', '"c":"x'), damaged('quotas')],
    [within('quotas', '"c":"', '"zz":"","c":"'), damaged('quotas')],
    [within('quotas', /"fields":.*/, '"fields":[]}'), damaged('quotas')],
    [within('counts', /,\d+\]/, ',-1]'), damaged('counts')],
    [within('counts', /,\d+\]/, ',1.5]'), damaged('counts')],
    [within('counts', /,\d+\]/, ',1,1]'), damaged('counts')],
    [within('counts', /,\d+\]/, ',9007199254740992]'), damaged('counts')],
    [within('counts', /"lines":.*/, '"lines":[]}'), damaged('counts')],
    [within('lists', '"by"', '"bx"'), damaged('lists')],
    [within('documents', /"texts":.*/, '"texts":["*"]}'), damaged('documents')],
    [within('documents', /"name":"\d+"/, '"name":"1e3"'), damaged('documents')],
    [within('keys', '"plan"', '"plain"'), damaged('keys')],
    [[head, ...rest.slice(0, -1).reverse(), end], /is behind rows of/],
    [
      [...lines.slice(0, -1), lines.at(-2) ?? '', end.replace(/\d+/, String(lines.length - 1))],
      new RegExp(`^line ${lines.length} of the dump: its id or a token of it is that of another`),
    ],
  ]
  for (const [some, sentence] of faults) t.match(await refusal(t, folder, some), sentence)
  const invalid = Buffer.from(lines.join('\n'))
  invalid[invalid.indexOf('Ü')] = 0xff
  writeFileSync(join(folder, 'invalid.dump'), invalid)
  const goal = contextOf(storeAt(join(folder, 'goal.db')))
  await t.rejects(loadDump(goal, join(folder, 'invalid.dump')), /it isn’t JSON in UTF-8/)
  await t.rejects(loadDump(goal, join(folder, 'none.dump')), /no such file/)
  t.match(await loadDump(goal, join(folder, 'some.dump')).catch(String), /line \d/)
  writeFileSync(join(folder, 'good.dump'), lines.join('\n'))
  t.match(await loadDump(goal, join(folder, 'good.dump')), { keys: 6 }, 'a last newline may lack')
})

t.test('a line of any length takes no more memory than the longest good one', async (t) => {
  const file = join(folderOf(t), 'long.dump')
  const written = createWriteStream(file)
  written.write('{"tollgate":"dump","format":5,"atMs":1}\n{"shelf":"keys","key":"')
  const piece = 'x'.repeat(2 ** 20)
  for (let i = 0; i < 200; i++) {
    if (!written.write(piece)) await once(written, 'drain')
  }
  await new Promise((resolve) => written.end(resolve))
  const { rss } = process.memoryUsage()
  const goal = contextOf(storeAt(`${file}.db`))
  await t.rejects(loadDump(goal, file), /^line 2 of the dump: it is longer than \d+ bytes/)
  const more = process.memoryUsage().rss - rss
  t.ok(more < 150 * 2 ** 20, `${more}`)
})

t.test('a file that is refused changes nothing in Redis', async (t) => {
  const folder = folderOf(t)
  const { url, client } = await startRedis(t)
  const source = storeAt(join(folder, 'source.db'))
  await (await filled(t, source)).stores.close()
  const lines = (await dumpText(source)).trimEnd().split('\n')
  const bad = join(folder, 'bad.dump')
  writeFileSync(bad, lines.slice(0, -1).join('\n'))
  await t.rejects(loadDump(contextOf(storeAt({ url })), bad), /the end is missing/)
  t.equal(await client.dbsize(), 0, 'it is looked at whole first')
})
