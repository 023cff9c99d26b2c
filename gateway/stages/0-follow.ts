import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Course } from '../records/course.ts'
import type { UnderWay } from '../under-way.ts'

export type FollowOptions = Readonly<{
  /** The path of the route in the configuration. */
  route: string
  underWay: UnderWay | undefined
  /** Told of each request when its answer has ended, or its caller has gone. */
  ended: (request: FastifyRequest, reply: FastifyReply) => void
}>

/**
 * Takes note of when a request came, and tells of it when it is over: all who want to know of that are told
 * here, because each further listener to the end of an answer costs 0.3 µs.
 */
export function follow({ route, underWay, ended }: FollowOptions): onRequestHookHandler {
  return function follow(request, reply, done): void {
    const beganAtMs = performance.now()
    const course: Course = {
      route,
      beganAtMs,
      sentAtMs: 0,
      answeredAtMs: 0,
      target: undefined,
      sent: undefined,
      share: undefined,
    }
    request.course = course
    underWay?.began()
    reply.raw.on('close', () => {
      if (request.course) end(request.course, request.caller?.quota)
      ended(request, reply)
      underWay?.ended()
    })
    done()
  }
}

function end(course: Course, quota = ''): void {
  course.sent?.cancel()
  course.sent = undefined
  course.share?.leave(quota)
  course.share = undefined
}
