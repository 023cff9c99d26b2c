import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import '../records/course.ts'

export type FollowOptions = Readonly<{
  /** The path of the route in the configuration. */
  route: string
  /** Told of each request when its answer has ended, or its caller has gone. */
  ended: (request: FastifyRequest, reply: FastifyReply) => void
}>

/** Takes note of when a request came, and tells of it when it is over. */
export function follow({ route, ended }: FollowOptions): onRequestHookHandler {
  return function follow(request, reply, done): void {
    const beganAtMs = performance.now()
    const course = { route, beganAtMs, sentAtMs: 0, answeredAtMs: 0, cancel: undefined }
    request.course = course
    reply.raw.on('close', () => {
      request.course?.cancel?.()
      ended(request, reply)
    })
    done()
  }
}
