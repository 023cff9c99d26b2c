import { readerOf, timeSchema, Type } from '../../../shared/schema.ts'
import type { NewNotice, Notice } from './notice.ts'
import type { NoticeType } from './notice-types.ts'

/** The most notices that are kept for an address; beyond them the oldest go first. */
export const mostQueued = 10_000

/** How long a notice is kept that didn't arrive. */
export const keptMs = 7 * 86_400_000

/** How long a notice that is handed out for a try is handed out no second time. A try is shorter. */
export const leaseMs = 10_000

/** How long queues, and what was told of states, are remembered that nobody uses. */
export const forgottenMs = 90 * 86_400_000

/** The queue of an address: its name in the store, and the version of its entry in the configuration, which a queue doesn't outlive. */
export type QueueName = Readonly<{ id: string; version: string }>

/** A notice in a queue, with the tries so far. */
export type Queued = Notice &
  Readonly<{
    tries: number
    lastTriedAtMs?: number
    /** When it is tried again; only after a try. */
    nextTryMs?: number
    why?: string
    isGivenUp?: boolean
  }>

/** The outcome of a try: it arrived, its address has ended, or what it is after one that failed. */
export type Outcome = 'delivered' | 'ended' | Queued

/** The latest state of a subject that was sent, and the process that sent it. */
export type Turn = Readonly<{ subject: string; state: string; by: string }>

/** A turn as it is stored; it is unfinished while its notice isn't added. */
export type NotedTurn = Turn & Readonly<{ isUnfinished: boolean }>

/** The queue of an address in numbers. */
export type QueueState = Readonly<{
  /** Notices that will be tried. */
  waiting: number
  /** Notices that were given up and are still kept. */
  givenUp: number
  /** Notices that had to go untried, because there were too many, or because the address has ended. */
  dropped: number
  endedAtMs: number | undefined
}>

/** A queue with its notices, the newest first and some at a time. */
export type SeenQueue = QueueState & Readonly<{ notices: AsyncIterable<readonly Queued[]> }>

/**
 * Notices for any number of gateways. All add them, and one at a time sends: it collects those that were added into queues, one
 * for each address. A notice may be sent twice if another one begins to send, under the same id, and is never lost.
 *
 * A store that can't be asked at the moment rejects with `StoreUnavailable`; then repeat the call.
 */
export interface NoticeStore {
  /** Adds a notice for queues, unless one with its id was collected lately. */
  add(notice: NewNotice, queues: readonly QueueName[]): Promise<void>
  /** Notes the state of a subject; '' is the usual one. Only if another one was noted, it adds the notice, if there is one. */
  turn(turn: Turn, notice: NewNotice | undefined, queues: readonly QueueName[]): Promise<void>
  /** The subjects whose state isn't the usual one, and the unfinished turns. */
  turns(): Promise<readonly NotedTurn[]>

  /**
   * Collects what was added, each event once: of those with one id the first, and none that yields behind another one with its
   * mark. Queues of ended addresses are left out. Resolves to the types of older notices that had to go.
   */
  collect(turns: readonly NotedTurn[]): Promise<readonly NoticeType[]>
  /** Hands out collected notices of a queue that are due, for `leaseMs`, the oldest first. */
  due(queue: QueueName, limit: number): Promise<readonly Queued[]>
  /** Ends a try. Nothing happens to a notice that is gone meanwhile. */
  settle(queue: QueueName, id: string, outcome: Outcome): Promise<void>
  /** Forgets what was read of the queues, because another process sends. */
  leave(): void

  /** Lets an address that has ended get notices again. */
  revive(queue: QueueName): Promise<void>
  look(queues: readonly QueueName[]): Promise<readonly SeenQueue[]>
}

/** The notice as it is queued first. */
export function queued({ id, type, atMs, body }: NewNotice): Queued {
  return { id, type, atMs, body, tries: 0 }
}

const ofNotice = {
  id: Type.String(),
  type: Type.String(),
  atMs: timeSchema,
  body: Type.String(),
}

const noticeFrom = readerOf(
  Type.Object({ ...ofNotice, tries: Type.Integer({ maximum: Number.MAX_SAFE_INTEGER }) }),
)

/** The notice of a stored text; empty if it is damaged. */
export function queuedFrom(text: string): Queued[] {
  const notice = noticeFrom(text)
  return notice ? [notice as Queued] : []
}

/** A notice that was added, with the queues for which it is meant. */
export type Added = NewNotice & Readonly<{ to: readonly QueueName[] }>

const addedNotice = Type.Object({
  ...ofNotice,
  rememberMs: timeSchema,
  mark: Type.Optional(Type.String()),
  to: Type.Array(Type.Object({ id: Type.String(), version: Type.String() })),
})

const addedNoticeFrom = readerOf(addedNotice)

export function addedFrom(text: string): Added[] {
  const notice = addedNoticeFrom(text)
  return notice ? [notice as Added] : []
}

/** What is stored of a subject: its state, and the notice of it until that is added. */
export const stateFrom = readerOf(
  Type.Object({
    state: Type.String(),
    by: Type.String(),
    notice: Type.Optional(addedNotice),
  }),
)
