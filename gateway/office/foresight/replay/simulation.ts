import type { KeyStore } from '../../../front/keys/store.ts'
import { quotaOf } from '../../../front/keys/key.ts'
import { byTime } from './by-time.ts'
import { readLog, type LineCounts } from './log-file.ts'
import type { NamedColumns } from './logged-request.ts'
import { Replay, type LoggedKey, type ReplayedKey, type ReplayRules } from './replay.ts'

/** A request this much before the last one is still in order: its gateway estimated the time. */
const nearMs = 1_000

export type SimulationAsk = Readonly<{
  /** Files, `-` for standard input. */
  logs: readonly string[]
  columns: NamedColumns
  /** The configuration to try out, and one to show beside it. */
  rules: ReplayRules
  against: ReplayRules | undefined
  /** Where keys are looked up; without it, each key counts by itself. */
  keys: KeyStore | undefined
  /** The plan of keys of which neither the log nor the store tells one. */
  plan: string | undefined
}>

/** The replays of logs, and what was in them. */
export type Simulation = Readonly<{
  counts: LineCounts
  /** Requests that were replayed. */
  requests: number
  /** Requests of keys without a plan, which are left out, and the number of their keys. */
  planless: number
  planlessKeys: number
  /** Requests that the log has too far behind later ones: they are taken when they are read. */
  late: number
  /** The time of the first and the last request. */
  fromMs: number
  toMs: number
  keys: ReadonlyMap<string, Readonly<{ holder: LoggedKey; plan: string }>>
  replay: Replay
  against: Replay | undefined
}>

/** Replays logs against one configuration, or two. Needs memory for the keys, not for the lines. */
export async function simulation(ask: SimulationAsk): Promise<Simulation> {
  const { logs, columns, rules, against } = ask
  const counts = { lines: 0, notJson: 0, others: 0, keyless: 0, free: 0, undecided: 0 }
  const records = await recordsOf(ask.keys)
  const keys = new Map<string, { holder: LoggedKey; plan: string }>()
  const planless = new Set<string>()
  const replays = [rules, ...(against ? [against] : [])].map((each) => new Replay(each))
  const sums = { requests: 0, planless: 0, late: 0, fromMs: 0, toMs: 0 }
  for await (const requests of byTime(logs.map((log) => readLog(log, columns, counts)))) {
    for (const request of requests) {
      if (replays.every((replay) => replay.isFree(request))) {
        counts.free++
        continue
      }
      const entry = keys.get(request.key)
      const holder = entry?.holder ?? loggedKey(request.key, records)
      const plan = request.plan ?? holder.key?.plan ?? ask.plan
      if (plan === undefined) {
        sums.planless++
        planless.add(request.key)
        continue
      }
      if (!entry) keys.set(request.key, { holder, plan })
      else if (entry.plan !== plan) entry.plan = plan
      if (sums.requests++ === 0) sums.fromMs = request.atMs
      const isLate = request.atMs < sums.toMs - nearMs
      if (isLate) sums.late++
      sums.toMs = Math.max(sums.toMs, request.atMs)
      const atMs = isLate ? sums.toMs : request.atMs
      for (const replay of replays) replay.take(request, holder, plan, atMs)
    }
  }
  const [replay = new Replay(rules), other] = replays
  return { ...sums, counts, planlessKeys: planless.size, keys, replay, against: other }
}

/** The facts of all keys that replays need, by id. */
async function recordsOf(store: KeyStore | undefined): Promise<ReadonlyMap<string, ReplayedKey>> {
  const records = new Map<string, ReplayedKey>()
  if (!store) return records
  for await (const { id, name, plan, account, test, limits, ...rest } of store.list()) {
    const { temporaryPlan, temporaryLimits } = rest
    records.set(id, { name, plan, account, test, limits, temporaryPlan, temporaryLimits })
  }
  return records
}

function loggedKey(id: string, records: ReadonlyMap<string, ReplayedKey>): LoggedKey {
  const key = records.get(id)
  return { id, quota: quotaOf({ id, account: key?.account, test: key?.test }), key }
}
