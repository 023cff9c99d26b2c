import type { Test } from 'tap'
import type { Clock } from '../../shared/clock.ts'
import { noticeOf, type NewNotice } from '../../gateway/front/records/notice.ts'
import {
  keptMs,
  leaseMs,
  type NoticeStore,
  type Queued,
} from '../../gateway/front/records/notice-store.ts'
import type { NoticeType } from '../../gateway/front/records/notice-types.ts'

/** The most notices of a queue in a store that a test opens: more than are in a page. */
export const mostOfTest = 600

type Open = (t: Test, clock: Clock) => Promise<{ first: NoticeStore; second: NoticeStore }>

/** The contract of `NoticeStore`. It runs with two views of each technology's shelves, by a clock of the test's. */
export function noticeStoreContract(t: Test, name: string, open: Open): Promise<unknown> {
  return t.test(`a store of notices: ${name}`, async (t) => {
    let nowMs = 1_800_000_000_000
    const { first, second } = await open(t, () => nowMs)
    const [zoo, farm] = ['zoo', 'farm'].map((id) => ({ id: `{${id}} of`, version: 'one' }))
    if (!zoo || !farm) throw new Error('two were named')
    const notice = (part: string | number, more: Partial<NewNotice> = {}) => {
      const type: NoticeType = 'key.banned'
      return noticeOf({ type, parts: [part], atMs: nowMs, data: { part } }, more)
    }
    const bodies = (found: readonly Queued[]) => found.map(({ body }) => body)
    const listed = async (store: NoticeStore, queue = zoo) => {
      const found: string[] = []
      const [seen] = await store.look([queue])
      for await (const some of seen?.notices ?? []) found.push(...some.map(({ id }) => id))
      return found
    }
    const stateIn = async (store: NoticeStore, queue = zoo) => {
      const [seen] = await store.look([queue])
      if (!seen) throw new Error('one was asked for')
      const { waiting, givenUp, dropped, endedAtMs } = seen
      return { waiting, givenUp, dropped, endedAtMs }
    }
    /** Lets a view send, and the other one not any more. */
    const sender = async (view: NoticeStore) => {
      for (const each of [first, second]) if (each !== view) each.leave()
      const dropped = await view.collect(await view.turns())
      return { view, dropped }
    }
    const dueAt = async (view: NoticeStore, queue = zoo, limit = 4) =>
      (await sender(view)).view.due(queue, limit)

    await t.test('one event is one notice, whoever adds it', async (t) => {
      const event = notice('a')
      await Promise.all([first, second, first].map((store) => store.add(event, [zoo, farm])))
      t.strictSame(await listed(second), [event.id], 'listed before anybody sends')
      t.match(await stateIn(second, zoo), { waiting: 1 })
      for (const queue of [zoo, farm]) {
        t.strictSame(bodies(await dueAt(first, queue)), [event.body], 'handed out')
        t.strictSame(await dueAt(first, queue), [], 'once')
      }
      t.strictSame(await listed(second), [event.id])
      nowMs += leaseMs + 1
      t.equal((await dueAt(first)).length, 1, 'and again if nobody settles it')
      t.equal((await dueAt(second)).length, 1, 'or another one sends')
      t.equal((await dueAt(second, farm)).length, 1)
      for (const queue of [zoo, farm]) await second.settle(queue, event.id, 'delivered')
      nowMs += leaseMs + 1
      for (const view of [first, second]) t.strictSame(await dueAt(view), [])
      await second.add(event, [zoo])
      t.strictSame(await listed(first), [], 'remembered after it has arrived')
      t.match(await stateIn(first, zoo), { waiting: 0, givenUp: 0, dropped: 0 })
      nowMs += event.rememberMs + 1
    })

    await t.test('one that yields comes after none of its mark', async (t) => {
      const mark = 'key:a 20000 80'
      const yielding = { mark, yields: true }
      for (const each of [notice('m1', { mark }), notice('m2', yielding), notice('m3', { mark })]) {
        await second.add(each, [zoo])
      }
      await first.add(notice('m4', { ...yielding, mark: 'key:a 20000 95' }), [zoo])
      const handed = await dueAt(first)
      t.strictSame(bodies(handed), bodies(['m1', 'm3', 'm4'].map((part) => queuedOf(notice(part)))))
      for (const { id } of handed) await first.settle(zoo, id, 'delivered')
      await second.add(notice('m5', yielding), [zoo])
      t.strictSame(await dueAt(second), [], 'nor later')
    })

    await t.test('a state is told when it changes', async (t) => {
      const turn = (store: NoticeStore, state: string, part?: string) => {
        const change = { subject: 'target a b', state, by: `by ${part}` }
        return store.turn(change, part === undefined ? undefined : notice(part), [farm])
      }
      const told = async () => {
        const handed = await dueAt(first, farm)
        for (const { id } of handed) await first.settle(farm, id, 'delivered')
        return handed.map(({ body }) => String(JSON.parse(body).data.part))
      }
      await turn(first, '', 's0')
      t.strictSame(await told(), [], 'the usual state is no news')
      await Promise.all([turn(first, 'out', 's1'), turn(second, 'out', 's2')])
      t.match(await told(), [/^s[12]$/])
      t.match(await second.turns(), [{ subject: 'target a b', state: 'out', by: /^by s[12]$/ }])
      await turn(second, '', 's3')
      t.strictSame(await first.turns(), [])
      await turn(first, 'out', 's4')
      t.strictSame(await told(), ['s3', 's4'])
      await turn(second, 'noted')
      t.strictSame(await told(), [], 'without a notice it is only noted')
      t.match(await first.turns(), [{ state: 'noted' }])
      await turn(second, '')
      t.strictSame(await first.turns(), [])
    })

    await t.test(
      'a try that failed comes again, and one that is given up stays listed',
      async (t) => {
        const event = notice('r')
        await first.add(event, [zoo])
        const [before] = await dueAt(second)
        if (!before) throw new Error('it is due')
        const try1 = { ...before, tries: 1, lastTriedAtMs: nowMs, why: 'answered 500' }
        const after = { ...try1, nextTryMs: nowMs + 60_000 }
        await second.settle(zoo, event.id, after)
        nowMs += 59_999
        for (const view of [second, first]) t.strictSame(await dueAt(view), [])
        nowMs += 1
        t.strictSame(await dueAt(first), [after])
        const over = { ...after, tries: 2, isGivenUp: true }
        await first.settle(zoo, event.id, over)
        nowMs += leaseMs + 1
        for (const view of [first, second]) t.strictSame(await dueAt(view), [])
        t.strictSame(await listed(second), [event.id])
        t.match(await stateIn(second, zoo), { waiting: 0, givenUp: 1, dropped: 0 })
        nowMs += keptMs
        const later = notice('later')
        await first.add(later, [zoo])
        t.strictSame(
          (await dueAt(second)).map(({ id }) => id),
          [later.id],
        )
        t.strictSame(await listed(second), [later.id], 'for some days')
        await second.settle(zoo, event.id, after)
        t.equal((await listed(second)).length, 1, 'a notice that is gone stays gone')
      },
    )

    await t.test('an address that ends gets nothing, until its entry changes', async (t) => {
      const [last] = await listed(first)
      await first.add(notice('e1'), [zoo])
      await sender(second)
      await second.settle(zoo, last ?? '', 'ended')
      const ended = { waiting: 0, givenUp: 0, dropped: 2, endedAtMs: nowMs }
      t.strictSame(await stateIn(first, zoo), ended)
      await first.add(notice('e2'), [zoo, farm])
      for (const view of [second, first]) t.strictSame(await dueAt(view), [])
      t.strictSame(await listed(first), [])
      t.strictSame(await listed(first, farm), [notice('e2').id], 'others do')
      const changed = { ...zoo, version: 'two' }
      t.equal((await stateIn(first, changed)).endedAtMs, undefined)
      await first.add(notice('e3'), [changed])
      t.strictSame(
        (await dueAt(first, changed)).map(({ id }) => id),
        [notice('e3').id],
      )
      await first.settle(changed, notice('e3').id, 'delivered')
      await second.revive(zoo)
      t.equal((await stateIn(first, zoo)).endedAtMs, undefined)
      await first.due(zoo, 0)
      await first.add(notice('e4'), [zoo])
      t.equal((await dueAt(first)).length, 1, 'or until it is tried with success')
      t.strictSame(await listed(second), [notice('e4').id])
    })

    await t.test('of too many, the oldest go', async (t) => {
      const full = { id: 'full', version: 'one' }
      for (let i = 0; i < mostOfTest; i++) await first.add(notice(i), [full])
      t.strictSame((await sender(first)).dropped, [])
      await first.due(full, 0)
      t.match(await stateIn(second, full), { waiting: mostOfTest, dropped: 0 })
      await second.add(notice('last'), [full])
      t.strictSame((await sender(second)).dropped, ['key.banned'])
      t.strictSame(
        (await second.due(full, 1)).map(({ id }) => id),
        [notice(1).id],
      )
      await second.due(full, 0)
      t.match(await stateIn(first, full), { waiting: mostOfTest, dropped: 1 })
      const all = Array.from({ length: mostOfTest }, (_, i) => notice(i).id).slice(1)
      t.strictSame(await listed(first, full), [...all, notice('last').id].reverse(), 'newest first')
    })
  })
}

function queuedOf({ id, type, atMs, body }: NewNotice): Queued {
  return { id, type, atMs, body, tries: 0 }
}
