import { newConduct } from '../../../gateway/front/limits/conduct.ts'
import { newCounters, unanswered } from '../../../gateway/front/limits/counters.ts'
import { textOf } from '../../../gateway/front/limits/counters-text.ts'
import { counted, withUsed } from '../../../gateway/contracts/counters.ts'
import { roll } from '../../../gateway/front/limits/counters.ts'
import { join } from 'node:path'
import t from 'tap'
import { newQuota } from '../../../gateway/front/limits/quota-state.ts'
import { dayMs, hourMs, minuteMs } from '../../../shared/windows.ts'
import { CachedQuotas } from '../../../gateway/front/stores/embedded/cached-quotas.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedQuotas } from '../../../gateway/front/stores/embedded/quota.ts'
import { json } from '../../support/http.ts'
import { startProcess } from '../../support/process.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

t.test('embedded, a stop amid a saving of many counters leaves none behind', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const limits = { perMinute: 1_000, perDay: 1_000 }
  const store = embeddedQuotas(openGatewayFile(file))
  const quotas = Array.from({ length: 5_000 }, (_, i) => `q${i}`)
  for (const quota of quotas) store.decide(quota, { key: 'k', cost: 1, limits })
  // A reset saves, in the background, and the stop comes in the midst of it.
  const reset = store.reset('q1')
  await store.close()
  await reset
  const again = embeddedQuotas(openGatewayFile(file))
  t.teardown(() => again.close())
  const used = quotas.map(
    (quota) => withUsed(again.decide(quota, { key: 'k', cost: 0, limits })).dayUsed,
  )
  t.equal(
    used.reduce((sum, each) => sum + each),
    4_999,
    'all but the one that was reset',
  )
})

t.test('embedded, a damaged row is a quota that begins anew, and hurts no other', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const store = embeddedQuotas(openGatewayFile(file))
  for (const quota of ['good', 'bad', 'worse']) store.decide(quota, { key: 'k', cost: 3, limits })
  await store.close()
  const database = openGatewayFile(file)
  database.prepare(`UPDATE quotas SET state = 'garbage' WHERE quota = 'bad'`).run()
  database
    .prepare(`UPDATE quotas SET state = '{"day":"x","conducts":[]}' WHERE quota = 'worse'`)
    .run()
  database.close()
  const again = embeddedQuotas(openGatewayFile(file))
  t.teardown(() => again.close())
  const used = (quota: string) =>
    withUsed(again.decide(quota, { key: 'k', cost: 0, limits })).dayUsed
  t.strictSame([used('good'), used('bad'), used('worse')], [3, 0, 0])
  await again.ban('bad', 'k', Date.now() + 60_000)
  t.match(await again.bans(), [{ quota: 'bad' }])
})

t.test('embedded, a stop waits for who has the file locked', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const store = embeddedQuotas(openGatewayFile(file))
  const other = openGatewayFile(file)
  other.exec('BEGIN IMMEDIATE')
  store.decide('q', { key: 'k', cost: 3, limits })
  setTimeout(() => other.exec('ROLLBACK'), 300)
  await store.close()
  other.close()
  const again = embeddedQuotas(openGatewayFile(file))
  t.teardown(() => again.close())
  t.equal(withUsed(again.decide('q', { key: 'k', cost: 0, limits })).dayUsed, 3)
})

t.test('embedded, what pauses leaves memory, but not what the file lacks', async (t) => {
  const written = counted(newQuota(), { day: 7 })
  const held = new CachedQuotas((quota) => (quota === 'key:5' ? written : undefined))
  for (let i = 0; i < 100_003; i++) held.get(`key:${i}`)
  t.match(held.get('key:5'), written, 'read from the file')
  const [slot, other] = [{}, {}]
  const left = held.getVia(other, 'key:6')
  held.evictIdle(2 * minuteMs - 1)
  t.equal(held.all.length, 100_003, 'what was asked for lately stays')
  const used = held.getVia(slot, 'key:1')
  roll(used, minuteMs, false)
  const unsaved = held.all.find(({ quota }) => quota === 'key:2')
  const journaled = held.all.find(({ quota }) => quota === 'key:3')
  if (!unsaved || !journaled) return t.fail('it is not held')
  unsaved.isUnsaved = true
  journaled.isJournaled = true
  held.evictIdle(2 * minuteMs)
  t.strictSame(new Set(held.all), new Set([used, unsaved, journaled]))
  t.equal(held.getVia(slot, 'key:1'), used)
  t.not(held.getVia(other, 'key:6'), left, 'what has left is asked for anew')
  t.equal(held.getVia(other, 'key:6'), held.get('key:6'), 'and there is one of it')
  t.equal(held.getVia(other, 'key:1'), used, 'a slot that was taken along to another quota')
  t.equal(held.get('key:1'), used)
  t.match(held.get('key:5'), written, 'what has left is read again')
  held.get('key:10')
  held.get('key:4')
  await held.sort()
  t.strictSame(
    held.all.map(({ quota }) => quota),
    ['key:1', 'key:10', 'key:2', 'key:3', 'key:4', 'key:5', 'key:6'],
  )
})

t.test('embedded, thousands of quotas come through a stop and a crash', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const names = Array.from({ length: 2_003 }, (_, i) => `key:${i}`)
  const ask = (store: ReturnType<typeof embeddedQuotas>, cost: number) =>
    names.map((name) => withUsed(store.decide(name, { key: name, cost, limits })).dayUsed)
  const first = embeddedQuotas(openGatewayFile(file))
  ask(first, 1)
  await first.close()
  const database = openGatewayFile(file)
  t.equal(database.prepare('SELECT count(*) FROM quotas').pluck().get(), 2_003, 'all in place')
  t.equal(database.prepare('SELECT count(*) FROM journal').pluck().get(), 0, 'and none in between')
  const second = embeddedQuotas(openGatewayFile(file))
  t.teardown(() => second.close())
  ask(second, 1)
  await until(() => database.prepare('SELECT count(*) FROM journal').pluck().get() === 9)
  database.close()
  // The running one counts as killed: counters that it hasn't written are lost.
  const third = embeddedQuotas(openGatewayFile(file))
  t.teardown(() => third.close())
  t.ok(ask(third, 0).every((used) => used === 2))
})

t.test('embedded, a save in the middle of placing loses nothing to a crash', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const placing = startProcess(t, 'test/support/placing.ts', { args: [file] })
  t.equal((await placing.ended).code, 0, placing.output())
  t.strictSame(json(placing.stdout()), { quotas: 102_001, lost: 0 })
})

t.test('embedded, after a crash a name in the journal is a name and nothing else', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const now = Date.UTC(2026, 5, 15, 12)
  const open = () => {
    const store = embeddedQuotas(openGatewayFile(file), { clock: () => now })
    t.teardown(() => store.close())
    return store
  }
  const numbers = (used: number) => {
    const counters = newCounters()
    roll(counters, now, false)
    return textOf({ ...counters, total: used })
  }
  const names = [
    `mallory\nkey:VICTIM\t${numbers(60)}\nx`,
    ...['"key:VICTIM"', 'key:VICTIM', 'a\tb', '"', '\\"\n', 'plain', ''],
  ]
  const limits = { perMinute: 10, perDay: 10 }
  const [other, first] = [open(), open()]
  // As an app might count that has the store itself.
  for (const name of names) other.decide(`jobs:${name}`, { key: 'k', cost: 1, limits })
  for (const name of names.slice(3)) first.decide(name, { key: 'k', cost: 2, limits })
  const database = openGatewayFile(file)
  t.teardown(() => database.close())
  const entries = () => database.prepare('SELECT states FROM journal ORDER BY seq').pluck().all()
  await until(() => entries().length === 2)
  t.match(entries().join('\n'), `\nplain\t${numbers(2)}\n`, 'a plain name stays so')

  // The ones that still run are as good as dead: this one has the journal alone.
  const again = open()
  const used = (store: ReturnType<typeof embeddedQuotas>, quota: string) =>
    withUsed(store.decide(quota, { key: 'k', cost: 0, limits })).minuteUsed
  t.equal(used(again, 'key:VICTIM'), 0)
  t.strictSame(
    names.map((name) => used(again, `jobs:${name}`)),
    names.map(() => 1),
  )
  t.strictSame(
    names.slice(3).map((name) => used(again, name)),
    names.slice(3).map(() => 2),
  )
})

t.test('who only looks leaves no quota behind', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const limits = { perMinute: 10, perDay: 10 }
  const store = embeddedQuotas(openGatewayFile(file))
  store.decide('nobody', { key: 'nobody', cost: 0, limits })
  store.decide('q', { key: 'q', cost: 1, limits })
  await store.close()
  const database = openGatewayFile(file)
  t.teardown(() => database.close())
  t.strictSame(database.prepare('SELECT quota FROM quotas').pluck().all(), ['q'])
})

t.test('embedded, bans among very many quotas are found bit by bit', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const database = openGatewayFile(file)
  const [day, counters] = [Math.floor(Date.now() / dayMs), newCounters()]
  roll(counters, Date.now(), false)
  const put = database.prepare('INSERT INTO quotas VALUES (?, ?, ?)')
  const conduct = { ...newConduct(), bannedUntilMs: Date.now() + 60_000 }
  const banned = JSON.stringify({ conducts: [['k', conduct]] })
  database.transaction(() => {
    for (let i = 0; i < 20_000; i++) {
      const more = i % 4_000 === 1_999 ? `,${banned}` : ''
      put.run(`q${String(i).padStart(5, '0')}`, (day + 1) * dayMs, `${textOf(counters)}${more}`)
    }
  })()
  database.close()
  const store = embeddedQuotas(openGatewayFile(file))
  t.teardown(() => store.close())
  let turns = 0
  const timer = setInterval(() => undefined, 1_000)
  const count = (): void => {
    turns++
    if (timer.hasRef()) setImmediate(count)
  }
  setImmediate(count)
  const names = (await store.bans()).map(({ quota }) => quota)
  t.ok(turns >= 10, `${turns} turns of the loop meanwhile`)
  t.strictSame(names, ['q01999', 'q05999', 'q09999', 'q13999', 'q17999'])
  t.equal(await store.lift('q05999', 'k'), true)
  t.equal(await store.lift('q05999', 'k'), false)
  t.equal((await store.bans()).length, 4, 'a ban that is lifted in memory is none of the table')
  clearInterval(timer)
  timer.unref()
})

t.test(
  'embedded, an order to a gateway that doesn’t run waits until its windows end',
  async (t) => {
    const file = join(folderOf(t), 'gateway.db')
    let now = Date.UTC(2026, 5, 15, 23)
    const options = { clock: () => now }
    const line = embeddedQuotas(openGatewayFile(file), { ...options, forCommandLine: true })
    await line.grant('q', { perHour: 1, perDay: 2, perMonth: 3, by: 'a' })
    await line.close()
    now += 5 * hourMs
    const gateway = embeddedQuotas(openGatewayFile(file), options)
    t.teardown(() => gateway.close())
    const limits = { perMinute: 1, perDay: 1 }
    const { granted } = gateway.decide('q', { key: 'k', cost: 0, limits })
    t.strictSame(granted, { perMonth: 3 }, 'the month runs on the next day')
  },
)

t.test('embedded, an hour and a month come through a crash as the day does', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const start = Date.UTC(2026, 5, 15, 12)
  let now = start
  const open = () => {
    const store = embeddedQuotas(openGatewayFile(file), { clock: () => now })
    t.teardown(() => store.close())
    return store
  }
  const limits = { perSecond: 9, perMinute: 9, perHour: 9, perDay: 9, perMonth: 9 }
  const killed = open()
  await killed.setMonthFrom('q', 15)
  const { seen } = killed.decide('q', { key: 'k', cost: 5, limits })
  killed.adjust('q', unanswered(2), { counters: seen })
  await killed.flush()
  // The running one counts as killed.
  const look = (store: ReturnType<typeof embeddedQuotas>) =>
    withUsed(store.decide('q', { key: 'k', cost: 0, limits }))
  t.match(look(open()), {
    ...{ secondUsed: 5, minuteUsed: 5, hourUsed: 3, dayUsed: 3, monthUsed: 3 },
  })
  now = start + hourMs
  t.match(look(open()), { secondUsed: 0, minuteUsed: 0, hourUsed: 0, dayUsed: 3, monthUsed: 3 })
  now = Date.UTC(2026, 6, 15) - 1
  t.match(look(open()), { dayUsed: 0, monthUsed: 3 }, 'the month is on until its last millisecond')
  now++
  t.match(look(open()), { monthUsed: 0 })
})

t.test('embedded, the day on which a quota’s months begin outlasts idle months', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  let now = Date.UTC(2026, 5, 20)
  const open = () => embeddedQuotas(openGatewayFile(file), { clock: () => now })
  const limits = { perMinute: 10, perDay: 10, perMonth: 10 }
  const first = open()
  await first.setMonthFrom('key:moved', 15)
  for (const quota of ['key:moved', 'key:usual']) first.decide(quota, { key: 'k', cost: 1, limits })
  await first.close()
  now += 90 * dayMs
  const second = open()
  second.decide('key:other', { key: 'k', cost: 1, limits })
  await second.close()
  const database = openGatewayFile(file)
  t.teardown(() => database.close())
  const left = database.prepare('SELECT quota FROM quotas ORDER BY quota').pluck().all()
  t.strictSame(left, ['key:moved', 'key:other'], 'another is forgotten')
  const third = open()
  t.teardown(() => third.close())
  t.match(third.decide('key:moved', { key: 'k', cost: 1, limits }), { seen: { monthFrom: 15 } })
})
