import { withUsed } from '../../support/counters.ts'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { dayMs } from '../../../shared/windows.ts'
import { backupFile } from '../../../gateway/front/stores/embedded/backup.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { newKey } from '../../contracts/keys.ts'
import {
  bans,
  copy,
  dump,
  filled,
  limits,
  open,
  peak,
  storeAt,
} from '../../support/filled-store.ts'
import { startCluster, startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const [{ url }, { nodes }] = await Promise.all([startRedis(t), startCluster(t)])

t.test(
  'a store that is copied from one technology to the other and back is the same',
  async (t) => {
    const folder = folderOf(t)
    const single = { url }
    const first = storeAt(join(folder, 'first.db'))
    const { stores, plain, ofAccount, expiring, disabled, keys } = await filled(t, first)
    const visitor = await openStores(first, { forCommandLine: true })
    const untilMs = Date.now() + 1_800_000
    await visitor.quota.ban(`key:${disabled}`, disabled, untilMs)
    await visitor.close()
    // Until the gateway applies the command, each reader applies it for itself.
    const isFollowed = async () => isDeepStrictEqual(await dump(first), await dump(first))
    await until(async () => (await dump(first)).quotas.length === 4 && (await isFollowed()))
    const before = await dump(first)
    const [[, conduct] = []] = before.quotas[0]?.conducts ?? []
    const strikes = conduct?.strikes
    t.ok(strikes)
    t.equal(before.keys.length, 6)
    t.equal(before.quotas.length, 4, 'the journal is read, though nothing is in its place')
    t.equal(before.tallies.length, 3)
    t.equal(before.peaks.length, 3)
    t.equal(before.audit.length, 3)
    t.match(before.ledger, [[Number], [Number, '000aff', '78']])
    t.equal(readdirSync(folder).includes('first.db-wal'), true, 'while a gateway serves from it')

    const cluster = { cluster: nodes }
    const way = [
      storeAt(single),
      storeAt(single, 'other:'),
      storeAt(cluster),
      storeAt(join(folder, 'last.db')),
    ]
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
      const decision = withUsed(await quota.decide(`key:${plain}`, look))
      t.match(decision, { dayUsed: 4, granted: { perDay: 500 } })
      // One more is added, whatever numbers the commands of another file had.
      t.equal(await quota.grant(`key:${plain}`, { perMinute: 0, perDay: 1, by: 'me' }), true)
      t.match(await quota.decide(`key:${plain}`, look), { granted: { perDay: 501 } })
      t.match(await quota.grants(`key:${plain}`), [{ by: 'ops', note: 'a "job"' }, { by: 'me' }])
      t.match(await quota.decide(`key:${expiring}`, { ...look, key: expiring }), {
        verdict: 'banned',
      })
      t.match(await quota.decide('account:acme', { ...look, key: ofAccount }), {
        strikes,
        seen: { monthFrom: 15 },
      })
      t.match(await store.find(keys[5]?.secrets[1]?.hash ?? ''), { key: { id: keys[5]?.id } })
      await store.add([newKey()])
      await tallies.add({ by: 'g', number: 1, lines: [] })
    }
  },
)

t.test('a copy adds to what is there only if it is told to, and takes nothing away', async (t) => {
  const folder = folderOf(t)
  for (const goal of [storeAt(join(folder, 'goal.db')), storeAt({ url }, 'more:')]) {
    const source = storeAt(join(folder, `source-${goal.file === '' ? 'redis' : 'file'}.db`))
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
      lines: [
        peak(acme, { day: today - 4, most: { minute: 8, day: 95 }, refused: { day: 1 } }),
        peak(acme, { day: today - 2, most: { minute: 1, day: 1 } }),
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
      lines: [
        peak(acme, { day: today - 4, most: { minute: 11, day: 91 }, refused: { minute: 7 } }),
        peak(acme, { day: today - 1, most: { minute: 2, day: 2 } }),
        peak('key:more', { day: today - 7, most: { minute: 4, day: 4 } }),
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
          ...{ day: today - 4, most: { minute: 11, day: 95 } },
          ...{ refused: { minute: 7, day: 2 } },
        }),
        peak(acme, { day: today - 2, most: { minute: 1, day: 1 } }),
        peak(acme, { day: today - 1, most: { minute: 2, day: 2 } }),
        peak('key:more', { day: today - 7, most: { minute: 4, day: 4 } }),
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
    const third = storeAt(join(folder, `third-${goal.file === '' ? 'redis' : 'file'}.db`))
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
  const folder = folderOf(t)
  const [source, goal] = [storeAt(join(folder, 'source.db')), storeAt(join(folder, 'goal.db'))]
  const { stores, keys } = await filled(t, source)
  await stores.close()
  await copy(source, goal)
  // A journal that a killed gateway left, and a command that no gateway has applied.
  const visitor = await openStores(goal, { forCommandLine: true })
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

t.test('a grant in a copied file is one more, though both are its first command', async (t) => {
  const folder = folderOf(t)
  const files = ['one.db', 'two.db'].map((name) => storeAt(join(folder, name)))
  const [one, two] = files
  if (!one || !two) throw new Error('they are named')
  for (const [i, settings] of files.entries()) {
    if (i > 0) await copy(one, two)
    const { quota, close } = await open(t, settings)
    t.equal(await quota.grant('key:a', { perMinute: 0, perDay: 5, by: `${i}` }), true)
    const granted = { perDay: 5 * (i + 1) }
    t.match(await quota.decide('key:a', { key: 'a', cost: 0, limits }), { granted })
    await close()
  }
})

t.test('copies and backups take last uses along, and since when they are noted', async (t) => {
  const folder = folderOf(t)
  const places = [
    storeAt(join(folder, 'one.db')),
    storeAt({ url }, 'uses:'),
    storeAt(join(folder, 'two.db')),
  ]
  const keys = Array.from({ length: 300 }, () => newKey())
  const beganMs = 1_700_000_000_000
  const uses = keys.map(({ id: key }, i) => ({ key, mark: 'abcdefgh', atMs: beganMs + i }))
  const [first, ...others] = places
  if (!first) throw new Error('three were asked for')
  const before = await openStores(first)
  await before.keys.add(keys)
  await before.lastUses.note(uses, beganMs)
  await before.close()
  let from = first
  for (const to of others) {
    t.match(await copy(from, to), { lastUses: 300 })
    from = to
  }
  backupFile(from.file, join(folder, 'backup.db'))
  for (const place of [...others, storeAt(join(folder, 'backup.db'))]) {
    const stores = await openStores(place, { forCommandLine: true })
    const found = await stores.lastUses.of(keys.map(({ id }) => id))
    t.ok(found.every((each, i) => each?.get('abcdefgh') === beganMs + i))
    t.equal(await stores.lastUses.since(), beganMs)
    await stores.close()
  }
})
