import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LiveSums } from '../../../gateway/front/counts/live-sums.ts'
import { outcomes } from '../../../gateway/front/counts/sum-rows.ts'
import { KeptDays } from '../../../gateway/office/live/kept-days.ts'
import type { Snapshot } from '../../../gateway/office/live/snapshot.ts'
import { LiveView } from '../../../gateway/office/live/view.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { startAdmin } from '../../support/admin.ts'
import { storeAt } from '../../support/filled-store.ts'
import { folderOf } from '../../support/folder.ts'
import { json } from '../../support/http.ts'
import { until } from '../../support/until.ts'

const startMs = Date.UTC(2026, 5, 15, 12, 0, 0)
const admitted = outcomes.indexOf('admitted')
const at = (minute: number): string => new Date(startMs + minute * 60_000).toISOString()

/** Gateways with one store; the test moves the clock of all. */
async function gatewaysOf(t: Test) {
  let ticks = 0
  const stores = await openStores(storeAt(join(folderOf(t), 'gateway.db')))
  t.teardown(() => stores.close())
  const { documents } = stores
  const begin = (id: string, { isWriting = true } = {}) => {
    const sums = new LiveSums({ clock: () => startMs + ticks, ticks: () => ticks })
    const kept = isWriting ? documents : { ...documents, put: async () => false }
    const days = new KeptDays({ documents: kept, id, sums, lastRefusal: () => 0 })
    const figures = () => ({
      ...{ id, name: id, nowMs: sums.nowMs, sinceMs: sums.sinceMs, second: sums.close() },
      ...{ refusals: [], refusal: 0, refusedKeys: [], routes: [], failures: [], targets: [] },
      ...{ isReachable: true, config: null },
    })
    return {
      days,
      count: (requests: number) => {
        for (let i = 0; i < requests; i++) sums.countUnmeasured(admitted, ticks)
      },
      asked: (view: LiveView) => {
        const before = view.question(61).known[id]
        const minutes = before ? [] : sums.minutes()
        return { ...figures(), minutes, seconds: sums.secondsAfter(before?.second ?? 0) }
      },
    }
  }
  type Gateway = ReturnType<typeof begin>
  return {
    begin,
    move: (minutes: number) => (ticks += minutes * 60_000),
    /** The day as one of them shows it, after these have answered. */
    dayOf: async (viewer: Gateway, view = new LiveView('day')) => {
      const answer = viewer.asked(view)
      if (!view.isBegun) {
        const days = await viewer.days.without(new Map([[answer.id, answer]]))
        view.take([answer], 1, startMs + ticks)
        view.takeDays(days)
      } else view.take([answer], 1, startMs + ticks)
      const { range } = view.snapshot(startMs + ticks, undefined)
      const rows = (range?.rows ?? []).map((row) => [
        (row.at * 1_000 - startMs) / 60_000,
        row.requests,
      ])
      return { view, since: range?.since, rows, requests: range?.sums.requests }
    },
  }
}

t.test('the day of a gateway that has ended goes on in the next one', async (t) => {
  const { begin, move, dayOf } = await gatewaysOf(t)
  const first = begin('a')
  move(2)
  first.count(7)
  move(5)
  first.count(5)
  move(1)
  await first.days.close()
  move(1)
  const second = begin('b')
  second.count(2)
  move(1)
  const { rows, since, requests } = await dayOf(second)
  t.equal(requests, 14)
  const spread = [0, 1, 2, 3, 4].map((minute) => [minute, minute < 2 ? 1 : minute === 3 ? 2 : 1])
  t.equal(rows.filter(([minute = 0]) => minute < 5).length, spread.length)
  const sumOf = (from: number, to: number) =>
    rows.reduce((sum, [minute = 0, n = 0]) => (minute >= from && minute < to ? sum + n : sum), 0)
  t.strictSame([sumOf(0, 5), sumOf(5, 9), sumOf(9, 11)], [7, 5, 2], 'each in its five minutes')
  t.notOk(
    rows.some(([, n = 0]) => n > 2),
    'spread evenly',
  )
  t.equal(since, at(0), 'nothing is missing')
  await second.days.close()
})

t.test('what a killed gateway had counted after it wrote is missing, which is said', async (t) => {
  const { begin, move, dayOf } = await gatewaysOf(t)
  begin('a')
  move(1)
  const next = begin('b')
  move(1)
  t.equal((await dayOf(next)).since, at(2), 'not known before now')
  move(8)
  t.equal((await dayOf(next)).since, at(5), 'five minutes after its last figures')
  await next.days.close()
})

t.test('a gateway that answers late is counted once', async (t) => {
  const { begin, move, dayOf } = await gatewaysOf(t)
  const late = begin('a')
  late.count(3)
  move(1)
  await late.days.close()
  const shown = begin('b')
  const { view, requests } = await dayOf(shown)
  t.equal(requests, 3)
  late.count(4)
  move(1)
  t.equal((await dayOf(late, view)).requests, 7)
  await shown.days.close()
})

t.test('a gateway without a store shows its own day', async (t) => {
  const { begin, move, dayOf } = await gatewaysOf(t)
  move(1)
  const alone = begin('a', { isWriting: false })
  move(1)
  await alone.days.close()
  t.strictSame(await alone.days.without(new Map()), [])
  t.equal((await dayOf(alone)).since, at(1))
})

t.test('Now shows the requests of before a restart', async (t) => {
  const store = `file: ${join(folderOf(t), 'kept.db')}`
  const beganAtMs = Date.now()
  let headers = {}
  await t.test('the gateway that ends', async (t) => {
    const { gateway } = await startAdmin(t, { store })
    ;({ headers } = await gateway.key())
    for (let i = 0; i < 3; i++) await gateway.call('GET', '/v1/pets', undefined, headers)
  })
  await t.test('the next one', async (t) => {
    const { ask, gateway } = await startAdmin(t, { store })
    await gateway.call('GET', '/v1/pets', undefined, headers)
    const range = async () => (json(await ask('GET', '/admin/live?range=day')) as Snapshot).range
    await until(async () => (await range())?.sums.requests === 4)
    const sinceMs = Date.parse((await range())?.since ?? '')
    t.ok(sinceMs >= beganAtMs && sinceMs < beganAtMs + 5_000, 'since the first of them began')
  })
})
