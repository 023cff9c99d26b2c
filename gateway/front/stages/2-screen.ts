import type { onRequestHookHandler } from 'fastify'
import { boundChunks } from '../../../shared/node/chunks.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { pathOf, tooSmallChunks } from '../../../shared/service.ts'
import { framingFault } from '../http/framing.ts'
import { plainTarget } from '../http/paths.ts'
import { looped, type Via } from '../http/via.ts'
import type { RefuseStranger } from '../stranger.ts'

export type ScreenOptions = Readonly<{ refuseStranger: RefuseStranger; via: Via | undefined }>

/** Refuses requests that can be read in more than one way or go in a circle, before any other stage reads them. */
export function screen({ refuseStranger, via }: ScreenOptions): onRequestHookHandler {
  return function screen(request, reply, done): void {
    const fault = framingFault(request.raw)
    if (fault) return refuseStranger(request, reply, () => fault)
    const plain = plainTarget(request.url)
    if (plain === undefined) return refuseStranger(request, reply, ambiguous)
    const passed = request.raw.headers.via
    if (passed !== undefined && via?.isLoop(passed)) {
      return refuseStranger(request, reply, looped)
    }
    // The gateway's own server has done this before routing. In another app the path that was checked must be forwarded.
    if (plain !== request.url) {
      request.raw.url = plain
      if (request.tollgate) request.tollgate.path = pathOf(request)
    }
    boundChunks(request.raw, () => {
      request.tollgate?.upstreamCall?.cancel()
      if (reply.raw.headersSent) request.raw.destroy()
      else if (!reply.sent) refuseStranger(request, reply, tooSmallChunks)
    })
    if (!reply.sent) done()
  }
}

function ambiguous(): Refusal {
  const sentence = 'The path of the URL can be read in more than one way.'
  return new Refusal('invalid_request', sentence)
}
