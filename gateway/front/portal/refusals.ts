import type { FastifyRequest } from 'fastify'
import { Refusal, refusalFrom } from '../../../shared/refusal.ts'
import { StoreUnavailable } from '../../../shared/store-errors.ts'
import { secondsToWait } from '../limits/headers.ts'
import { refuse, type Answer } from '../request-record.ts'

const secondsUntilBack = '5'

/** An endpoint that answers with some data, which nobody keeps, or with a refusal. */
export function telling(
  status: 200 | 201,
  ask: (request: FastifyRequest) => Promise<object>,
): Answer {
  return async (request, reply) => {
    try {
      const told = await ask(request)
      if (told instanceof Refusal) return refuse(reply, told)
      return reply.code(status).header('cache-control', 'no-store').send(told)
    } catch (error) {
      const refusal = refusalForFailure(error)
      // Its error handler tells the log.
      if (refusal.code === 'internal_error') throw error
      return refuse(reply, refusal)
    }
  }
}

/** The refusal of what may be asked again from a time on. */
export function tooOften(sentence: string, untilMs: number, nowMs: number): Refusal {
  const wait = String(secondsToWait(untilMs, nowMs))
  const headers = { 'retry-after': wait, 'cache-control': 'no-store' }
  return new Refusal('rate_limit_exceeded', sentence, headers).because('pace')
}

/** The refusal that a caller gets for something thrown. */
function refusalForFailure(thrown: unknown): Refusal {
  if (!(thrown instanceof StoreUnavailable)) return refusalFrom(thrown)
  const sentence = `The store can’t be reached just now. Try again in ${secondsUntilBack} seconds.`
  const headers = { 'retry-after': secondsUntilBack }
  return new Refusal('service_unavailable', sentence, headers, thrown).because('store')
}
