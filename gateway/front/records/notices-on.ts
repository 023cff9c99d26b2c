import type { Clock } from '../../../shared/clock.ts'
import type { Documents } from '../shelves/documents.ts'
import { listStart, type List, type Lists } from '../shelves/lists.ts'
import { digest } from './notice.ts'
import { aboutQueue, NoticeQueue, queuedIn, reviveQueue } from './notice-queue.ts'
import {
  addedFrom,
  forgottenMs,
  keptMs,
  mostQueued,
  queued,
  stateFrom,
  type Added,
  type NotedTurn,
  type NoticeStore,
  type QueueName,
  type SeenQueue,
} from './notice-store.ts'
import type { NoticeType } from './notice-types.ts'

/** Notices that were added, until they are collected. */
export const noticeList: List = {
  ...{ name: 'notices', most: mostQueued, keptMs, outlivesPowerCut: false },
}

/** The folder of states that aren't the usual ones, by subject. */
const states = 'notices:states'

/**
 * Notices on shelves of lists and documents: a list of those that were added, which the process that sends collects into queues;
 * `most` is the most of a queue.
 */
export function noticesOn(
  lists: Lists,
  documents: Documents,
  clock: Clock,
  most = mostQueued,
): NoticeStore {
  const queues = new Map<string, Promise<NoticeQueue>>()

  const queueOf = (id: string): Promise<NoticeQueue> => {
    const opened = queues.get(id) ?? NoticeQueue.opened({ documents, clock, id, most })
    queues.set(id, opened)
    opened.catch(() => queues.delete(id))
    return opened
  }

  const append = (notice: Added) =>
    lists.add(noticeList, [{ key: '', body: JSON.stringify(notice) }])

  /** The notices that were added and not collected yet, the oldest first. */
  const added = async (cursor = listStart) => {
    const { entries, cursor: end } = await lists.since(noticeList, cursor)
    return { notices: entries.flatMap(({ body }) => addedFrom(body)), end, isLast: end === cursor }
  }

  /** Adds the notice that the document of a state carries, and takes it from there. */
  const finish = async (subject: string): Promise<void> => {
    const document = await documents.get(states, subject)
    const { notice, ...turn } = stateFrom(document && String(document.body)) ?? noState
    if (!document || (!notice && turn.state !== '')) return
    if (notice) await append(notice as Added)
    const options = { keptMs: turn.state === '' ? 0 : forgottenMs, version: document.version }
    await documents.put(states, subject, JSON.stringify(turn), options)
  }

  return {
    async add(notice, queues) {
      const names = namesOf(notice)
      const found = await Promise.all(names.map((name) => documents.get(toldFolder(name), name)))
      if (found.every((document) => !document)) await append({ ...notice, to: queues })
    },

    async turn({ subject, state, by }, notice, queues) {
      for (;;) {
        const document = await documents.get(states, subject)
        const before = stateFrom(document && String(document.body)) ?? noState
        if (before.state === state) return
        if (before.notice) await finish(subject)
        else {
          const body = JSON.stringify({ state, by, notice: notice && { ...notice, to: queues } })
          const options = { keptMs: forgottenMs, version: document?.version ?? 0 }
          if (await documents.put(states, subject, body, options)) return finish(subject)
        }
      }
    },

    async turns() {
      const found = await documents.list(states)
      return found.documents.flatMap(({ name, body }): NotedTurn[] => {
        const { notice, ...turn } = stateFrom(String(body)) ?? noState
        const isUnfinished = notice !== undefined
        return turn.state === '' && !isUnfinished ? [] : [{ subject: name, ...turn, isUnfinished }]
      })
    },

    async collect(turns) {
      const dropped: NoticeType[] = []
      for (const { subject, isUnfinished } of turns) if (isUnfinished) await finish(subject)
      for (;;) {
        const { notices, end, isLast } = await added()
        if (isLast) return dropped
        dropped.push(...(await taken(notices)))
        await lists.forget(noticeList, end)
      }
    },

    due: async ({ id, version }, limit) => (await queueOf(id)).due(version, limit),
    settle: async (queue, id, outcome) =>
      (await queueOf(queue.id)).settle(queue.version, id, outcome),
    leave: () => queues.clear(),
    revive: ({ id }) => reviveQueue(documents, id),

    async look(queues) {
      const { notices } = await added()
      return Promise.all(queues.map((queue) => lookAt(queue, notices)))
    },
  }

  async function lookAt({ id, version }: QueueName, notices: readonly Added[]): Promise<SeenQueue> {
    const about = await aboutQueue(documents, id)
    const { waiting, givenUp, dropped, ended } = about
    const ofQueue = notices.filter(({ to }) => to.some((queue) => queue.id === id))
    const first = [...new Map(ofQueue.map((notice) => [notice.id, notice])).values()].reverse()
    return {
      ...{ waiting: waiting + first.length, givenUp, dropped },
      endedAtMs: ended?.version === version ? ended.atMs : undefined,
      notices: queuedIn(documents, id, about, first.map(queued)),
    }
  }

  /** Puts notices into their queues. */
  async function taken(notices: readonly Added[]): Promise<readonly NoticeType[]> {
    const dropped: NoticeType[] = []
    const told = new Map<string, number>()
    for (const notice of notices) {
      if (await isTold(notice, told)) continue
      for (const { id, version } of notice.to) {
        const queue = await queueOf(id)
        if (!queue.isEnded(version)) dropped.push(...(await queue.add(notice)))
      }
      const { id, mark = id, rememberMs } = notice
      told.set(id, rememberMs).set(mark, rememberMs)
    }
    // At last, because what was told is collected no more.
    const put = ([name, keptMs]: readonly [string, number]) =>
      documents.put(toldFolder(name), name, '', { keptMs })
    await Promise.all([...told].map(put))
    return dropped
  }

  /** Whether an event was collected already, or just before: in `told`. Folders are listed, which removes what has ended. */
  async function isTold(notice: Added, told: ReadonlyMap<string, number>): Promise<boolean> {
    for (const name of namesOf(notice)) {
      if (told.has(name)) return true
      const found = await documents.list(toldFolder(name))
      if (found.documents.some((document) => document.name === name)) return true
    }
    return false
  }
}

const noState = { state: '', by: '', notice: undefined }

/** The names that mustn't have been told before a notice. */
function namesOf({ id, mark = id, yields = false }: Pick<Added, 'id' | 'mark' | 'yields'>) {
  return yields ? [id, mark] : [id]
}

/** The folder of names that were told: one of 64, so that each is small. */
function toldFolder(name: string): string {
  return `notices:told:${digest([name]).charAt(0)}`
}
