import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import { endIso } from '../../../shared/times.ts'
import { pathOf, statusOf } from '../../../shared/service.ts'
import { stateOf, type Caller } from '../keys/caller.ts'
import type { RequestRecord } from '../request-record.ts'
import { isNear } from '../limits/near.ts'
import { isJudged, wouldRefuse, type Shadow } from '../limits/shadow.ts'
import type { Standing } from '../limits/headers.ts'
import { usedBy, type Decision } from '../limits/step.ts'
import { limitOf } from '../limits/limits.ts'
import { steadyWindows } from '../../../shared/windows.ts'
import { deprecatedCall } from './deprecated-calls.ts'
import type { Terms } from '../keys/terms.ts'
import { noPlan, testPlan } from './labels.ts'
import type { RequestCounts } from './request-counts.ts'
import { routeTallies, type RouteTallies } from './route-tallies.ts'
import {
  pointsBeyondOne,
  pointTallies,
  refusalName,
  useOf,
  refusedBy as windowRefusing,
} from './use.ts'

/** Statuses from here on are failures, also those that a backend answers itself. */
const firstFailure = 500

export type RecorderOptions = Readonly<{
  counts: RequestCounts
  /** Writes a ban down that a key has earned, by these rules. */
  earnedBan: (
    key: Readonly<{ id: string; name: string; bans: Terms['bans'] }>,
    untilMs: number,
  ) => void
  /** The hash of the configuration. */
  hash: string
  /** Whether use is tallied by route as well. */
  byRoute: boolean
  clock: Clock
  log: FastifyBaseLogger
}>

/** Records the outcomes of requests, for metrics and for usage by key and day. */
export type Recorder = Readonly<{
  /** Makes the function that records the answers of a route. A free route counts as no usage. */
  answersOf: (
    route: Readonly<{ path: string; upstream: string; isFree: boolean }>,
  ) => (request: FastifyRequest, reply: FastifyReply) => void
  banned: (caller: Caller, terms: Terms, untilMs: number) => void
  deprecatedCall: (caller: Caller, operation: string) => void
}>

export function recorder(options: RecorderOptions): Recorder {
  const { counts, earnedBan, hash, byRoute, clock, log } = options
  const { meters, tallying, recentRefusals, timeline, liveCounts, peaks, nearLimits } = counts

  function countUse(record: RequestRecord, caller: Caller, status: number): void {
    const use = useOf(record, status)
    if (!use) return
    tallying.count(caller.id, stateOf(caller), use)
    if (!use.startsWith('admitted')) return
    const points = pointsBeyondOne(record)
    if (points === 0) return
    const what = points > 0 ? pointTallies.more : pointTallies.less
    tallying.count(caller.id, stateOf(caller), what, false, Math.abs(points))
  }

  /** Counts apart from the other tallies, so that these aren't looked for among those of many routes. */
  function countOfRoute(record: RequestRecord, caller: Caller, tallies: RouteTallies): void {
    const { standing, forbidden, refusal } = record
    if (!standing || caller.isTest) return
    const slot = (stateOf(caller).routeCounts ??= { dayCount: undefined })
    if (forbidden || standing.decision.verdict !== 'admitted') {
      if (refusal) tallying.count(caller.id, slot, tallies.refused)
      return
    }
    tallying.count(caller.id, slot, tallies.admitted)
    const points = pointsBeyondOne(record)
    if (points === 0) return
    tallying.count(
      caller.id,
      slot,
      points > 0 ? tallies.more : tallies.less,
      false,
      Math.abs(points),
    )
  }

  function countShadow(caller: Caller, shadow: Shadow, decision: Decision): void {
    if (!isJudged(decision)) return
    const { tallies } = shadow
    tallying.count(caller.id, stateOf(caller), tallies.all)
    const windows = wouldRefuse(shadow, decision)
    for (const window of windows) {
      meters.shadows.add(planOf(caller), window)
      tallying.count(caller.id, stateOf(caller), tallies[window], true)
    }
  }

  function countNear(caller: Caller, { decision, limits }: Standing): void {
    if (decision.verdict !== 'admitted') return
    const plan = planOf(caller)
    for (const window of steadyWindows) {
      const isNearEnd = isNear(usedBy(decision, window), limitOf(limits, window))
      if (isNearEnd) meters.near.add(plan, window.name)
    }
  }

  return {
    answersOf({ path, upstream, isFree }) {
      const { answers, durations } = meters.route(path)
      const origin = { upstream, config: hash }
      const ofRoute = byRoute && !isFree ? routeTallies(path) : undefined
      return (request, reply) => {
        const { tollgate: record } = request
        if (!record) return
        const { caller, refusal, act } = record
        const plan = act ? testPlan : caller ? planOf(caller) : noPlan
        const status = statusOf(reply)
        answers.add(plan, status)
        if (act) {
          if (refusal) meters.refusals.add(plan, refusalName(refusal))
          return
        }
        const endedAtMs = performance.now()
        durations.add(endedAtMs - record.beganAtMs)
        meters.own.add((record.sentAtMs || endedAtMs) - record.beganAtMs)
        liveCounts.ended(record, status, endedAtMs)
        if (refusal) meters.refusals.add(plan, refusalName(refusal))
        if (refusal || status >= firstFailure) {
          const atMs = record.standing?.decision.nowMs ?? clock()
          const { id, method } = request
          recentRefusals.keep(
            { id, method, path: pathOf(request), status, atMs, endedAtMs },
            record,
            origin,
          )
          const known = caller ?? record.turnedAway
          if (known) timeline.count(known, record, atMs)
        }
        if (!caller || isFree) return
        countUse(record, caller, status)
        if (ofRoute) countOfRoute(record, caller, ofRoute)
        const { standing, terms } = record
        if (!standing) return
        countNear(caller, standing)
        const refusedBy = refusal && windowRefusing(refusal)
        peaks.note(caller, standing.decision, refusedBy)
        nearLimits.note(caller, standing, refusedBy)
        if (terms?.shadow) countShadow(caller, terms.shadow, standing.decision)
      }
    },

    banned(caller, { bans }, untilMs) {
      const { id, name } = caller
      meters.bans.add(planOf(caller), '')
      earnedBan({ id, name, bans }, untilMs)
      log.warn({ key: id, until: endIso(untilMs) }, 'a key is banned')
    },

    deprecatedCall(caller, operation) {
      meters.deprecated.add(operation, planOf(caller))
      tallying.count(caller.id, stateOf(caller), deprecatedCall(operation), true)
    },
  }
}

function planOf({ isTest, plan }: Caller): string {
  return isTest ? testPlan : plan
}
