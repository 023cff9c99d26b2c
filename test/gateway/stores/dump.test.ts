import { withUsed } from '../../../gateway/contracts/counters.ts'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { backupFile } from '../../../gateway/front/stores/embedded/backup.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import {
  loadDump,
  readingAt,
  writeDump,
} from '../../../gateway/office/operations/store/transfer.ts'
import type { StoreSettings } from '../../../gateway/front/config/config.ts'
import { dayMs } from '../../../shared/windows.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { newKey } from '../../contracts/keys.ts'
import { runCommand } from '../../support/command.ts'
import { configFor } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import {
  bans,
  contextOf,
  copy,
  dump,
  dumpText,
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

/** Dumps a store into a file, and loads it into another store. */
async function move(folder: string, from: StoreSettings, to: StoreSettings) {
  const file = join(folder, `${readdirSync(folder).length}.dump`)
  const context = contextOf(from)
  t.equal(await writeDump(context, readingAt(context), file), statSync(file).size)
  t.equal(statSync(file).mode & 0o777, 0o600)
  return loadDump(contextOf(to), file)
}

t.test('a store that is moved from one technology to the other and back is the same', async (t) => {
  const folder = folderOf(t)
  const first = storeAt(join(folder, 'first.db'))
  const { stores, plain, ofAccount, expiring, disabled, keys } = await filled(t, first)
  const visitor = await openStores(first, { forCommandLine: true })
  const untilMs = Date.now() + 1_800_000
  await visitor.quota.ban(`key:${disabled}`, disabled, untilMs)
  await visitor.close()
  const rowsOf = (rows: readonly string[], shelf: string) =>
    rows.flatMap((row) => (row.startsWith(`{"shelf":"${shelf}"`) ? [JSON.parse(row)] : []))
  // A dump goes by the command's own time, the gateway by the one at which it hears of it, and then saves.
  await until(async () => (await stores.quota.bans()).some(({ key }) => key === disabled))
  await stores.quota.flush?.()
  t.equal(rowsOf(await dump(first), 'quotas').length, 4)
  const before = await dump(first)
  t.equal(rowsOf(before, 'keys').length, 6)
  t.match(
    rowsOf(before, 'counts').map(({ space }) => space as string),
    ['peaks', 'peaks', 'tallies', 'tallies'],
  )
  t.equal(rowsOf(before, 'lists').length, 3)
  t.match(rowsOf(before, 'documents'), [{ texts: [] }, { texts: ['AAr/', 'eA=='] }])
  t.equal(readdirSync(folder).includes('first.db-wal'), true, 'while a gateway serves from it')

  const way = [
    storeAt({ url }),
    storeAt({ url }, 'other:'),
    storeAt({ cluster: nodes }),
    storeAt(join(folder, 'second.db')),
    storeAt(join(folder, 'last.db')),
  ]
  let from = first
  const numbers = { keys: 6, quotas: 4, tallies: 2, peaks: 2, ledger: 2, uses: 0 }
  for (const [place, to] of way.entries()) {
    t.match(await copy(from, to, true), numbers, 'counting says the same')
    const moved = place % 2 === 0 ? await copy(from, to) : await move(folder, from, to)
    t.match(moved, numbers)
    t.strictSame(await dump(to), before, `move ${place}`)
    from = to
  }
  await stores.close()

  for (const settings of way) {
    const { quota, keys: store, tallies, audit } = await open(t, settings)
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
      strikes: Number,
      seen: { monthFrom: 15 },
    })
    const [topUp, ...others] = await quota.topUps('account:acme')
    t.match(topUp, { id: 'first', points: 50, left: 50, note: 'a "job"' })
    t.equal(others.length, 0)
    const added = { id: 'next', points: -49, by: 'me' }
    t.match(await quota.topUp('account:acme', added), { topUp: { left: 0 } }, 'one was taken')
    t.match(await store.find(keys[5]?.secrets[1]?.hash ?? ''), { key: { id: keys[5]?.id } })
    t.match(await audit.list({ fromMs: 0, limit: 9, what: 'store.' }), [{ by: 'me' }])
    await store.add([newKey()])
    await tallies.add({ by: 'g', number: 1, lines: [] })
  }
})

t.test('two dumps of a quiet store are the same bytes but for the first line', async (t) => {
  const folder = folderOf(t)
  const file = storeAt(join(folder, 'gateway.db'))
  const { stores, disabled } = await filled(t, file)
  await stores.close()
  // A command that no gateway has applied.
  const visitor = await openStores(file, { forCommandLine: true })
  await visitor.quota.ban(`key:${disabled}`, disabled, Date.now() + 60_000)
  await visitor.close()
  for (const settings of [file, storeAt({ url }, 'quiet:')]) {
    if (settings !== file) await copy(file, settings)
    const [one, other] = [await dumpText(settings), await dumpText(settings)]
    const behindFirst = (text: string) => text.slice(text.indexOf('\n'))
    t.equal(behindFirst(one), behindFirst(other))
    const [head, ...rows] = one.trimEnd().split('\n')
    t.match(head, /^\{"tollgate":"dump","format":5,"atMs":\d+\}$/)
    t.match(JSON.parse(rows.at(-1) ?? ''), { end: true, rows: rows.length - 1 })
    const shelves = rows.slice(0, -1).map((row) => (JSON.parse(row) as { shelf: string }).shelf)
    t.equal(shelves.lastIndexOf('documents') < shelves.indexOf('keys'), true, 'keys come last')
  }
})

t.test('a dump has each key and each quota of one moment while a gateway counts', async (t) => {
  const settings = storeAt({ url }, 'live:')
  const stores = await open(t, settings)
  const keys = Array.from({ length: 600 }, () => newKey())
  await stores.keys.add(keys)
  const wide = { perMinute: 1_000_000, perDay: 1_000_000 }
  let isOver = false
  let [first, asked] = [0, 0]
  const counting = (async () => {
    for (let i = 0; !isOver; i = (i + 1) % keys.length) {
      const key = keys[i]?.id ?? ''
      await stores.quota.decide(`key:${key}`, { key, cost: 3, limits: wide, bans: undefined })
      await stores.quota.decide('account:one', { key, cost: 1, limits: wide, bans: undefined })
      asked++
    }
  })()
  await until(() => asked > 700)
  first = asked
  const text = await dumpText(settings)
  isOver = true
  await counting
  const rows = text.split('\n').flatMap((row) => {
    return row.startsWith('{"shelf":"quotas"')
      ? [JSON.parse(row) as { quota: string; fields: { c: string } }]
      : []
  })
  t.equal(rows.length, 601)
  t.equal(new Set(rows.map(({ quota }) => quota)).size, 601, 'each once')
  const totals = new Map(rows.map(({ quota, fields }) => [quota, Number(fields.c.split(',')[0])]))
  const ofAccount = totals.get('account:one') ?? 0
  t.ok(ofAccount >= first && ofAccount <= asked, `${first} ${ofAccount} ${asked}`)
  for (const { id } of keys) t.equal((totals.get(`key:${id}`) ?? 1) % 3, 0)
  t.match(await copy(settings, storeAt(join(folderOf(t), 'live.db'))), { keys: 600, quotas: 601 })
})

t.test('a grant in a copied file is one more, though both are its first command', async (t) => {
  const folder = folderOf(t)
  const [one, two] = [storeAt(join(folder, 'one.db')), storeAt(join(folder, 'two.db'))]
  for (const [i, settings] of [one, two].entries()) {
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
  const keys = Array.from({ length: 600 }, () => newKey())
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
    t.match(await move(folder, from, to), { uses: 600, keys: 600 })
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

t.test(
  'counts of many days are loaded as they were, and the lines of its own audit stay',
  async (t) => {
    const folder = folderOf(t)
    const source = storeAt(join(folder, 'source.db'))
    const { stores } = await filled(t, source)
    const today = Math.floor(Date.now() / dayMs)
    for (let back = 89; back >= 0; back--) {
      const day = today - back
      const lines = Array.from({ length: 40 }, (_, i) => {
        const tally = { day, key: `key${i}`, what: 'admitted 2xx', count: back + i + 1, lastMs: 0 }
        return [tally, { ...tally, what: 'refused 429' }]
      }).flat()
      await stores.tallies.add({ by: 'many', number: 90 - back, lines })
      const ofQuotas = lines.map(({ key, count }) => {
        return peak(`key:${key}`, {
          day,
          most: { minute: count, day: count, hour: 7 },
          refused: { hour: 1 },
        })
      })
      await stores.peaks.add({ by: 'many', number: 90 - back, lines: ofQuotas })
    }
    await stores.close()
    const before = await dump(source)
    for (const to of [storeAt({ url }, 'days:'), storeAt(join(folder, 'goal.db'))]) {
      const own = await open(t, to)
      const change = { by: 'ops', subject: 'x', before: null, after: null }
      for (const atMs of [Date.now() - 9 * dayMs, Date.now()]) {
        await own.audit.add({ atMs, what: 'own', ...change })
      }
      const { cursor } = await own.audit.since()
      await own.close()
      await copy(source, to)
      const rows = await dump(to)
      t.strictSame(
        rows.filter((row) => !row.includes('"own"')),
        before,
      )
      const after = await open(t, to)
      const listed = await after.audit.list({ fromMs: 0, limit: 99 })
      t.strictSame(
        listed.map(({ what }) => what),
        ['store.copy', 'own', 'keys.change', 'keys.change', 'keys.change', 'own'],
        'by their time',
      )
      const news = (await after.audit.since(cursor)).entries.map(({ what }) => what)
      t.strictSame(news, ['store.copy'], 'what is older is no news')
      await after.close()
    }
  },
)

t.test('the command prints a dump, or writes it and says so', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'gateway.db')
  const { stores, keys } = await filled(t, storeAt(file))
  await stores.close()
  const config = join(folder, 'gateway.yaml')
  writeFileSync(config, configFor('http://127.0.0.1:1', `file: ${file}`))
  const run = (...args: string[]) => runCommand(['store', ...args, '--config', config], {})
  const behindFirst = (text: string) => text.slice(text.indexOf('\n'))
  const expected = behindFirst(await dumpText(storeAt(file)))
  for (const more of [[], ['--json']]) {
    const { code, stdout } = await run('dump', ...more)
    t.equal(code, 0)
    t.equal(behindFirst(stdout), expected)
  }
  const database = openGatewayFile(file)
  database.prepare("UPDATE keys SET record = '{' WHERE id = ?").run(keys[0]?.id)
  database.close()
  const to = join(folder, 'some.dump')
  t.match(await run('dump', '--to', to), {
    code: 0,
    out: /gateway\.db is dumped in .*some\.dump: 0\.0 MiB\.\n.*1 damaged keys or quotas were left out/,
  })
  t.match(await run('load', to), { code: 1, out: /isn't empty: it has .*, keys \(/ })
  const other = join(folder, 'other.yaml')
  writeFileSync(other, configFor('http://127.0.0.1:1', `file: ${join(folder, 'other.db')}`))
  const loaded = await runCommand(['store', 'load', to, '--json', '--config', other], {})
  const { keys: count, quotas, uses } = json(loaded.stdout)
  t.strictSame({ count, quotas, uses }, { count: 5, quotas: 3, uses: 0 })
})

t.test('a quota that was only granted something, or only banned, is in a dump', async (t) => {
  const folder = folderOf(t)
  for (const settings of [storeAt({ url }, 'granted:'), storeAt(join(folder, 'granted.db'))]) {
    const { quota, close } = await open(t, settings)
    await quota.grant('key:granted', { perDay: 5, by: 'me' })
    await quota.ban('key:banned', 'banned', Date.now() + 60_000)
    await quota.setMonthFrom('key:month', 9)
    await close()
    const rows = await dump(settings)
    t.strictSame(
      rows.map((row) => (JSON.parse(row) as { quota: string }).quota),
      ['key:banned', 'key:granted', 'key:month'],
    )
  }
})

t.test('a dump that a file can’t take in is not there', async (t) => {
  const folder = folderOf(t, { 'old.dump': 'old' })
  const store = storeAt(join(folder, 'gateway.db'))
  await (await filled(t, store)).stores.close()
  const file = join(folder, 'old.dump')
  const context = contextOf(store)
  await t.rejects(
    writeDump(context, readingAt(context), file),
    /exists already, and stays as it is/,
  )
  t.equal(readFileSync(file, 'utf8'), 'old')
  const missing = contextOf(storeAt(join(folder, 'none.db')))
  await t.rejects(writeDump(missing, readingAt(missing), join(folder, 'x.dump')), /doesn't exist/)
  t.strictSame(
    readdirSync(folder).filter((name) => name.includes('dump')),
    ['old.dump'],
  )
})
