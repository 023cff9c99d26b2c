import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { RequestRecord } from '../request-record.ts'
import type { UnderWay } from '../forwarding/under-way.ts'
import type { Tracer } from '../traces/tracer.ts'

export type FollowOptions = Readonly<{
  /** The path of the route in the configuration. */
  route: string
  underWay: UnderWay | undefined
  /** Traces requests; `undefined` where nobody asks for spans. */
  tracer: Tracer | undefined
  /** Called for each request when its answer has ended or its caller has left. */
  ended: (request: FastifyRequest, reply: FastifyReply) => void
}>

/**
 * Begins the record of a request, and reports its end. All that must happen at the end is called from here,
 * because each further listener costs 0.3 µs.
 */
export function follow({ route, underWay, tracer, ended }: FollowOptions): onRequestHookHandler {
  return function follow(request, reply, done): void {
    const record = new RequestRecord(route)
    request.tollgate = record
    if (tracer) record.trace = tracer.begin(request)
    underWay?.began()
    reply.raw.on('close', () => {
      release(record)
      ended(request, reply)
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
