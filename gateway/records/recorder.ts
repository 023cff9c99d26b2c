import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { statusOf } from '../../shared/service.ts'
import type { Caller } from '../caller.ts'
import type { Core } from '../core.ts'
import { deprecatedCall } from './deprecated-calls.ts'
import { useOf } from './usage.ts'

/** In metrics, the plan of who has none, and the route of what leads nowhere. */
export const noPlan = 'none'
export const noRoute = 'none'

/** Writes down what becomes of requests: in numbers for metrics, by key and day for usage. */
export type Recorder = Readonly<{
  /** What takes note of the answers of a route; what is free is no usage. */
  answersOf: (
    route: string,
    isFree: boolean,
  ) => (request: FastifyRequest, reply: FastifyReply) => void
  banned: (caller: Caller, untilMs: number) => void
  deprecatedCall: (request: FastifyRequest, operation: string) => void
}>

export function recorder(core: Core, log: FastifyBaseLogger): Recorder {
  const { meters, tallying } = core
  return {
    answersOf(route, isFree) {
      const { answers, durations } = meters.route(route)
      return (request, reply) => {
        const { caller, course } = request
        const plan = caller?.plan ?? noPlan
        answers.add(plan, statusOf(reply))
        if (course) durations.add(performance.now() - course.beganAtMs)
        if (reply.refusal) meters.refusals.add(plan, reply.refusal.code)
        const use = caller && !isFree ? useOf(request, reply) : undefined
        if (caller && use) tallying.count(caller, use)
      }
    },

    banned(caller, untilMs) {
      const { id, plan } = caller
      meters.bans.add(plan, '')
      // One that this gateway decides while the store is out of reach holds here alone; the log tells of it.
      if (core.quotas.isReachable) core.earnedBans.add(caller, untilMs)
      log.warn({ key: id, until: new Date(untilMs).toISOString() }, 'a key is banned')
    },

    deprecatedCall({ caller }, operation) {
      if (!caller) return
      meters.deprecated.add(operation, caller.plan)
      tallying.count(caller, deprecatedCall(operation), true)
    },
  }
}
