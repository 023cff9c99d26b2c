import t from 'tap'
import { noticeOf } from '../../../gateway/front/records/notice.ts'
import type { NoticeStore } from '../../../gateway/front/records/notice-store.ts'
import { noticesOn } from '../../../gateway/front/records/notices-on.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedDocuments } from '../../../gateway/front/stores/embedded/documents.ts'
import { embeddedLists } from '../../../gateway/front/stores/embedded/lists.ts'

const atMs = 1_800_000_000_000
const queue = { id: 'zoo', version: 'one' }

const noticed = (part: string) =>
  noticeOf({ type: 'key.banned', parts: [part], atMs, data: { part } })

/** A process that is killed at a call of a shelf: it makes so many, and no more. */
class Killed extends Error {}

function killedAfter<Shelf extends object>(shelf: Shelf, calls: { left: number }): Shelf {
  return new Proxy(shelf, {
    get(of, name) {
      const method: unknown = Reflect.get(of, name)
      return (...args: unknown[]): unknown => {
        if (calls.left-- <= 0) throw new Killed()
        return Reflect.apply(method as () => unknown, of, args)
      }
    },
  })
}

/** What arrives at the address while a process sends. */
async function send(notices: NoticeStore, arrived: string[]): Promise<void> {
  await notices.collect(await notices.turns())
  for (let due = await notices.due(queue, 4); due.length > 0; due = await notices.due(queue, 4)) {
    for (const { id } of due) {
      arrived.push(id)
      await notices.settle(queue, id, 'delivered')
    }
  }
}

t.test('wherever a gateway is killed, no notice is lost that was written', async (t) => {
  let most = 0
  let calls = 0
  for (let isKilled = true; isKilled; calls++) {
    const database = openGatewayFile(':memory:')
    const clock = () => atMs
    const [lists, documents] = [embeddedLists(database, clock), embeddedDocuments(database, clock)]
    const left = { left: calls }
    const mortal = noticesOn(killedAfter(lists, left), killedAfter(documents, left), clock)
    const [added, turned, back] = [noticed('added'), noticed('turned'), noticed('back')]
    const written: string[] = []
    const arrived: string[] = []
    isKilled = false
    try {
      await mortal.add(added, [queue])
      written.push(added.id)
      await mortal.turn({ subject: 'a target', state: 'out', by: 'it' }, turned, [queue])
      written.push(turned.id)
      await send(mortal, arrived)
      await mortal.turn({ subject: 'a target', state: '', by: 'it' }, back, [queue])
      written.push(back.id)
      await send(mortal, arrived)
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      isKilled = true
    }
    // Of a state that is noted, nobody else would make a notice.
    const [noted] = (await documents.list('notices:states')).documents
    if (noted) written.push(String(noted.body).includes('"out"') ? turned.id : back.id)
    await send(noticesOn(lists, documents, clock), arrived)
    const lost = written.filter((id) => !arrived.includes(id))
    t.strictSame(lost, [], `killed after ${calls} calls`)
    most = Math.max(
      most,
      ...[added, turned, back].map(({ id }) => arrived.filter((each) => each === id).length),
    )
    database.close()
  }
  t.ok(calls > 30, `${calls} places`)
  t.equal(most, 2, 'some twice, because the process was killed before it wrote that they arrived')
})
