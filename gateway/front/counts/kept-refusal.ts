import { toTenths } from '../../../shared/clock.ts'
import { loggable } from '../../../shared/log.ts'
import type { Reason, Refusal, RefusalCode } from '../../../shared/refusal.ts'
import { endsAtMs, numberAt, windows, type WindowName } from '../../../shared/windows.ts'
import { answeredCost } from '../answered-cost.ts'
import type { ShareTaken } from '../http/fair-share.ts'
import { scopesText } from '../keys/caller-scopes.ts'
import type { Caller } from '../keys/caller.ts'
import { numberOf } from '../limits/counters.ts'
import { decisiveWindow, type Standing } from '../limits/headers.ts'
import { limitOf } from '../limits/limits.ts'
import { crowded } from '../limits/places.ts'
import { usedBy, type Decision } from '../limits/step.ts'
import type { Ended } from './ended.ts'

/** The most characters of an id, as `requestIdFrom` takes them. */
const idLength = 128

/** The kept characters of a path. */
const pathLength = 128

/** One window of a kept answer; `used` is unknown if only a cached ban decided. */
export type KeptWindow = Readonly<{ limit: number; used?: number | undefined; resetMs: number }>

/** One refused or failed answer, as it is kept: what JSON has no value for is left out. Times are milliseconds since 1970. */
export type KeptRefusal = Readonly<{
  id: string
  atMs: number
  method: string
  /** Without its query and without tokens; only the beginning if it ends with `…`. */
  path: string
  status: number
  code?: RefusalCode | undefined
  reason?: Reason | undefined
  /** The operation or the cap whose limit is used up, and its window. */
  of: Refusal['of']
  ofWindow?: KeptWindow | undefined
  caller?: (Pick<Caller, 'id' | 'name' | 'plan' | 'account'> & { isTest?: boolean }) | undefined
  route: string
  /** The scopes that its route needs, and those of its caller, separated by spaces; left out for none, and for all. */
  needs?: readonly string[] | undefined
  has?: string | undefined
  upstream: string
  target?: string | undefined
  config: string
  /** Left out without a caller: the windows are those of its address then. */
  decidedBy?: Decision['decidedBy'] | undefined
  cost: number
  /** The points of its admission, where its answer tells the cost. */
  estimate?: number | undefined
  /** The windows that have a limit. */
  windows: Partial<Record<WindowName, KeptWindow>>
  strikes: number
  /** The strikes that would ban its key; left out where nothing does. */
  strikesToBan?: number | undefined
  bannedUntilMs: number
  /** Of a request over its quota's share of an upstream. */
  shareTaken?: ShareTaken | undefined
  /** Where no more requests may be under way: the oldest of this gateway, and how many others there were. */
  underWay?: UnderWayThen | undefined
  ownMs: number
  upstreamMs?: number | undefined
}>

export type UnderWayThen = Readonly<{ limit: number; ids: readonly string[]; others: number }>

/** The part of an ended request that is kept. */
export type EndedBadly = Pick<Ended, 'record' | 'status' | 'atMs' | 'endedAtMs'> &
  Readonly<{
    request: Pick<Ended['request'], 'id' | 'method'>
    route: Pick<Ended['route'], 'upstream' | 'config'>
  }>

/** A refused or failed answer in the form in which it is kept. */
export function keptRefusal({
  request,
  record,
  route,
  status,
  atMs,
  endedAtMs,
}: EndedBadly): KeptRefusal {
  const { refusal, stand, terms, shareTaken, target } = record
  const { decision } = stand ?? {}
  const caller = record.caller ?? record.turnedAway
  const { needs } = record.route
  const { beganAtMs, sentAtMs, answeredAtMs } = record
  const answered = answeredCost(record)
  const isCrowded = refusal?.reason === 'at_once'
  const isOfWindow = !isCrowded && (refusal?.of !== undefined || refusal?.reason === 'prepaid')
  const full = stand && isOfWindow ? decisiveWindow(stand.decision, stand.limits) : undefined
  return {
    id: request.id.slice(0, idLength),
    atMs: Math.floor(atMs),
    method: request.method,
    path: pathOf(record.path),
    status,
    code: refusal?.code,
    reason: refusal?.reason,
    of: refusal?.of,
    ofWindow: full && {
      limit: full.limit,
      used: full.limit - full.remaining,
      resetMs: full.resetMs,
    },
    caller,
    route: record.route.label,
    needs,
    has: needs && record.caller && scopesText(record.caller),
    upstream: route.upstream,
    target,
    config: route.config,
    // Without a caller the decision is about its address, and none of a store.
    decidedBy: record.caller && decision?.decidedBy,
    cost: answered?.cost ?? decision?.cost ?? 0,
    estimate: answered && decision?.cost,
    windows: stand ? windowsOf(stand, atMs) : {},
    strikes: decision?.strikes ?? 0,
    strikesToBan: terms?.bans?.strikes,
    bannedUntilMs: decision?.bannedUntilMs ?? 0,
    shareTaken,
    underWay: isCrowded ? underWayThen(decision) : undefined,
    ownMs: toTenths((sentAtMs || endedAtMs) - beganAtMs),
    upstreamMs: sentAtMs > 0 ? toTenths((answeredAtMs || endedAtMs) - sentAtMs) : undefined,
  }
}

function underWayThen({ places, underWay }: Partial<Decision> = {}): UnderWayThen {
  const { limit = 0, used = 0 } = crowded(places) ?? {}
  const ids = (underWay?.ids ?? []).slice(0, used).map((id) => id.slice(0, idLength))
  return { limit, ids, others: used - ids.length }
}

function windowsOf({ decision, limits }: Standing, atMs: number): KeptRefusal['windows'] {
  const kept: Partial<Record<WindowName, KeptWindow>> = {}
  for (const window of windows) {
    const limit = limitOf(limits, window)
    if (limit === Infinity) continue
    // A cached ban knows no counters: its windows are those of the time.
    const number = numberOf(decision.seen, window)
    const resetMs = endsAtMs(window, number || numberAt(window, atMs))
    kept[window.name] = { limit, used: number ? usedBy(decision, window) : undefined, resetMs }
  }
  return kept
}

/** A path without tokens, and without what is too long. */
function pathOf(path: string): string {
  if (path.length <= pathLength) return loggable(path)
  // Where it is cut, a part of a token may be at its end.
  return `${loggable(path.slice(0, pathLength).replace(/(?<![\w%])[\w%]+$/, ''))}…`
}
