import { unanswered } from '../../gateway/front/limits/counters.ts'
import type { Test } from 'tap'
import { LedgerKeeper } from '../../gateway/office/ledger/keeper.ts'
import { closeDueDays, ledgerLines, type LedgerStores } from '../../gateway/office/ledger/ledger.ts'
import { ledgerBys, type LedgerBy } from '../../gateway/office/ledger/lines.ts'
import { noFigures, ownKey, packed, unpacked } from '../../gateway/office/ledger/rows.ts'
import { ledgerDays } from '../../gateway/front/records/ledger-store.ts'
import { pointTallies } from '../../gateway/front/counts/use.ts'
import { fleetOfOne } from '../../gateway/front/fleet/single-member.ts'
import { newKey } from './keys.ts'

const dayMs = 86_400_000
const day = Math.floor(Date.UTC(2026, 9, 31) / dayMs)
const midnight = (day + 1) * dayMs
const wide = { perMinute: 10_000, perDay: 1_000_000 }

/** The ledger in a store with a clock that tests move, as two processes have it. */
export type LedgerViews = Readonly<{
  first: LedgerStores
  second: LedgerStores
  setTime: (ms: number) => void
}>

/** The promises of the ledger, in a technology. */
export function ledgerContract(
  t: Test,
  name: string,
  start: (t: Test) => Promise<LedgerViews>,
): Promise<unknown> {
  return t.test(`the ledger: ${name}`, async (t) => {
    const { first, second, setTime } = await start(t)
    let now = 0
    const at = (ms: number): void => setTime((now = ms))
    const exported = async (by: LedgerBy = 'account', { fromDay = day, toDay = day } = {}) => {
      const lines = []
      for await (const line of ledgerLines(first, { fromDay, toDay, by }, now)) lines.push(line)
      return lines
    }
    const shown = async (by?: LedgerBy) =>
      (await exported(by)).map(({ id, points, requests, refused, plan, final }) =>
        [id.slice(11), points, requests, refused, plan, final ? 'final' : ''].join(' ').trimEnd(),
      )
    /** The estimates of all lines that have any, by account, key and plan. */
    const estimates = () =>
      Promise.all(
        ledgerBys.map(async (by) => {
          const lines = (await exported(by)).filter(({ estimated }) => estimated !== 0)
          return lines.map(({ id, estimated }) => `${id.slice(11)} ${estimated}`)
        }),
      )
    const [one, two, trial] = ['AAAAAAAAAAAA', 'BBBBBBBBBBBB', 'EEEEEEEEEEEE']
    const alone = newKey({ id: 'CCCCCCCCCCCC', revokedAtMs: midnight - 5 })
    await first.keys.add([
      newKey({ id: two, account: 'acme', plan: 'pro' }),
      newKey({ id: one, account: 'acme' }),
      newKey({ id: 'DDDDDDDDDDDD', account: 'idle' }),
      newKey({ id: trial, account: 'acme', test: true }),
      alone,
    ])
    const use = async (quota: string, cost: number) =>
      (await first.quota.decide(quota, { key: one, cost, limits: wide })).seen
    const tally = (key: string, what: string, count: number) => {
      return { day, key, what, count, lastMs: 0 }
    }
    at(midnight - 60_000)
    t.strictSame(await exported(), [], 'it begins')
    const seen = await use('account:acme', 5)
    await use('account:acme', 6)
    await use(`key:${alone.id}`, 3)
    await use(`key:${two}`, 2)
    await use('jobs:somebody', 9)
    // The use of a test key is on no bill.
    await use(`key:${trial}`, 50)
    await first.tallies.add({
      by: 'g1',
      number: 1,
      lines: [
        tally(one, 'admitted 2xx', 1),
        tally(one, 'points more', 4),
        tally(trial, 'admitted 2xx', 1),
        tally(two, 'admitted 5xx', 1),
        tally(two, 'points more', 4),
        tally(alone.id, 'refused expired', 7),
        tally(two, pointTallies.estimated, 7),
      ],
    })
    const counted = (what: string) => [
      `account:acme 11 2 0 free,pro${what}`,
      `key:${two} 2 0 0 pro${what}`,
      `key:${alone.id} 3 0 7 free${what}`,
    ]
    t.strictSame(await shown(), counted(''), 'a day that isn’t over')
    t.match(await exported(), [
      { id: '2026-10-31:account:acme', day: '2026-10-31', account: 'acme', keys: [one, two] },
      { account: null, keys: [two] },
      { id: `2026-10-31:key:${alone.id}`, account: null, keys: [alone.id], final: false },
    ])
    t.strictSame(await shown('key'), [
      `account:acme:key:${one} 5 1 0 free,pro`,
      `account:acme:key:${two} 5 1 0 free,pro`,
      'account:acme:rest 1 0 0 free,pro',
      ...counted('').slice(1),
    ])
    t.strictSame(await shown('plan'), [
      'plan:free 3 0 7 free',
      'plan:free,pro 11 2 0 free,pro',
      'plan:pro 2 0 0 pro',
    ])

    const estimated = [['account:acme 7'], [`account:acme:key:${two} 7`], ['plan:free,pro 7']]
    t.strictSame(await estimates(), estimated)

    at(midnight + 599_999)
    await use('account:acme', 100)
    await first.quota.adjust('account:acme', unanswered(1), { counters: seen })
    t.strictSame(
      await shown(),
      counted('').map((line) => line.replace('acme 11', 'acme 10')),
    )
    at(midnight + 600_000)
    const final = counted(' final').map((line) => line.replace('acme 11', 'acme 10'))
    t.strictSame(await shown(), final, 'ten minutes after its end it is final')
    t.strictSame(await estimates(), estimated, 'estimates are kept')
    const everything = async () => JSON.stringify([await exported(), await exported('key')])
    const bytes = await everything()
    await first.quota.adjust('account:acme', unanswered(1), { counters: seen })
    await first.tallies.add({ by: 'g1', number: 2, lines: [tally(one, 'admitted 2xx', 50)] })
    await first.quota.reset('account:acme')
    await second.ledger.close({ day, chunks: [] })
    t.equal(await everything(), bytes, 'and stays as it is, byte for byte')
    const all = await exported('account', { fromDay: day - 500, toDay: Infinity })
    t.match(all.at(-1), { id: '2026-11-01:account:acme', points: 100, final: false })
    t.equal(all.length, final.length + 1, 'no day before the ledger began')

    await t.test('two gateways close a day at once, and one that dies is replaced', async (t) => {
      at(midnight + dayMs + 600_000)
      const fleet = fleetOfOne(() => now)
      const failures: unknown[] = []
      const keeper = (id: string, stores: LedgerStores) => {
        const self = { id, name: id }
        const trouble = (error?: Error) => failures.push(error?.message)
        const made = new LedgerKeeper({
          fleet,
          ledger: stores.ledger,
          closeDays: (nowMs) => closeDueDays(stores, nowMs),
          self,
          clock: () => now,
          trouble,
        })
        t.teardown(() => made.stop())
        return made
      }
      const dying = {
        ...first,
        ledger: { ...first.ledger, close: () => Promise.reject(new Error('killed')) },
      }
      const [killed, other] = [keeper('killed', dying), keeper('other', second)]
      await killed.look()
      t.strictSame(failures, ['killed'])
      await other.look()
      t.notOk(await first.ledger.isClosed(day + 1), 'while the place is held')
      at(now + 5_001)
      await Promise.all([other.look(), keeper('third', first).look()])
      t.ok(await first.ledger.isClosed(day + 1))
      const [chunk] = (await first.ledger.chunks(day + 1)) ?? []
      t.ok(chunk && chunk.length > 0)
      await keeper('third', dying).look()
      t.strictSame(failures, ['killed'], 'nothing is left to do')
    })

    await t.test('after a pause, the days that can still be told are closed', async () => {
      at(midnight + 2 * dayMs - 1)
      await use('account:acme', 4)
      at(midnight + 4 * dayMs + 600_000)
      const lines = await exported('account', { fromDay: day + 2, toDay: day + 5 })
      t.match(lines, [{ id: '2026-11-02:account:acme', points: 4, final: true }])
      t.ok(await first.ledger.isClosed(day + 4), 'also those without a line')
      at(midnight + 9 * dayMs)
      t.strictSame(await exported('account', { fromDay: day + 6, toDay: day + 6 }), [])
      t.notOk(await first.ledger.isClosed(day + 5), 'too late')
    })

    await t.test('a day without keys is packed and read as it is', async (t) => {
      const figures = { ...noFigures(), requests: 1, points: 3 }
      const rows = [
        { quota: 'account:old', plan: 'pro', ...figures, keys: [] },
        { quota: 'key:k', plan: 'free', ...figures, keys: ownKey('key:k', figures) },
      ]
      const [chunk = Buffer.alloc(0)] = await packed(rows)
      t.strictSame(await unpacked(chunk), rows)
      const past = day - 1
      await first.ledger.close({ day: past, chunks: [chunk] })
      const lines = await exported('key', { fromDay: past, toDay: past })
      t.strictSame(
        lines.map(({ id, points }) => [id, points]),
        [
          ['2026-10-30:account:old:rest', 3],
          ['2026-10-30:key:k', 3],
        ],
      )
    })

    await t.test('a day is kept for 400 days', async () => {
      at(midnight + (ledgerDays - 1) * dayMs)
      t.equal((await exported()).length, final.length)
      at(midnight + ledgerDays * dayMs)
      t.strictSame(await exported(), [])
    })
  })
}
