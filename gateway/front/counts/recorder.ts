import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import { endIso } from '../../../shared/times.ts'
import { statusOf } from '../../../shared/service.ts'
import type { Caller } from '../keys/caller.ts'
import type { Terms } from '../keys/terms.ts'
import { countsOf } from './caller-counts.ts'
import { deprecatedCall } from './deprecated-calls.ts'
import type { CountedRoute, Ended } from './ended.ts'
import { countEnded } from './folds.ts'
import { noPlan, testPlan } from './meters.ts'
import type { RequestCounts } from './request-counts.ts'

export type RecorderOptions = Readonly<{
  counts: RequestCounts
  /** Writes a ban down that a key has earned, by these rules. */
  earnedBan: (
    key: Readonly<{ id: string; name: string; quota: string; bans: Terms['bans'] }>,
    untilMs: number,
  ) => void
  /** The hash of the configuration. */
  hash: string
  clock: Clock
  log: FastifyBaseLogger
}>

/** Records the outcomes of requests, for metrics and for usage by key and day. */
export type Recorder = ReturnType<typeof recorder>

export function recorder(options: RecorderOptions) {
  const { counts, earnedBan, hash, clock, log } = options
  const { meters, tallies } = counts

  return {
    /** Makes the function that records the answers of a route. A free route counts as no usage. */
    answersOf({
      path,
      upstream,
      isFree,
    }: Readonly<{ path: string; upstream: string; isFree: boolean }>) {
      const route = {
        upstream,
        config: hash,
        isFree,
        meter: meters.route(path),
      }
      return (request: FastifyRequest, reply: FastifyReply): void => {
        const ended = endedOf(request, reply, route, clock)
        if (ended) countEnded(ended, counts)
      }
    },

    banned: (caller: Caller, bans: Terms['bans'], untilMs: number): void => {
      const { id, name, quota } = caller
      meters.bans.add(planOf(caller), '')
      earnedBan({ id, name, quota, bans }, untilMs)
      log.warn({ key: id, until: endIso(untilMs) }, 'a key is banned')
    },

    deprecatedCall: (caller: Caller, operation: string): void => {
      meters.deprecated.add(operation, planOf(caller))
      tallies.count(caller.id, countsOf(caller), deprecatedCall(operation), true)
    },
  }
}

function endedOf(
  request: FastifyRequest,
  reply: FastifyReply,
  route: CountedRoute,
  clock: Clock,
): Ended | undefined {
  const { tollgate: record } = request
  if (!record) return undefined
  const { caller, stand: standing, refusal } = record
  return {
    request,
    record,
    route,
    status: statusOf(reply),
    plan: caller ? planOf(caller) : noPlan,
    caller,
    standing,
    refusedBy: refusal?.window,
    atMs: standing?.decision.nowMs ?? clock(),
    endedAtMs: performance.now(),
  }
}

function planOf({ isTest, plan }: Caller): string {
  return isTest ? testPlan : plan
}
