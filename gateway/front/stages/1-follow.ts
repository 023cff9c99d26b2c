import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { RequestRecord, type GuardedRoute } from '../request-record.ts'
import type { UnderWay } from '../forwarding/under-way.ts'
import type { Tracer } from '../traces/tracer.ts'

export type FollowOptions = Readonly<{
  /** The route that a request takes. */
  routeOf: (request: FastifyRequest) => GuardedRoute
  underWay: UnderWay | undefined
  /** Traces requests; `undefined` where nobody asks for spans. */
  tracer: Tracer | undefined
}>

/** Begins the record of a request, and reports its end. All that must happen at the end is called from here. */
export function follow({ routeOf, underWay, tracer }: FollowOptions): onRequestHookHandler {
  return function follow(request, reply, done): void {
    const record = new RequestRecord(routeOf(request))
    request.tollgate = record
    if (tracer) record.trace = tracer.begin(request)
    underWay?.began()
    reply.raw.on('close', () => {
      release(record)
      record.route.ended(request, reply)
      if (record.trace) tracer?.end(request, reply, record, record.trace)
      underWay?.ended()
    })
    done()
  }
}

function release(record: RequestRecord): void {
  record.hasEnded = true
  record.upstreamCall?.cancel()
  record.upstreamCall = undefined
  if (record.caller) record.share?.leave(record.caller.quota)
  record.share = undefined
}
