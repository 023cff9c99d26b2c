import { breathe } from '../../../../shared/breathe.ts'
import type { NewNotice } from '../../records/notice.ts'
import type { NoticeType } from '../../records/notice-types.ts'
import {
  forgottenMs,
  keptMs,
  leaseMs,
  mostQueued,
  queued,
  queuedFrom,
  type Added,
  type NoticeStore,
  type QueueName,
  type Turn,
} from '../../records/notice-store.ts'
import { answerOf } from './answer.ts'
import { keyedScript, type RedisOptions } from './script.ts'

/** Notices that are read per call. */
const pageSize = 500

export type RedisNoticeOptions = RedisOptions &
  Readonly<{
    /** The most notices of a queue. */
    most?: number
  }>

/**
 * Notices in Redis, all in one slot of a Cluster: of each queue a hash of the notices, and two sorted sets of their ids, by
 * the time of the next try and by age.
 */
export function redisNotices(options: RedisNoticeOptions): NoticeStore {
  const { connection, prefix, timeoutMs, most = mostQueued, testClock } = options
  const name = (what: string): string => `${prefix}{notices}:${what}`
  const [states, addresses] = [name('states'), name('addresses')]
  const put = keyedScript({ connection, timeoutMs, file: 'notices-add.lua' })
  const handOut = keyedScript({ connection, timeoutMs, file: 'notices-due.lua' })
  const end = keyedScript({ connection, timeoutMs, file: 'notices-settle.lua' })
  const now = (): number | '' => testClock?.() ?? ''
  const namesOf = ({ id }: QueueName) => ({
    items: name(`items:${id}`),
    due: name(`due:${id}`),
    age: name(`age:${id}`),
  })

  async function change(
    turn: Turn | undefined,
    notice: NewNotice | undefined,
    queues: readonly QueueName[],
  ): Promise<Added> {
    const { subject = '', state = '', by = '' } = turn ?? {}
    const { id = '', mark = id, rememberMs = 0, yields = false } = notice ?? {}
    const item = notice ? JSON.stringify(queued(notice)) : ''
    const toldNames = [id, mark].map((each) => name(`told:${each}`))
    const [isNew, ...dropped] = (await put(
      [states, addresses, ...toldNames, ...queues.flatMap((each) => Object.values(namesOf(each)))],
      subject,
      state,
      by,
      id,
      item,
      rememberMs,
      yields ? '1' : '',
      most,
      forgottenMs,
      now(),
      ...queues.flatMap(({ id, version }) => [id, version]),
    )) as [unknown, ...NoticeType[]]
    return { isNew: Number(isNew) === 1, dropped }
  }

  return {
    add: (notice, queues) => change(undefined, notice, queues),
    turn: change,

    async turns() {
      return Object.entries(await answerOf(connection.hgetall(states))).map(([subject, text]) => {
        const [state = '', by = ''] = text.split('\n')
        return { subject, state, by }
      })
    },

    async due(queue, limit) {
      const { items, due, age } = namesOf(queue)
      const found = await handOut([items, due, age], limit, leaseMs, keptMs, now())
      return (found as string[]).flatMap(queuedFrom)
    },

    async settle(queue, id, outcome) {
      const { items, due, age } = namesOf(queue)
      const item = 'after' in outcome ? JSON.stringify(outcome.after) : ''
      const delayMs = outcome.is === 'again' ? outcome.delayMs : 0
      const args = [queue.id, queue.version, id, outcome.is, item, delayMs, now()]
      await end([items, due, age, addresses], ...args)
    },

    async stateOf(queue) {
      const { due, age } = namesOf(queue)
      const [waiting, all, [dropped, ended]] = await Promise.all([
        answerOf(connection.zcard(due)),
        answerOf(connection.zcard(age)),
        answerOf(connection.hmget(addresses, `dropped ${queue.id}`, `ended ${queue.id}`)),
      ])
      const [version, endedAtMs] = (ended ?? '').split(' ')
      const isEnded = version === queue.version
      return {
        waiting,
        givenUp: all - waiting,
        dropped: Number(dropped ?? 0),
        endedAtMs: isEnded ? Number(endedAtMs) : undefined,
      }
    },

    async *list(queue) {
      const { items, age } = namesOf(queue)
      for (let start = 0; ; start += pageSize) {
        const ids = await answerOf(connection.zrevrange(age, start, start + pageSize - 1))
        if (ids.length === 0) return
        const found = await answerOf(connection.hmget(items, ...ids))
        yield* found.flatMap(queuedFrom)
        await breathe()
      }
    },
  }
}
