import Database from 'better-sqlite3'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { RedisSettings, StoreSettings } from '../../gateway/config/config.ts'
import { daysOf, type QuotaDay } from '../../gateway/foresight/peak-store.ts'
import { dayMs, newQuota, type Ask } from '../../gateway/limits/step.ts'
import { deprecatedCall } from '../../gateway/records/deprecated-calls.ts'
import { copyStore, type CopyOptions, type CopySource } from '../../gateway/stores/copy.ts'
import { embeddedAudit } from '../../gateway/stores/embedded/audit.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedKeys } from '../../gateway/stores/embedded/keys.ts'
import { permissionFault } from '../../gateway/stores/embedded/permission.ts'
import { EmbeddedQuotas } from '../../gateway/stores/embedded/quota.ts'
import { embeddedTallies } from '../../gateway/stores/embedded/tallies.ts'
import { mergedQuota } from '../../gateway/stores/merge.ts'
import { openStores } from '../../gateway/stores/open.ts'
import type { Stores } from '../../gateway/stores/stores.ts'
import { isSameStore, openGoal, openSource } from '../../gateway/stores/open-copy.ts'
import { redisName, plainCause } from '../../gateway/stores/redis/name.ts'
import { StoreUnavailable } from '../../gateway/stores/unavailable.ts'
import { newKey } from '../contracts/keys.ts'
import { runCommand } from '../support/command.ts'
import { configFor, startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { adminOf, startProcess } from '../support/process.ts'
import { startRedis, startCluster, type RedisServer } from '../support/redis.ts'
import { until } from '../support/until.ts'

const at = (place: string | RedisSettings, prefix = 'test:'): StoreSettings => {
  const [file, redis] = typeof place === 'string' ? [place, undefined] : ['', place]
  return { file, redis, prefix, timeoutMs: 5_000, whenUnreachable: 'local' }
}

const strict = { strikes: 50, withinMs: 60_000, graceMs: 0, forMs: 300_000, factor: 2 }
const bans = { ...strict, atMostMs: 3_600_000, memoryMs: dayMs }
const limits = { perMinute: 5, perDay: 100 }

async function open(t: Test, settings: StoreSettings): Promise<Stores> {
  const stores = openStores(settings)
  t.teardown(() => stores.close().catch(() => undefined))
  await stores.ready()
  // A gateway begins without a store that is slow to come, as a Cluster may be on a busy machine.
  await until(() => stores.quota.bans().then(Boolean, () => false))
  return stores
}

async function copy(
  from: StoreSettings,
  to: StoreSettings,
  more: Partial<CopyOptions> = {},
): Promise<Awaited<ReturnType<typeof copyStore>>> {
  const source = await openSource(from, Date.now)
  try {
    const goal = await openGoal(to, Date.now, more.isDryRun ?? false)
    try {
      return await copyStore(source, goal, { nowMs: Date.now(), by: 'me', ...more })
    } finally {
      await goal.close()
    }
  } finally {
    await source.close()
  }
}

/** All that is in a store, in an order of its own. */
async function dump(settings: StoreSettings) {
  const source = await openSource(settings, Date.now)
  const gathered = async <Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> => {
    const all: Item[] = []
    for await (const batch of batches) all.push(...batch)
    return all
  }
  const sorted = <Item>(items: Item[], text: (item: Item) => string) =>
    items.sort((a, b) => (text(a) < text(b) ? -1 : 1))
  try {
    return {
      keys: await gathered(source.keys()),
      quotas: sorted(await quotasOf(source), ({ quota }) => quota),
      tallies: sorted(await gathered(source.tallies()), (tally) => JSON.stringify(tally)),
      peaks: sorted((await gathered(source.peaks())).flatMap(daysOf), ({ quota, day }) => {
        return `${quota} ${day}`
      }),
      ledger: await inHex(source.ledger()),
      audit: (await gathered(source.audit())).filter(({ what }) => what !== 'store.copy'),
    }
  } finally {
    await source.close()
  }
}

async function inHex(days: ReturnType<CopySource['ledger']>) {
  const found = []
  for await (const { day, chunks } of days) {
    found.push([day, ...chunks.map((chunk) => chunk.toString('hex'))])
  }
  return found
}

/** Of lists of strikes and keys as plain values; until when they are kept may differ. */
async function quotasOf(source: CopySource) {
  const found = []
  for await (const batch of source.quotas()) {
    for (const { quota, state, keepUntilMs } of batch) {
      const { minute, minuteUsed, day, dayUsed, dayGivenBack, generation, conducts } = state
      const { grants } = state
      const counters = { minute, minuteUsed, day, dayUsed, dayGivenBack, generation }
      found.push({
        quota,
        counters,
        conducts: [...(conducts ?? [])],
        grants: grants?.each,
        past: state.past,
        isKept: keepUntilMs > Date.now(),
      })
    }
  }
  return found
}

function peak(quota: string, more: Partial<QuotaDay>): QuotaDay {
  return { quota, day: 0, minute: 0, used: 0, refusedByMinute: 0, refusedByDay: 0, ...more }
}

/** A store with something of everything, which a gateway has open and has not put in order. */
async function filled(t: Test, settings: StoreSettings) {
  const stores = await open(t, settings)
  const now = Date.now()
  const restricted = { methods: ['GET'], paths: ['/v1/pets/*'], addresses: ['10.0.0.0/8'] }
  const keys = [
    newKey({ name: 'plain' }),
    newKey({
      name: 'Ünï "quoted"',
      account: 'acme',
      limits: { perMinute: 5, perDay: 'unlimited' },
    }),
    newKey({ name: 'expiring', expiresAtMs: now + dayMs, note: 'soon', ...restricted }),
    newKey({ name: 'disabled', disabled: true }),
    newKey({ name: 'revoked', revokedAtMs: now - 5 }),
    newKey({ secrets: [{ hash: `new${now}` }, { hash: `old${now}`, untilMs: now + 3_600_000 }] }),
  ]
  await stores.keys.add(keys)
  const [plain, ofAccount, expiring, disabled] = keys.map(({ id }) => id)
  if (!plain || !ofAccount || !expiring || !disabled) throw new Error('they were made')
  const changed = await stores.keys.get(plain)
  await stores.keys.replace(
    { ...keys[0], ...changed?.key, name: 'changed' } as never,
    changed?.version ?? 0,
  )
  const ask = (key: string, more: Partial<Ask> = {}): Ask => ({
    key,
    cost: 1,
    limits,
    bans,
    ...more,
  })
  const decide = (quota: string, one: Ask) => stores.quota.decide(quota, one)
  await decide(`key:${plain}`, ask(plain, { cost: 3 }))
  const { day } = (await decide(`key:${plain}`, ask(plain, { cost: 2 }))).seen
  await stores.quota.giveBack(`key:${plain}`, 1, day)
  // Some strikes, and no ban.
  for (let i = 0; i < 8; i++) await decide('account:acme', ask(ofAccount))
  await new Promise((resolve) => setTimeout(resolve, 5))
  for (let i = 0; i < 2; i++) await decide('account:acme', ask(ofAccount))
  // Its points are past, for the ledger.
  await decide(`key:${expiring}`, ask(expiring, { cost: 2 }))
  await stores.quota.reset(`key:${expiring}`)
  await stores.quota.ban(`key:${expiring}`, expiring, now + 3_600_000)
  await stores.quota.grant(`key:${plain}`, {
    perMinute: 0,
    perDay: 500,
    by: 'ops',
    note: 'a "job"',
  })
  const today = Math.floor(now / dayMs)
  const tally = { day: today, key: plain, what: 'admitted 2xx', count: 7, lastMs: 0 }
  await stores.tallies.add('1', [
    tally,
    { ...tally, day: today - 89, count: 1 },
    { ...tally, what: deprecatedCall('GET /v1/pets/{petId}'), lastMs: now },
  ])
  await stores.peaks.add({
    ...{ by: 'one', number: 1 },
    peaks: [
      peak(`key:${plain}`, { day: today - 89, minute: 3, used: 30 }),
      peak(`key:${plain}`, { day: today, minute: 5, used: 50, refusedByMinute: 2 }),
      peak('account:acme', { day: today - 4, minute: 9, used: 90, refusedByDay: 1 }),
    ],
  })
  await stores.ledger.begin(today - 9)
  await stores.ledger.close({ day: today - 2, chunks: [] })
  const chunks = [Buffer.from([0, 10, 255]), Buffer.from('x')]
  await stores.ledger.close({ day: today - 1, chunks })
  for (let i = 0; i < 3; i++) {
    const entry = { atMs: now - 3_000 + i, by: 'ops', subject: plain, before: null, after: { i } }
    await stores.audit.add({ what: 'keys.change', ...entry })
  }
  return { stores, keys, plain, ofAccount, expiring, disabled }
}

t.test(
  'a store that is copied from one technology to the other and back is the same',
  async (t) => {
    const folder = t.testdir()
    const single = { url: (await startRedis(t)).url }
    const first = at(join(folder, 'first.db'))
    const { stores, plain, ofAccount, expiring, disabled, keys } = await filled(t, first)
    const visitor = openStores(first, { forCommandLine: true })
    const untilMs = Date.now() + 1_800_000
    await visitor.quota.ban(`key:${disabled}`, disabled, untilMs)
    await visitor.close()
    // Until the gateway applies the command, each reader applies it for itself.
    const isFollowed = async () => isDeepStrictEqual(await dump(first), await dump(first))
    await until(async () => (await dump(first)).quotas.length === 4 && (await isFollowed()))
    const before = await dump(first)
    const [[, conduct] = []] = before.quotas[0]?.conducts ?? []
    const strikes = conduct?.strikesMs.length
    t.ok(strikes)
    t.equal(before.keys.length, 6)
    t.equal(before.quotas.length, 4, 'the journal is read, though nothing is in its place')
    t.equal(before.tallies.length, 3)
    t.equal(before.peaks.length, 3)
    t.equal(before.audit.length, 3)
    t.match(before.ledger, [[Number], [Number, '000aff', '78']])
    t.equal(readdirSync(folder).includes('first.db-wal'), true, 'while a gateway serves from it')

    const cluster = { cluster: (await startCluster(t)).nodes }
    const way = [at(single), at(single, 'other:'), at(cluster), at(join(folder, 'last.db'))]
    let from = first
    for (const [place, to] of way.entries()) {
      const dry = await copy(from, to, { isDryRun: true })
      const copied = await copy(from, to)
      t.match(copied, {
        keys: 6,
        alreadyThere: 0,
        quotas: 4,
        bans: 2,
        usage: 2,
        deprecatedCalls: 1,
        peaks: 2,
        ledgerDays: 2,
      })
      t.strictSame(dry, copied, 'counting says the same')
      t.strictSame(await dump(to), before, `copy ${place}`)
      from = to
    }
    await stores.close()

    for (const settings of way) {
      const { quota, keys: store, tallies } = await open(t, settings)
      t.match(
        [...(await quota.bans())].sort((a, b) => a.untilMs - b.untilMs),
        [{ key: disabled, untilMs }, { key: expiring }],
        'bans are listed',
      )
      const look = { key: plain, cost: 0, limits, bans }
      t.match(await quota.decide(`key:${plain}`, look), { dayUsed: 4, granted: { perDay: 500 } })
      // One more is added, whatever numbers the commands of another file had.
      t.equal(await quota.grant(`key:${plain}`, { perMinute: 0, perDay: 1, by: 'me' }), true)
      t.match(await quota.decide(`key:${plain}`, look), { granted: { perDay: 501 } })
      t.match(await quota.grants(`key:${plain}`), [{ by: 'ops', note: 'a "job"' }, { by: 'me' }])
      t.match(await quota.decide(`key:${expiring}`, { ...look, key: expiring }), {
        verdict: 'banned',
      })
      t.match(await quota.decide('account:acme', { ...look, key: ofAccount }), { strikes })
      t.match(await store.find(keys[5]?.secrets[1]?.hash ?? ''), { key: { id: keys[5]?.id } })
      await store.add([newKey()])
      await tallies.add('1', [])
    }
  },
)

t.test('a copy adds to what is there only if it is told to, and takes nothing away', async (t) => {
  const folder = t.testdir()
  for (const goal of [at(join(folder, 'goal.db')), at({ url: (await startRedis(t)).url })]) {
    const source = at(join(folder, `source-${goal.file === '' ? 'redis' : 'file'}.db`))
    const { stores, plain, expiring, keys } = await filled(t, source)
    await stores.close()
    await copy(source, goal)
    await t.rejects(copy(source, goal), /isn't empty: it has .*6 keys.*--into-non-empty/)
    const used = await open(t, goal)
    await used.quota.decide(`key:${plain}`, {
      key: plain,
      cost: 10,
      limits: { ...limits, perMinute: 50 },
    })
    await used.quota.grant(`key:${plain}`, { perMinute: 0, perDay: 1, by: 'goal' })
    await used.quota.reset(`key:${expiring}`)
    const today = Math.floor(Date.now() / dayMs)
    const [acme, ofPlain] = ['account:acme', `key:${plain}`]
    await used.peaks.add({
      ...{ by: 'two', number: 1 },
      peaks: [
        peak(acme, { day: today - 4, minute: 8, used: 95, refusedByDay: 1 }),
        peak(acme, { day: today - 2, minute: 1, used: 1 }),
      ],
    })
    await used.close()
    const before = await dump(goal)
    const again = await copy(source, goal, { intoNonEmpty: true })
    t.match(again, { keys: 0, alreadyThere: 6 })
    t.strictSame(await dump(goal), before, 'the larger counts stay, and nothing is there twice')

    const more = await open(t, source)
    const [added] = [newKey()]
    await more.keys.add([added])
    await more.quota.decide(`key:${added.id}`, { key: added.id, cost: 1, limits })
    await more.peaks.add({
      ...{ by: 'one', number: 2 },
      peaks: [
        peak(acme, { day: today - 4, minute: 11, used: 91, refusedByMinute: 7 }),
        peak(acme, { day: today - 1, minute: 2, used: 2 }),
        peak('key:more', { day: today - 7, minute: 4, used: 4 }),
      ],
    })
    await more.quota.grant(`key:${expiring}`, { perMinute: 0, perDay: 7, by: 'ops' })
    await more.close()
    t.match(await copy(source, goal, { intoNonEmpty: true }), { keys: 1, alreadyThere: 6 })
    const { peaks: raised } = await dump(goal)
    t.strictSame(
      raised.filter(({ quota }) => quota !== ofPlain),
      [
        peak(acme, {
          ...{ day: today - 4, minute: 11, used: 95 },
          ...{ refusedByMinute: 7, refusedByDay: 2 },
        }),
        peak(acme, { day: today - 2, minute: 1, used: 1 }),
        peak(acme, { day: today - 1, minute: 2, used: 2 }),
        peak('key:more', { day: today - 7, minute: 4, used: 4 }),
      ],
      'of each day the larger numbers',
    )
    const granted = await open(t, goal)
    const look = (key: string) =>
      granted.quota.decide(`key:${key}`, { key, cost: 0, limits: { perMinute: 50, perDay: 100 } })
    t.match(await look(expiring), { granted: { perDay: 7 } }, 'also to one that was reset there')
    t.match(await look(plain), { granted: { perDay: 501 } }, 'and the more of one quota stay')
    t.match(await granted.quota.grants(`key:${plain}`), [{ by: 'ops' }, { by: 'goal' }])
    await granted.close()

    const other = await open(t, source)
    const [twin, alike] = [newKey(), newKey({ secrets: keys[0]?.secrets ?? [] })]
    await other.keys.add([twin])
    const old = await other.keys.get(keys[1]?.id ?? '')
    if (!old) return t.fail('it is there')
    await other.keys.replace({ ...old.key, name: 'changed here' }, old.version)
    await other.close()
    const full = await dump(goal)
    await t.rejects(
      copy(source, goal, { intoNonEmpty: true }),
      new RegExp(`nothing was written:\n${old.key.id}: the goal has another version of it`),
    )
    const third = at(join(folder, `third-${goal.file === '' ? 'redis' : 'file'}.db`))
    const made = await open(t, third)
    await made.keys.add([alike])
    await made.close()
    await t.rejects(
      copy(third, goal, { intoNonEmpty: true }),
      new RegExp(`\n${alike.id}: its token belongs to the key ${plain}`),
    )
    t.strictSame(await dump(goal), full, 'and nothing was written')
  }
})

t.test('a file stays as it is when nothing may be copied to it', async (t) => {
  const folder = t.testdir()
  const [source, goal] = [at(join(folder, 'source.db')), at(join(folder, 'goal.db'))]
  const { stores, keys } = await filled(t, source)
  await stores.close()
  await copy(source, goal)
  // A journal that a killed gateway left, and a command that no gateway has applied.
  const visitor = openStores(goal, { forCommandLine: true })
  await visitor.quota.ban('key:x', 'x', Date.now() + 60_000)
  const changed = await visitor.keys.get(keys[1]?.id ?? '')
  if (!changed) return t.fail('it is there')
  await visitor.keys.replace({ ...changed.key, name: 'changed there' }, changed.version)
  await visitor.close()
  const digestOf = (name: string) => createHash('sha256').update(readFileSync(name)).digest('hex')
  const look = () =>
    readdirSync(folder)
      .filter((name) => name.startsWith('goal'))
      .map((name) => [name, digestOf(join(folder, name))])
  const before = look()
  t.strictSame(before.length, 1)
  await t.rejects(copy(source, goal), /isn't empty: it has 6 keys, 4 quotas, .*Nothing was written/)
  t.strictSame(look(), before)
  await t.rejects(copy(source, goal, { intoNonEmpty: true }), /has keys that clash with these/)
  t.strictSame(look(), before, 'nor if it has one of the keys otherwise')
})

t.test('a file that this user may not use is told with what to do', (t) => {
  const folder = t.testdir({ 'gateway.db': '', 'gateway.db-wal': '' })
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
  const folder = t.testdir()
  const file = join(folder, 'gateway.db')
  const { stores, keys } = await filled(t, at(file))
  await stores.close()
  const database = openGatewayFile(file)
  database.prepare("UPDATE keys SET record = '{' WHERE id = ?").run(keys[0]?.id)
  database.exec("UPDATE quotas SET state = 'x' WHERE quota = 'account:acme'")
  database.exec("INSERT INTO audit (atMs, subject, entry) VALUES (1, 'x', 'x')")
  database.close()
  // A command that no gateway has applied.
  const visitor = openStores(at(file), { forCommandLine: true })
  const [, , , , , ordered = ''] = keys.map(({ id }) => id)
  await visitor.quota.ban(`key:${ordered}`, ordered, Date.now() + 60_000)
  await visitor.close()
  const { url, client } = await startRedis(t)
  const copied = await copy(at(file), at({ url }))
  t.match(copied, { keys: 5, quotas: 3, bans: 2, audit: 3, damaged: 3 })
  await client.hset('test:{keys}:records', keys[1]?.id ?? '', 'x')
  await client.hset('test:quota:odd', 'c', 'x')
  await client.xadd('test:audit', '*', 'entry', 'x')
  // Of an import that was broken off.
  await client.hset('test:{keys}:pending', keys[2]?.id ?? '', '1')
  const back = join(folder, 'back.db')
  t.match(await copy(at({ url }), at(back)), { keys: 3, quotas: 3, audit: 4, damaged: 3 })

  const text = join(folder, 'some.txt')
  writeFileSync(text, 'no database')
  const others = join(folder, 'others.db')
  const foreign = openGatewayFile(others)
  foreign.exec('DROP TABLE quotas')
  foreign.close()
  for (const settings of [at(text), at(others)]) {
    await t.rejects(copy(settings, at(join(folder, 'x.db'))), /isn't a gateway's store/)
    await t.rejects(copy(at(file), settings), /isn't a gateway's store/)
  }
  await t.rejects(copy(at(join(folder, 'missing.db')), at(join(folder, 'x.db'))), /doesn't exist/)
  t.notOk(existsSync(join(folder, 'x.db')))
  t.notOk(existsSync(join(folder, 'x.db.part')))
})

t.test('a file that is written is nobody’s, and is in its place when it is whole', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'gateway.db')
  const { stores } = await filled(t, at(file))
  const goal = join(folder, 'goal.db')
  const serving = await open(t, at(goal))
  await serving.keys.add([newKey()])
  const whole = { intoNonEmpty: true }
  await t.rejects(copy(at(file), at(goal), whole), /a gateway counts in .*goal\.db: stop it first/)
  await serving.close()
  t.match(await copy(at(file), at(goal), whole), { keys: 6 })
  await stores.close()

  const fresh = join(folder, 'fresh.db')
  writeFileSync(`${fresh}.part`, '')
  await t.rejects(copy(at(file), at(fresh)), /fresh\.db\.part exists: a copy .* interrupted/)
  const other = join(folder, 'other.db')
  writeFileSync(`${other}-wal`, 'of another file')
  await t.rejects(copy(at(file), at(other)), /other\.db-wal is left of a file that was moved/)
  const last = join(folder, 'last.db')
  t.throws(() => statSync(last))
  await copy(at(file), at(last))
  t.equal(statSync(last).mode & 0o777, 0o600)
  t.strictSame(
    readdirSync(folder).filter((name) => name.startsWith('last')),
    ['last.db'],
    'and nothing is left beside it',
  )
})

t.test('a grant in a copied file is one more, though both are its first command', async (t) => {
  const folder = t.testdir()
  const files = ['one.db', 'two.db'].map((name) => at(join(folder, name)))
  const [one, two] = files
  if (!one || !two) throw new Error('they are named')
  for (const [i, settings] of files.entries()) {
    if (i > 0) await copy(one, two)
    const { quota, close } = await open(t, settings)
    t.equal(await quota.grant('key:a', { perMinute: 0, perDay: 5, by: `${i}` }), true)
    const granted = { perMinute: 0, perDay: 5 * (i + 1) }
    t.match(await quota.decide('key:a', { key: 'a', cost: 0, limits }), { granted })
    await close()
  }
})

t.test('of two counts the larger is right, and of two generations the later', (t) => {
  const state = (more: object) => ({ ...newQuota(), minute: 5, day: 1, ...more })
  const conduct = (bannedUntilMs: number, ...strikesMs: number[]) => {
    return { refusedAtMs: 0, strikesMs, bannedUntilMs, bans: 0 }
  }
  const one = state({
    ...{ minuteUsed: 3, dayUsed: 9, dayGivenBack: 1 },
    conducts: new Map([
      ['a', conduct(10)],
      ['b', conduct(0, 1)],
    ]),
  })
  const other = state({
    ...{ minuteUsed: 4, dayUsed: 8, dayGivenBack: 2 },
    conducts: new Map([
      ['a', conduct(5, 1)],
      ['b', conduct(0, 1, 2)],
      ['c', conduct(7)],
    ]),
  })
  for (const both of [mergedQuota(one, other), mergedQuota(other, one)]) {
    t.match(both, { minuteUsed: 4, dayUsed: 9, dayGivenBack: 2, past: undefined })
    const { conducts } = both
    t.strictSame(
      ['a', 'b', 'c'].map((key) => conducts?.get(key)),
      [conduct(10), conduct(0, 1, 2), conduct(7)],
    )
  }
  const later = state({ minute: 6, minuteUsed: 1, day: 2, dayUsed: 1 })
  t.match(mergedQuota(one, later), {
    minute: 6,
    minuteUsed: 1,
    day: 2,
    dayUsed: 1,
    dayGivenBack: 0,
    past: '1,8;',
  })
  const reset = state({ generation: 1 })
  const given = { day: 1, minute: 5, perMinute: 0, perDay: 7 }
  for (const granted of [undefined, { ...given, each: [{ ...given, by: 'a' }] }]) {
    const before = { ...one, grants: granted }
    const expected = { ...reset, grants: granted, past: '1,8;' }
    t.strictSame(mergedQuota(before, reset), expected, 'a reset takes no grants away')
    t.strictSame(mergedQuota(reset, before), expected)
  }
  t.end()
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
  t.ok(isSameStore(at({ url: 'redis://a' }), at({ url: 'redis://a' })))
  t.notOk(isSameStore(at({ url: 'redis://a' }), at({ url: 'redis://a' }, 'other:')))
  t.ok(isSameStore(at('/tmp/../tmp/none.db'), at('/tmp/none.db')))
  t.end()
})

t.test('the commands copy and back up, and a gateway serves from what they wrote', async (t) => {
  const upstream = await startUpstream(t)
  const folder = t.testdir()
  const { url, port, client } = await startRedis(t)
  const configOf = (name: string, store: string): string => {
    const file = join(folder, name)
    writeFileSync(file, configFor(upstream.url, store))
    return file
  }
  const file = join(folder, 'gateway.db')
  const embedded = configOf('embedded.yaml', `file: ${file}`)
  const inRedis = configOf('redis.yaml', `file: ${file}, redis: "${url}"`)
  const run = (config: string, ...args: string[]) => runCommand([...args, '--config', config], {})
  const gateway = async (config: string) => {
    const env = { TOLLGATE_CONFIG: config, LOG_LEVEL: 'info' }
    const service = startProcess(t, 'gateway/main.ts', { env })
    return { service, call: caller(await service.url) }
  }
  const stop = async ({ service }: Awaited<ReturnType<typeof gateway>>) => {
    service.child.kill('SIGTERM')
    await service.ended
  }
  const made = await run(embedded, 'keys', 'create', '--plan', 'free', '--name', 'A', '--json')
  const { key } = json(made.stdout)
  const headers = { authorization: `Bearer ${String(key)}` }
  const first = await gateway(embedded)
  const ask = async ({ call }: Awaited<ReturnType<typeof gateway>>) =>
    (await call('GET', '/v1/pets', undefined, headers)).status
  const dayUsed = async (settings: StoreSettings) =>
    (await dump(settings)).quotas[0]?.counters.dayUsed
  for (let i = 0; i < 5; i++) t.equal(await ask(first), 200)
  await until(async () => (await dayUsed(at(file))) === 5)

  const backup = join(folder, 'kept/backup.db')
  t.match(await run(embedded, 'store', 'backup', backup), { code: 0, out: /backup\.db: 1 key, / })
  t.equal(statSync(backup).mode & 0o777, 0o600)
  const saved = readFileSync(backup)
  for (const [config, name] of [
    [embedded, 'a gateway’s file'],
    [inRedis, 'Redis'],
  ] as const) {
    const again = await run(config, 'store', 'backup', backup)
    t.match(again, { code: 1, out: /exists already, and stays as it is: name a file that doesn't/ })
    t.notMatch(again.out, 'into-non-empty')
    t.ok(readFileSync(backup).equals(saved), `the backup of ${name} stays as it is`)
    t.strictSame(readdirSync(join(folder, 'kept')), ['backup.db'])
  }
  const restored = configOf('restored.yaml', `file: ${backup}`)
  const second = await gateway(restored)
  t.equal(await ask(second), 200)
  await stop(second)
  t.equal(await dayUsed(at(backup)), 6, 'with what was counted')

  const to = ['--to', `redis://:hush@127.0.0.1:${port}`]
  const dry = await run(embedded, 'store', 'copy', ...to, '--dry-run', '--json')
  t.match(json(dry.stdout), { from: file, to: `Redis at 127.0.0.1:${port}`, dryRun: true, keys: 1 })
  t.equal(await client.dbsize(), 0)
  const third = await gateway(inRedis)
  await until(() => third.service.output().includes('tollgate store copy --from'))
  t.match(
    third.service.output(),
    /names Redis at 127\.0\.0\.1:\d+, which has no keys, while .* has 1:/,
  )
  t.equal(await ask(third), 401)
  const copied = await run(inRedis, 'store', 'copy', '--from', file)
  t.match(copied, { code: 0, out: /1 {2}keys\n[^]*1 {2}lines of audit\nLeft out: / })
  t.notMatch(copied.out + dry.out, /hush/)
  t.equal(await ask(third), 200)
  t.equal(await dayUsed(at({ url }, 'tollgate:')), 6)
  t.notMatch(third.service.output(), /"audit":"keys.create"/, 'what is old is no news to the log')
  await stop(third)
  await stop(first)
  const fromRedis = join(folder, 'from-redis.db')
  t.match(await run(inRedis, 'store', 'backup', fromRedis), { code: 0, out: /: 1 key, / })
  const fourth = await gateway(configOf('fourth.yaml', `file: ${fromRedis}`))
  t.equal(await ask(fourth), 200)
  await stop(fourth)
  const fifth = await gateway(inRedis)
  await until(() => fifth.service.output().includes('Server listening'))
  t.notMatch(fifth.service.output(), /has no keys/)
})

t.test('a copy that can’t be meant is refused with a sentence', async (t) => {
  const folder = t.testdir()
  const configFile = join(folder, 'gateway.yaml')
  const file = join(folder, 'gateway.db')
  writeFileSync(configFile, configFor('http://127.0.0.1:1', `file: ${file}`))
  const { stores } = await filled(t, at(file))
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
  t.match(await copied('--to', other, '--into-non-empty'), { keys: 0, alreadyThere: 6 })
})

t.test('a gateway says what it waits for, and is ready when its store has answered', async (t) => {
  const folder = t.testdir()
  const upstream = await startUpstream(t)
  const ended = await startRedis(t)
  const { port } = ended
  await ended.kill()
  const config = join(folder, 'gateway.yaml')
  const redis = `redis://:hush@127.0.0.1:${port}`
  writeFileSync(config, configFor(upstream.url, `file: ${join(folder, 'x.db')}, redis: "${redis}"`))
  const env = { TOLLGATE_CONFIG: config, LOG_LEVEL: 'info' }
  const gateway = startProcess(t, 'gateway/main.ts', { env })
  await until(() => gateway.output().includes('waiting for'))
  t.match(
    gateway.output().split('\n')[0],
    new RegExp(`"level":40,.*"msg":"waiting for Redis at 127.0.0.1:${port}: connection refused"}`),
    'before anything else',
  )
  await gateway.url
  const admin = await adminOf(gateway)
  const readyz = () => caller(admin)('GET', '/readyz')
  const before = await readyz()
  t.equal(before.status, 503)
  t.match(json(before), { ready: false, stopping: false, store: 'out of reach' })
  await ended.restart()
  await until(async () => (await readyz()).status === 200)
  await until(async () => json(await readyz()).store === 'reachable')
  await until(() => gateway.output().includes('"the store is there"'))
  t.notMatch(gateway.output(), /hush|tollgate store copy/)
  t.notOk(existsSync(join(folder, 'x.db')), 'the file that is not used is not made')
})

type Asked = Pick<Stores, 'keys' | 'quota' | 'tallies' | 'audit'>

const exhaust = async (batches: AsyncIterable<unknown>): Promise<void> => {
  for await (const batch of batches) void batch
}

/** One question to each method that reads only. */
const readsOf = ({ keys, quota, tallies, audit }: Asked) => ({
  'keys.find': async () => void (await keys.find('hash')),
  'keys.get': async () => void (await keys.get('id')),
  'keys.list': () => exhaust(keys.list()),
  'keys.named': () => exhaust(keys.named(['id'])),
  'keys.names': () => exhaust(keys.names()),
  'quota.bans': () => quota.bans(),
  'tallies.list': () => exhaust(tallies.list(20_000, 20_000)),
  'tallies.list of a key': () => exhaust(tallies.list(20_000, 20_000, 'id')),
  'audit.list': () => audit.list({ fromMs: 0, limit: 1 }),
  'audit.list of a subject': () => audit.list({ fromMs: 0, limit: 1, subject: 'id' }),
  'audit.since': () => audit.since(),
  'audit.since a place': () => audit.since('0'),
})

/** One question to each method that writes, of quotas that aren't in memory. */
const writesOf = ({ keys, quota, tallies, audit }: Asked) => ({
  'keys.add': () => keys.add([newKey()]),
  'keys.add many': () => keys.add(Array.from({ length: 501 }, () => newKey())),
  'quota.ban': () => quota.ban('q-ban', 'id', Date.now() + 60_000),
  'tallies.add': () =>
    tallies.add('batch', [{ day: 20_000, key: 'id', what: 'GET /', count: 1, lastMs: 0 }]),
  'audit.add': () =>
    audit.add({ atMs: 1, by: 'me', what: 'keys.add', subject: 'id', before: null, after: null }),
})

/** One question to each method that fails in an outage, but may work in a full store. */
const changesOf = ({ keys, quota }: Asked) => ({
  'keys.replace': () => keys.replace(newKey(), 1),
  'quota.decide': async () => quota.decide('q-decide', { key: 'id', cost: 1, limits }),
  'quota.giveBack': async () => quota.giveBack('q-back', 1, 20_000),
  'quota.reset': () => quota.reset('q-reset'),
  'quota.lift': () => quota.lift('q-lift', 'id'),
})

/** Asks all at once; each must say itself that the store is unavailable, and why. */
async function areUnavailable(t: Test, questions: Record<string, () => Promise<unknown>>) {
  const outcomes = Object.entries(questions).map(async ([name, ask]) => {
    const error: unknown = await ask().then(
      () => 'answered',
      (error: unknown) => error,
    )
    if (!(error instanceof StoreUnavailable)) return t.fail(`${name}: ${String(error)}`)
    const isOwn = error.message.startsWith('Redis did not answer within')
    t.ok(isOwn || error.cause instanceof Error, `${name}: ${error.message}`)
    t.notMatch(error.message, /max retries/i)
  })
  await Promise.all(outcomes)
}

t.test('each store in Redis says itself that it can’t be asked', async (t) => {
  const all = (stores: Asked) => ({
    ...readsOf(stores),
    ...writesOf(stores),
    ...changesOf(stores),
  })
  const troubles: Record<string, (redis: RedisServer) => Promise<typeof all | typeof writesOf>> = {
    'is killed': async ({ kill }) => {
      await kill()
      return all
    },
    hangs: ({ child }) => {
      child().kill('SIGSTOP')
      return Promise.resolve(all)
    },
    'is killed while it is asked': ({ child, kill }) => {
      child().kill('SIGSTOP')
      setTimeout(() => void kill(), 50)
      return Promise.resolve(all)
    },
    'is full': async ({ client }) => {
      await client.config('SET', 'maxmemory', '1')
      return writesOf
    },
    'is a replica': async ({ client, port }) => {
      await client.replicaof('127.0.0.1', String(port))
      return writesOf
    },
  }
  for (const [name, begin] of Object.entries(troubles)) {
    await t.test(`that ${name}`, async (t) => {
      const redis = await startRedis(t)
      const stores = await open(t, { ...at({ url: redis.url }), timeoutMs: 200 })
      await areUnavailable(t, (await begin(redis))(stores))
    })
  }
  await t.test('but a name of another type is a fault, which no waiting ends', async (t) => {
    const redis = await startRedis(t)
    const { keys, quota, audit } = await open(t, at({ url: redis.url }))
    await redis.client.set('test:audit', 'x')
    await redis.client.set('test:{keys}:records', 'x')
    await redis.client.set('test:quota:q', 'x')
    const faults = [
      () => audit.list({ fromMs: 0, limit: 1 }),
      () => exhaust(keys.list()),
      async () => quota.decide('q', { key: 'id', cost: 1, limits }),
    ]
    for (const ask of faults) {
      const error: unknown = await ask().catch((error: unknown) => error)
      t.match(error, { name: 'ReplyError', message: /^(?:WRONGTYPE|ERR)/ })
      t.notOk(error instanceof StoreUnavailable)
    }
  })
})

t.test('each store in a file says itself that it can’t be asked', async (t) => {
  const openFile = (t: Test) => {
    const file = join(t.testdir(), 'gateway.db')
    const database = openGatewayFile(file)
    // Only without a WAL can another program keep readers out.
    database.pragma('journal_mode = DELETE')
    database.pragma('busy_timeout = 0')
    const quota = new EmbeddedQuotas(database)
    t.teardown(() => quota.close())
    const keys = embeddedKeys(database)
    return {
      database,
      stores: { keys, quota, tallies: embeddedTallies(database), audit: embeddedAudit(database) },
    }
  }
  await t.test('that another program has locked', async (t) => {
    const { database, stores } = openFile(t)
    const other = new Database(database.name)
    t.teardown(() => other.close())
    other.exec('BEGIN EXCLUSIVE')
    await areUnavailable(t, { ...readsOf(stores), ...writesOf(stores), ...changesOf(stores) })
    other.exec('ROLLBACK')
  })
  await t.test('that is full', async (t) => {
    const { database, stores } = openFile(t)
    const big = newKey({ note: 'x'.repeat(100_000) })
    database.pragma(`max_page_count = ${String(database.pragma('page_count', { simple: true }))}`)
    await areUnavailable(t, { 'keys.add': () => stores.keys.add([big]) })
    database.pragma('max_page_count = 1000000')
    t.strictSame(await stores.keys.add([big]), {}, 'and later it works')
  })
  await t.test('that may only be read', async (t) => {
    const { database, stores } = openFile(t)
    database.pragma('query_only = ON')
    await areUnavailable(t, writesOf(stores))
    database.pragma('query_only = OFF')
  })
  await t.test('but a table that is gone is a fault, which no waiting ends', async (t) => {
    const { database, stores } = openFile(t)
    database.exec('DROP TABLE audit')
    const error: unknown = await stores.audit.since().catch((error: unknown) => error)
    t.match(error, { code: 'SQLITE_ERROR' })
  })
})
