import type { FastifyReply } from 'fastify'
import { costOf, type AnsweredCost, type AnswerEnd } from './limits/answer-cost.ts'
import type { RequestRecord } from './request-record.ts'

/** The cost of a request by its answer; `undefined` where it costs what it was admitted with. */
export function answeredCost(record: RequestRecord): AnsweredCost | undefined {
  const { route, stand, toldCost, bodyCost, isGivenBack, acted } = record
  if (!route.answerCost || stand?.decision.verdict !== 'admitted') return undefined
  if (isGivenBack || acted !== undefined) return undefined
  const end = endOf(record)
  const told = route.answerCost.inBody
    ? (bodyCost?.told ?? { costText: undefined, isWhole: false, passed: 0 })
    : { costText: toldCost, isWhole: true, passed: 0 }
  return end && costOf(told, stand.decision.cost, route.answerCost, end)
}

/** How its answer has ended; `undefined` if no backend was asked, or has answered. */
function endOf(record: RequestRecord): AnswerEnd | undefined {
  const { route, answerStatus: status, isWhole, hasLeft, refusal } = record
  // Of an app's own route the handler tells it, and no backend is asked.
  if (!route.forwarder) return refusal ? undefined : { status, end: 'whole' }
  if (hasLeft && !isWhole) return { status, end: 'left' }
  if (status === 0) return undefined
  return { status, end: isWhole ? 'whole' : 'broken' }
}

/** Whether the handler of an app's own route has failed as a backend fails: it has thrown, or says so. */
export function hasFailed(
  { refusal, stand, hasThrown }: RequestRecord,
  { statusCode }: Pick<FastifyReply, 'statusCode'>,
): boolean {
  if (refusal || stand?.decision.verdict !== 'admitted') return false
  return hasThrown ? statusCode >= 500 : statusCode >= 502 && statusCode <= 504
}
