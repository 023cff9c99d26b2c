import type { Database } from '../../../shared/sqlite.ts'
import { dayMs, type Conduct, type QuotaState } from '../../limits/step.ts'

/** How long an order of an operator is kept for a gateway that doesn't run. */
const orderMs = 7 * dayMs

/** What is kept of bans that have ended, so that the next one can follow on. */
const rememberedMs = 2 * dayMs

type Saved = Omit<QuotaState, 'conducts'> & { conducts: [string, Conduct][] }

/** What a command line asks the gateway that has the counters in memory to do. */
export type Order = {
  seq: number
  what: 'reset' | 'ban' | 'lift'
  quota: string
  key: string
  untilMs: number
}

/** Counters and orders as they stand in the gateway's file. */
export type QuotaFile = Readonly<{
  read: (quota: string) => QuotaState | undefined
  all: () => [string, QuotaState][]
  /** Writes counters and, where it is given, up to which order all of them follow, in one step. */
  save: (
    states: readonly [string, QuotaState][],
    doneSeq: number | undefined,
    nowMs: number,
  ) => void
  /** Up to which order the counters in the file have followed. */
  doneSeq: () => number
  ordersSince: (seq: number) => Order[]
  leave: (order: Omit<Order, 'seq'>, nowMs: number) => void
  /** Another number after each change by another process. */
  version: () => unknown
}>

export function quotaFile(database: Database): QuotaFile {
  const one = database.prepare<string, string>('SELECT state FROM quotas WHERE quota = ?').pluck()
  const all = database.prepare<[], [string, string]>('SELECT quota, state FROM quotas').raw()
  const done = database.prepare<[], number>('SELECT seq FROM ordersDone').pluck()
  const since = database.prepare<number, Order>('SELECT * FROM orders WHERE seq > ? ORDER BY seq')
  const version = database.prepare('PRAGMA data_version').pluck()
  const put = database.prepare('INSERT OR REPLACE INTO quotas VALUES (?, ?, ?)')
  const forget = database.prepare('DELETE FROM quotas WHERE keepUntilMs < ?')
  const forgetOrders = database.prepare('DELETE FROM orders WHERE leftAtMs < ?')
  const setDone = database.prepare('UPDATE ordersDone SET seq = ?')
  const leave = database.prepare(
    `INSERT INTO orders (leftAtMs, what, quota, key, untilMs)
     VALUES (:leftAtMs, :what, :quota, :key, :untilMs)`,
  )
  const save = database.transaction(
    (states: readonly [string, QuotaState][], doneSeq: number | undefined, nowMs: number) => {
      for (const [quota, state] of states) put.run(quota, keepUntil(state), textOf(state))
      if (doneSeq !== undefined) setDone.run(doneSeq)
      forget.run(nowMs)
      forgetOrders.run(nowMs - orderMs)
    },
  )
  return {
    read: (quota) => {
      const text = one.get(quota)
      return text === undefined ? undefined : stateFrom(text)
    },
    all: () =>
      all.all().flatMap(([quota, text]): [string, QuotaState][] => {
        const state = stateFrom(text)
        return state ? [[quota, state]] : []
      }),
    save: (states, doneSeq, nowMs) => void save.immediate(states, doneSeq, nowMs),
    doneSeq: () => done.get() ?? 0,
    ordersSince: (seq) => since.all(seq),
    leave: (order, nowMs) => void leave.run({ ...order, leftAtMs: nowMs }),
    version: () => version.get(),
  }
}

/** Until when a quota can matter: its day, and the memory of its bans. */
function keepUntil({ day, conducts }: QuotaState): number {
  let until = (day + 1) * dayMs
  for (const { bannedUntilMs } of conducts?.values() ?? []) {
    if (bannedUntilMs > 0) until = Math.max(until, bannedUntilMs + rememberedMs)
  }
  return until
}

function textOf(state: QuotaState): string {
  return JSON.stringify({ ...state, conducts: [...(state.conducts ?? [])] })
}

/** A row that is damaged counts as none: its quota begins anew, and hurts no other. */
function stateFrom(text: string): QuotaState | undefined {
  try {
    const saved = JSON.parse(text) as Saved
    const { minute, minuteUsed, day, dayUsed, dayGivenBack, generation } = saved
    const numbers = [minute, minuteUsed, day, dayUsed, dayGivenBack, generation]
    if (!numbers.every(Number.isSafeInteger)) return undefined
    return { ...saved, conducts: saved.conducts.length > 0 ? new Map(saved.conducts) : undefined }
  } catch {
    return undefined
  }
}
