import type { FastifyReply, FastifyRequest } from 'fastify'
import { logOf } from '../../../shared/request-log.ts'
import type { Refusal } from '../../../shared/refusal.ts'
import { refuse, type RequestRecord } from '../request-record.ts'
import { isOfCaller, type Failure } from './attempt.ts'
import type { RouteForwarding } from './forwarding.ts'
import { broken, late, slow, unreachable, unsendable } from './refusals.ts'

/** How a request ends that its backend doesn't answer. */
export type Ending = Readonly<{
  refusal: Refusal
  /** For the log; without a cause nothing is logged. */
  cause?: Error | string | undefined
  /** Whether its points are given back to the day. */
  isGivenBack: boolean
}>

const refusals: Readonly<Record<Failure['kind'], () => Refusal>> = {
  unreachable,
  broken,
  late,
  slow,
  unsendable,
}

/** How a failed attempt ends its request, where no other target is asked. */
export function endingOf({ kind, cause, isUnwanted }: Failure): Ending {
  const refusal = refusals[kind]()
  if (isOfCaller(kind)) return { refusal, isGivenBack: false }
  // A backend that closes the connection on a body has seen the request, so its points stay spent.
  return { refusal, cause, isGivenBack: !isUnwanted }
}

/** A caller's request that is forwarded, and its reply. */
export type OnItsWay = Readonly<{
  forwarding: RouteForwarding
  request: FastifyRequest
  record: RequestRecord
  reply: FastifyReply
}>

/** Ends a request: gives its points back, logs the cause, and answers with the refusal. */
export function end({ forwarding, request, record, reply }: OnItsWay, ending: Ending): void {
  const { refusal, cause, isGivenBack } = ending
  if (isGivenBack) forwarding.unanswered(record)
  if (cause !== undefined) {
    const { name: upstream } = forwarding.upstream.settings
    const why = typeof cause === 'string' ? { cause } : { err: cause }
    logOf(request).error({ upstream, ...why }, refusal.message)
  }
  void refuse(reply, refusal)
}
