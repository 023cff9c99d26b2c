import type { onRequestHookHandler } from 'fastify'
import { pathOf, type TellEnd } from '../../../shared/service.ts'
import { RequestRecord, type RouteOf } from '../request-record.ts'
import type { UnderWay } from '../forwarding/under-way.ts'
import type { Tracer } from '../traces/tracer.ts'

export type FollowOptions = Readonly<{
  /** The route that a request takes. */
  routeOf: RouteOf
  underWay: UnderWay | undefined
  /** Writes the log line of a request; `undefined` without one. */
  tell: TellEnd | undefined
  /** Traces requests; `undefined` where nobody asks for spans. */
  tracer: Tracer | undefined
}>

/** Begins the record of a request, and reports its end. All that must happen at the end is called from here. */
export function follow({ routeOf, underWay, tell, tracer }: FollowOptions): onRequestHookHandler {
  return function follow(request, reply, done): void {
    const path = pathOf(request)
    const record = new RequestRecord(routeOf(path, request.method), path)
    request.tollgate = record
    if (tracer) record.trace = tracer.begin(request)
    underWay?.began()
    const ended = (): void => {
      // Its answer may be read on for its cost: then this comes again.
      if (record.route.answerCost?.drain && record.upstreamCall?.drain?.(ended)) return
      release(record)
      record.route.ended(request, reply)
      if (record.trace) tracer?.end(request, reply, record, record.trace)
      tell?.(request, reply, record.beganAtMs)
      underWay?.ended()
    }
    reply.raw.on('close', ended)
    done()
  }
}

function release(record: RequestRecord): void {
  record.hasEnded = true
  record.upstreamCall?.cancel()
  record.upstreamCall = undefined
  if (record.caller) record.share?.leave(record.caller.quota)
  record.share = undefined
  if (record.place) record.leavePlace()
}
