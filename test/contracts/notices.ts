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

/** The most notices of a queue in a store that a test opens. */
export const mostOfTest = 50

type Open = (t: Test, clock: Clock) => Promise<{ first: NoticeStore; second: NoticeStore }>

/** The contract of `NoticeStore`. Each adapter runs it with two views of one store, by a clock of the test's. */
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
      for await (const { id } of store.list(queue)) found.push(id)
      return found
    }

    await t.test('one event is one notice, whoever adds it', async (t) => {
      const event = notice('a')
      const answers = await Promise.all(
        [first, second, first].map((store) => store.add(event, [zoo, farm])),
      )
      t.strictSame(answers.map(({ isNew }) => isNew).sort(), [false, false, true])
      for (const queue of [zoo, farm]) {
        const handed = await Promise.all([first, second].map((store) => store.due(queue, 4)))
        t.strictSame(bodies(handed.flat()), [event.body], 'handed out once')
      }
      nowMs += leaseMs + 1
      t.equal((await second.due(zoo, 4)).length, 1, 'and again if nobody settles it')
      for (const queue of [zoo, farm]) await first.settle(queue, event.id, { is: 'delivered' })
      nowMs += leaseMs + 1
      t.strictSame(await first.due(zoo, 4), [])
      t.notOk((await second.add(event, [zoo])).isNew, 'remembered after it has arrived')
      nowMs += event.rememberMs + 1
    })

    await t.test('one that yields comes after none of its mark', async (t) => {
      const mark = 'key:a 20000 80'
      t.ok((await first.add(notice('m1', { mark }), [])).isNew)
      t.notOk((await second.add(notice('m2', { mark, yields: true }), [])).isNew)
      t.ok((await second.add(notice('m2', { mark }), [])).isNew, 'one that doesn’t is added')
      const other = { mark: 'key:a 20000 95', yields: true }
      t.ok((await first.add(notice('m3', other), [])).isNew)
    })

    await t.test('a state is told when it changes', async (t) => {
      const turn = (store: NoticeStore, state: string, part?: string) => {
        const change = { subject: 'target a b', state, by: `by ${part}` }
        return store.turn(change, part === undefined ? undefined : notice(part), [farm])
      }
      t.notOk((await turn(first, '', 's0')).isNew, 'the usual state is no news')
      const outs = await Promise.all([turn(first, 'out', 's1'), turn(second, 'out', 's2')])
      t.strictSame(outs.map(({ isNew }) => isNew).sort(), [false, true])
      t.match(await second.turns(), [{ subject: 'target a b', state: 'out', by: /^by s[12]$/ }])
      t.ok((await turn(second, '', 's3')).isNew)
      t.strictSame(await first.turns(), [])
      t.notOk((await turn(second, 'noted')).isNew, 'without a notice it is only noted')
      t.match(await first.turns(), [{ state: 'noted' }])
      const due = await first.due(farm, 9)
      t.equal(due.length, 2)
      for (const { id } of due) await first.settle(farm, id, { is: 'delivered' })
    })

    await t.test(
      'a try that failed comes again, and one that is given up stays listed',
      async (t) => {
        const event = notice('r')
        await first.add(event, [zoo])
        const [before] = await second.due(zoo, 4)
        if (!before) throw new Error('it is due')
        const after = { ...before, tries: 1, lastTriedAtMs: nowMs, why: 'answered 500' }
        await second.settle(zoo, event.id, { is: 'again', after, delayMs: 60_000 })
        nowMs += 59_999
        t.strictSame(await first.due(zoo, 4), [])
        nowMs += 1
        t.strictSame(await first.due(zoo, 4), [after])
        const over = { ...after, tries: 2, isGivenUp: true }
        await first.settle(zoo, event.id, { is: 'given up', after: over })
        nowMs += leaseMs + 1
        t.strictSame(await first.due(zoo, 4), [])
        t.strictSame(await listed(second), [event.id])
        t.match(await second.stateOf(zoo), { waiting: 0, givenUp: 1, dropped: 0 })
        nowMs += keptMs
        await first.add(notice('later'), [zoo])
        await first.due(zoo, 0)
        await first.due(zoo, 4)
        t.strictSame(await listed(second), [notice('later').id], 'for some days')
        const late = { is: 'again', after, delayMs: 1 } as const
        await first.settle(zoo, event.id, late)
        t.equal((await listed(second)).length, 1, 'a notice that is gone stays gone')
      },
    )

    await t.test('an address that ends gets nothing, until its entry changes', async (t) => {
      const [last] = await listed(first)
      await first.add(notice('e1'), [zoo])
      await second.settle(zoo, last ?? '', { is: 'ended' })
      const ended = { waiting: 0, givenUp: 0, dropped: 2, endedAtMs: nowMs }
      t.strictSame(await first.stateOf(zoo), ended)
      await first.add(notice('e2'), [zoo, farm])
      t.strictSame(await listed(first), [])
      t.strictSame(await listed(first, farm), [notice('e2').id], 'others do')
      const changed = { ...zoo, version: 'two' }
      t.equal((await first.stateOf(changed)).endedAtMs, undefined)
      await first.add(notice('e3'), [changed])
      t.strictSame(await listed(first), [notice('e3').id])
      await first.settle(zoo, 'any', { is: 'revived' })
      await first.add(notice('e4'), [zoo])
      t.equal((await listed(first)).length, 2, 'or until it is tried with success')
    })

    await t.test('of too many, the oldest goes', async (t) => {
      const full = { id: 'full', version: 'one' }
      for (let i = 0; i < mostOfTest; i++) await first.add(notice(i), [full])
      nowMs += 1
      t.strictSame(await second.add(notice('last'), [full]), {
        ...{ isNew: true, dropped: ['key.banned'] },
      })
      t.match(await first.stateOf(full), { waiting: mostOfTest, dropped: 1 })
      const [newest] = await listed(first, full)
      t.equal(newest, notice('last').id, 'the newest is listed first')
    })
  })
}
