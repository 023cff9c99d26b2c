import { toTenths } from '../../../shared/clock.ts'
import { loggable } from '../../../shared/log.ts'
import type { Reason, Refusal, RefusalCode } from '../../../shared/refusal.ts'
import { type Static, Type } from '../../../shared/schema.ts'
import { byWindow, endsAtMs, numberAt, windows, type WindowName } from '../../../shared/windows.ts'
import { answeredCost } from '../answered-cost.ts'
import { scopesText } from '../keys/caller-scopes.ts'
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

/** A time that a date can have. */
const someTime = Type.Number({ minimum: -8.64e15, maximum: 8.64e15 })

/** One window of a kept answer; `used` is unknown if only a cached ban decided. */
const keptWindow = Type.Object({
  limit: Type.Number(),
  used: Type.Optional(Type.Number()),
  resetMs: someTime,
})

export type KeptWindow = Readonly<Static<typeof keptWindow>>

/** Where no more requests may be under way: the oldest of this gateway, and how many others there were. */
const underWayThen = Type.Object({
  ...{ limit: Type.Number(), ids: Type.Array(Type.String()), others: Type.Number() },
})

/** The members that an answer must have, because whoever may use the store may write one. */
export const keptRefusalSchema = Type.Object({
  ...{ id: Type.String(), atMs: someTime, method: Type.String() },
  // Without its query and without tokens; only the beginning if it ends with `…`.
  path: Type.String(),
  ...{ status: Type.Number(), code: Type.Optional(Type.String()) },
  // `of` is the operation or the cap whose limit is used up, and `ofWindow` its window.
  ...{ reason: Type.Optional(Type.String()), of: Type.Optional(Type.String()) },
  ofWindow: Type.Optional(keptWindow),
  caller: Type.Optional(
    Type.Object({
      ...{ id: Type.String(), name: Type.String(), plan: Type.String() },
      ...{ account: Type.Optional(Type.String()), isTest: Type.Optional(Type.Boolean()) },
    }),
  ),
  route: Type.String(),
  // The scopes that its route needs, and those of its caller, separated by spaces; left out for none, and for all.
  ...{ needs: Type.Optional(Type.Array(Type.String())), has: Type.Optional(Type.String()) },
  ...{ upstream: Type.String(), target: Type.Optional(Type.String()), config: Type.String() },
  // Left out without a caller: the windows are those of its address then.
  decidedBy: Type.Optional(Type.String()),
  // `estimate`: the points of its admission, where its answer tells the cost.
  ...{ cost: Type.Number(), estimate: Type.Optional(Type.Number()) },
  // Those that have a limit.
  windows: Type.Object(byWindow(() => Type.Optional(keptWindow))),
  // `strikesToBan`: those that would ban its key; left out where nothing does.
  ...{ strikes: Type.Number(), strikesToBan: Type.Optional(Type.Number()) },
  bannedUntilMs: someTime,
  // Of a request over its quota's share of an upstream.
  shareTaken: Type.Optional(Type.Object({ underWay: Type.Number(), share: Type.Number() })),
  underWay: Type.Optional(underWayThen),
  ...{ ownMs: Type.Number(), upstreamMs: Type.Optional(Type.Number()) },
})

/**
 * One refused or failed answer, as it is kept: what JSON has no value for is left out. Times are milliseconds since 1970. In a
 * store, codes and reasons may be those of a later version.
 */
export type KeptRefusal = Readonly<
  Static<typeof keptRefusalSchema> & {
    code?: RefusalCode | undefined
    reason?: Reason | undefined
    of: Refusal['of']
    decidedBy?: Decision['decidedBy'] | undefined
  }
>

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
    needs: needs && [...needs],
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
    underWay: isCrowded ? underWayOf(decision) : undefined,
    ownMs: toTenths((sentAtMs || endedAtMs) - beganAtMs),
    upstreamMs: sentAtMs > 0 ? toTenths((answeredAtMs || endedAtMs) - sentAtMs) : undefined,
  }
}

function underWayOf({ places, underWay }: Partial<Decision> = {}): KeptRefusal['underWay'] {
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
