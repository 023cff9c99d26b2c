import type { Clock } from '../../../../shared/clock.ts'
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
  type Outcome,
  type Queued,
  type QueueName,
  type QueueState,
  type Turn,
} from '../../records/notice-store.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import { keyedScript, type KeyedScript, type RedisOptions } from './script.ts'

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
export class RedisNotices implements NoticeStore {
  readonly #connection: Connection
  readonly #prefix: string
  readonly #most: number
  readonly #testClock: Clock | undefined
  readonly #put: KeyedScript
  readonly #handOut: KeyedScript
  readonly #end: KeyedScript

  constructor(options: RedisNoticeOptions) {
    const { connection, prefix, timeoutMs, most = mostQueued, testClock } = options
    this.#connection = connection
    this.#prefix = prefix
    this.#most = most
    this.#testClock = testClock
    this.#put = keyedScript({ connection, timeoutMs, file: 'notices-add.lua' })
    this.#handOut = keyedScript({ connection, timeoutMs, file: 'notices-due.lua' })
    this.#end = keyedScript({ connection, timeoutMs, file: 'notices-settle.lua' })
  }

  add(notice: NewNotice, queues: readonly QueueName[]): Promise<Added> {
    return this.turn(undefined, notice, queues)
  }

  async turn(
    turn: Turn | undefined,
    notice: NewNotice | undefined,
    queues: readonly QueueName[],
  ): Promise<Added> {
    const { subject = '', state = '', by = '' } = turn ?? {}
    const { id = '', mark = id, rememberMs = 0, yields = false } = notice ?? {}
    const item = notice ? JSON.stringify(queued(notice)) : ''
    const toldNames = [id, mark].map((each) => this.#name(`told:${each}`))
    const queueNames = queues.flatMap((each) => Object.values(this.#namesOf(each)))
    const [isNew, ...dropped] = (await this.#put(
      [this.#states, this.#addresses, ...toldNames, ...queueNames],
      this.#now,
      subject,
      state,
      by,
      id,
      item,
      rememberMs,
      yields ? '1' : '',
      this.#most,
      forgottenMs,
      ...queues.flatMap(({ id, version }) => [id, version]),
    )) as [unknown, ...NoticeType[]]
    return { isNew: Number(isNew) === 1, dropped }
  }

  async turns(): Promise<readonly Turn[]> {
    const states = await answerOf(this.#connection.hgetall(this.#states))
    return Object.entries(states).map(([subject, text]) => {
      const [state = '', by = ''] = text.split('\n')
      return { subject, state, by }
    })
  }

  async due(queue: QueueName, limit: number): Promise<readonly Queued[]> {
    const { items, due, age } = this.#namesOf(queue)
    const records = await this.#handOut([items, due, age], this.#now, limit, leaseMs, keptMs)
    return (records as string[]).flatMap(queuedFrom)
  }

  async settle(queue: QueueName, id: string, outcome: Outcome): Promise<void> {
    const { items, due, age } = this.#namesOf(queue)
    const item = 'after' in outcome ? JSON.stringify(outcome.after) : ''
    const delayMs = outcome.is === 'again' ? outcome.delayMs : 0
    const args = [this.#now, queue.id, queue.version, id, outcome.is, item, delayMs]
    await this.#end([items, due, age, this.#addresses], ...args)
  }

  async stateOf(queue: QueueName): Promise<QueueState> {
    const connection = this.#connection
    const { due, age } = this.#namesOf(queue)
    const [waiting, all, [dropped, ended]] = await Promise.all([
      answerOf(connection.zcard(due)),
      answerOf(connection.zcard(age)),
      answerOf(connection.hmget(this.#addresses, `dropped ${queue.id}`, `ended ${queue.id}`)),
    ])
    const [version, endedAtMs] = (ended ?? '').split(' ')
    const isEnded = version === queue.version
    return {
      waiting,
      givenUp: all - waiting,
      dropped: Number(dropped ?? 0),
      endedAtMs: isEnded ? Number(endedAtMs) : undefined,
    }
  }

  async *list(queue: QueueName): AsyncGenerator<Queued> {
    const connection = this.#connection
    const { items, age } = this.#namesOf(queue)
    for (let start = 0; ; start += pageSize) {
      const ids = await answerOf(connection.zrevrange(age, start, start + pageSize - 1))
      if (ids.length === 0) return
      const records = await answerOf(connection.hmget(items, ...ids))
      yield* records.flatMap(queuedFrom)
      await breathe()
    }
  }

  get #states(): string {
    return this.#name('states')
  }

  get #addresses(): string {
    return this.#name('addresses')
  }

  #namesOf({ id }: QueueName) {
    return {
      items: this.#name(`items:${id}`),
      due: this.#name(`due:${id}`),
      age: this.#name(`age:${id}`),
    }
  }

  #name(what: string): string {
    return `${this.#prefix}{notices}:${what}`
  }

  get #now(): number | '' {
    return this.#testClock?.() ?? ''
  }
}
