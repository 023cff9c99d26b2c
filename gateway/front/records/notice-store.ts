import { readerOf, timeSchema, Type } from '../../../shared/schema.ts'
import type { NewNotice, Notice } from './notice.ts'
import type { NoticeType } from './notice-types.ts'

/** The most notices that are kept for an address; beyond them the oldest go first. */
export const mostQueued = 10_000

/** How long a notice is kept that didn't arrive. */
export const keptMs = 7 * 86_400_000

/** How long a notice that is handed out for a try is handed to nobody else. A try is shorter. */
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

/** The outcome of a try: it arrived, comes again, is given up, or its address has ended; or an ended address is tried again. */
export type Outcome =
  | Readonly<{ is: 'delivered' | 'ended' | 'revived' }>
  | Readonly<{ is: 'again'; after: Queued; delayMs: number }>
  | Readonly<{ is: 'given up'; after: Queued }>

/** Whether a notice is new, and the types of older ones that had to go. */
export type Added = Readonly<{ isNew: boolean; dropped: readonly NoticeType[] }>

/** The latest state of a subject that was sent, and the process that sent it. */
export type Turn = Readonly<{ subject: string; state: string; by: string }>

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

/**
 * Queues of notices, one for each address, for any number of gateways. Each method is one atomic step, and time is the
 * store's. A store that can't be asked at the moment rejects with `StoreUnavailable`.
 */
export interface NoticeStore {
  /** Adds a notice to queues, unless one with its id was added lately. Queues of ended addresses are left out. */
  add(notice: NewNotice, queues: readonly QueueName[]): Promise<Added>
  /** Notes the state of a subject; '' is the usual one. Only if another one was noted, it adds the notice, if there is one. */
  turn(turn: Turn, notice: NewNotice | undefined, queues: readonly QueueName[]): Promise<Added>
  /** The subjects whose state isn't the usual one. */
  turns(): Promise<readonly Turn[]>
  /** Hands out notices of a queue that are due, for `leaseMs`, the longest due first. */
  due(queue: QueueName, limit: number): Promise<readonly Queued[]>
  /** Ends a try. Nothing happens to a notice that is gone meanwhile. */
  settle(queue: QueueName, id: string, outcome: Outcome): Promise<void>
  stateOf(queue: QueueName): Promise<QueueState>
  /** The notices of a queue, the newest first. */
  list(queue: QueueName): AsyncIterable<Queued>
}

/** The notice as it is stored first. */
export function queued({ id, type, atMs, body }: NewNotice): Queued {
  return { id, type, atMs, body, tries: 0 }
}

/** The notice of a stored text; empty if it is damaged. */
export function queuedFrom(text: string | null | undefined): Queued[] {
  const notice = noticeFrom(text)
  return notice ? [notice as Queued] : []
}

const noticeFrom = readerOf(
  Type.Object({
    id: Type.String(),
    type: Type.String(),
    atMs: timeSchema,
    body: Type.String(),
    tries: Type.Integer({ maximum: Number.MAX_SAFE_INTEGER }),
  }),
)
