import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { statusOf } from '../../shared/service.ts'
import { stateOf, type Caller } from '../keys/caller.ts'
import type { Core } from '../core.ts'
import { deprecatedCall } from './deprecated-calls.ts'
import type { Terms } from '../limits/terms.ts'
import { useOf } from './use.ts'

/** In metrics, the plan of strangers, and the route of paths without one. */
export const noPlan = 'none'
export const noRoute = 'none'

/** Records the outcomes of requests, for metrics and for usage by key and day. */
export type Recorder = Readonly<{
  /** Makes the function that records the answers of a route. A free route counts as no usage. */
  answersOf: (
    route: string,
    isFree: boolean,
  ) => (request: FastifyRequest, reply: FastifyReply) => void
  banned: (caller: Caller, terms: Terms, untilMs: number) => void
  deprecatedCall: (caller: Caller, operation: string) => void
}>

export function recorder(core: Core, log: FastifyBaseLogger): Recorder {
  const { meters, tallying } = core
  return {
    answersOf(route, isFree) {
      const { answers, durations } = meters.route(route)
      return (request, reply) => {
        const { tollgate: record } = request
        if (!record) return
        const { caller, refusal } = record
        const plan = caller?.plan ?? noPlan
        const status = statusOf(reply)
        answers.add(plan, status)
        durations.add(performance.now() - record.beganAtMs)
        if (refusal) meters.refusals.add(plan, refusal.code)
        const use = caller && !isFree ? useOf(record, status) : undefined
        if (caller && use) tallying.count(caller.id, stateOf(caller), use)
      }
    },

    banned({ id, name, plan }, { bans }, untilMs) {
      meters.bans.add(plan, '')
      // A ban during an outage holds in this gateway only, so it is logged and not written to the audit.
      if (core.quotas.isReachable) core.earnedBans.add({ id, name, bans }, untilMs)
      log.warn({ key: id, until: new Date(untilMs).toISOString() }, 'a key is banned')
    },

    deprecatedCall(caller, operation) {
      meters.deprecated.add(operation, caller.plan)
      tallying.count(caller.id, stateOf(caller), deprecatedCall(operation), true)
    },
  }
}
