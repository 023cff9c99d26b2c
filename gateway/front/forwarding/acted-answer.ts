import type { FastifyReply } from 'fastify'
import { jsonType, type Refusal } from '../../../shared/refusal.ts'
import { late, overloaded, unhealthy, unreachable } from './refusals.ts'
import type { Upstream } from './upstream.ts'
import { refuse, type RequestRecord } from '../request-record.ts'
import type { Act, ActName } from '../acts/act.ts'

/** The refusals that forwarding ends with. */
const refusals: Readonly<Partial<Record<ActName, () => Refusal>>> = {
  bad_gateway: unreachable,
  gateway_timeout: late,
  unavailable: unhealthy,
}

/** Answers an admitted request as its backend would have, or would have failed to. The backend hears nothing of it. */
export function answerActed(
  act: Act,
  record: RequestRecord,
  reply: FastifyReply,
  upstream: Upstream | undefined,
): FastifyReply {
  const refusal = act.name && refusals[act.name]
  if (act.name === 'slow' && upstream?.hasRoom === false) return refuse(reply, overloaded())
  act.isActed = true
  if (refusal) return refuse(reply, refusal())
  if (act.slowMs > 0) holdBack(act, record, reply, upstream)
  else answer(act, reply)
  return reply
}

function answer({ text }: Act, reply: FastifyReply): void {
  void reply.type(jsonType).send(JSON.stringify({ acted: text }))
}

/** Answers late, and takes room of the upstream until then, or until the caller leaves. */
function holdBack(
  act: Act,
  record: RequestRecord,
  reply: FastifyReply,
  upstream: Upstream | undefined,
): void {
  upstream?.underWay.began()
  const end = (): void => {
    clearTimeout(timer)
    record.upstreamCall = undefined
    upstream?.underWay.ended()
  }
  const timer = setTimeout(() => {
    end()
    answer(act, reply)
  }, act.slowMs)
  record.upstreamCall = { cancel: end }
}
