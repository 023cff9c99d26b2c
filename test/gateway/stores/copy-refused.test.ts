import { countedIn, givenBackIn, roll } from '../../../gateway/front/limits/counters.ts'
import { withGrant } from '../../../gateway/front/limits/grants.ts'
import { byWindow, dayMs } from '../../../shared/windows.ts'
import { counted } from '../../support/counters.ts'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { newQuota, type QuotaState } from '../../../gateway/front/limits/quota-state.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { permissionFault } from '../../../gateway/front/stores/embedded/permission.ts'
import { mergedQuota } from '../../../gateway/front/stores/merge.ts'
import { isSameStore } from '../../../gateway/front/stores/open-copy.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { plainCause, redisName } from '../../../gateway/front/stores/redis/name.ts'
import { newKey } from '../../contracts/keys.ts'
import { runCommand } from '../../support/command.ts'
import { copy, filled, open, storeAt } from '../../support/filled-store.ts'
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
  database.exec("INSERT INTO audit (atMs, subject, entry) VALUES (1, 'x', 'x')")
  database.close()
  // A command that no gateway has applied.
  const visitor = await openStores(storeAt(file), { forCommandLine: true })
  const [, , , , , ordered = ''] = keys.map(({ id }) => id)
  await visitor.quota.ban(`key:${ordered}`, ordered, Date.now() + 60_000)
  await visitor.close()
  const { url, client } = await startRedis(t)
  const copied = await copy(storeAt(file), storeAt({ url }))
  t.match(copied, { keys: 5, quotas: 3, bans: 2, audit: 3, damaged: 3 })
  await client.hset('test:{keys}:records', keys[1]?.id ?? '', 'x')
  await client.hset('test:quota:odd', 'c', 'x')
  await client.xadd('test:audit', '*', 'entry', 'x')
  // Of an import that was broken off.
  await client.hset('test:{keys}:pending', keys[2]?.id ?? '', '1')
  const back = join(folder, 'back.db')
  t.match(await copy(storeAt({ url }), storeAt(back)), { keys: 3, quotas: 3, audit: 4, damaged: 3 })

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
  await serving.keys.add([newKey()])
  const whole = { intoNonEmpty: true }
  await t.rejects(
    copy(storeAt(file), storeAt(goal), whole),
    /a gateway counts in .*goal\.db: stop it first/,
  )
  await serving.close()
  t.match(await copy(storeAt(file), storeAt(goal), whole), { keys: 6 })
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

t.test('of two counts the larger is right, and of two generations the later', (t) => {
  const at = Date.UTC(2026, 5, 15, 12)
  const state = (
    counts: Parameters<typeof counted>[1],
    back: Parameters<typeof counted>[1] = {},
    ms = at,
  ) => {
    const quota = newQuota()
    roll(quota, ms, false)
    return counted(quota, counts, { back })
  }
  const conduct = (bannedUntilMs: number, strikes = 0) => {
    return { refusedAtMs: 0, strikes, strikesSinceMs: at, bannedUntilMs, bans: 0 }
  }
  const one = {
    ...state({ minute: 3, day: 9, month: 9 }, { day: 1 }),
    conducts: new Map([
      ['a', conduct(10)],
      ['b', conduct(0, 1)],
    ]),
  }
  const other = {
    ...state({ minute: 4, day: 8, month: 8 }, { day: 2 }),
    conducts: new Map([
      ['a', conduct(5, 1)],
      ['b', conduct(0, 2)],
      ['c', conduct(7)],
    ]),
  }
  for (const both of [mergedQuota(one, other), mergedQuota(other, one)]) {
    t.match(countsOf(both), { minute: [4, 0], day: [9, 2], month: [9, 0] })
    t.equal(both.past, undefined)
    const { conducts } = both
    t.strictSame(
      ['a', 'b', 'c'].map((key) => conducts?.get(key)),
      [conduct(10), conduct(0, 2), conduct(7)],
    )
  }
  const later = state({ minute: 1, day: 1, month: 10 }, {}, at + dayMs)
  const merged = mergedQuota(one, later)
  t.match(countsOf(merged), { minute: [1, 0], day: [1, 0], month: [10, 0] })
  const day = at / dayMs - 0.5
  t.equal(merged.past, `${day},8;`)
  const reset = { ...state({}), generation: 1 }
  const given = withGrant(undefined, { atMs: at, perDay: 7, by: 'a' }, 1)
  for (const granted of [undefined, given]) {
    const before = { ...one, grants: granted }
    const expected = { ...reset, grants: granted, past: `${day},8;` }
    t.strictSame(mergedQuota(before, reset), expected, 'a reset takes no grants away')
    t.strictSame(mergedQuota(reset, before), expected)
  }
  t.end()
})

/** What each window has counted, and what came back to it. */
function countsOf(quota: QuotaState) {
  return byWindow((window) => [countedIn(quota, window), givenBackIn(quota, window)])
}

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
    out: /\nWould copy from .*nothing was written:\n +6 +keys/,
  })
  t.notOk(existsSync(other))
  const copied = async (...args: string[]) => json((await run(...args, '--json')).stdout)
  t.match(await copied('--to', other), { keys: 6, dryRun: false })
  const again = ['store', 'copy', '--to', other, '--into-non-empty']
  const alone = { confirm: () => Promise.resolve(undefined) }
  t.match(await runCommand(again, { TOLLGATE_CONFIG: configFile }, alone), {
    code: 2,
    out: `tollgate: Add to what ${other} has, for good? Confirm with --yes; nothing was changed\n`,
  })
  t.match(await copied('--to', other, '--into-non-empty', '--yes'), { keys: 0, alreadyThere: 6 })
})
