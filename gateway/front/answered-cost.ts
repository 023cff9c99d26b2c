import type { FastifyReply } from 'fastify'
import { costOf, type AnsweredCost } from './limits/answer-cost.ts'
import type { RequestRecord } from './request-record.ts'

/** The cost of a request by its answer; `undefined` where it costs what it was admitted with. */
export function answeredCost({
  route,
  stand,
  toldCost,
  bodyCost,
  isAnswered,
  isGivenBack,
  refusal,
  acted,
}: RequestRecord): AnsweredCost | undefined {
  if (!route.answerCost || stand?.decision.verdict !== 'admitted') return undefined
  if (isGivenBack || acted !== undefined) return undefined
  // Of an app's own route the handler tells it, and no backend is asked.
  if (!isAnswered && (route.forwarder || refusal)) return undefined
  const costText = route.answerCost.inBody ? bodyCost?.told : toldCost
  return costOf(costText, stand.decision.cost, route.answerCost)
}

/** Whether the handler of an app's own route has failed as a backend fails: it has thrown, or says so. */
export function hasFailed(
  { refusal, stand, hasThrown }: RequestRecord,
  { statusCode }: Pick<FastifyReply, 'statusCode'>,
): boolean {
  if (refusal || stand?.decision.verdict !== 'admitted') return false
  return hasThrown ? statusCode >= 500 : statusCode >= 502 && statusCode <= 504
}
