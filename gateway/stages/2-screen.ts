import type { onRequestHookHandler } from 'fastify'
import { Refusal } from '../../shared/refusal.ts'
import { framingFault } from '../http/framing.ts'
import { plainTarget } from '../http/paths.ts'
import type { RefuseStranger } from '../stranger.ts'

export type ScreenOptions = Readonly<{ refuseStranger: RefuseStranger }>

/** Refuses what can be read in more than one way, before anybody else looks at it. */
export function screen({ refuseStranger }: ScreenOptions): onRequestHookHandler {
  return function screen(request, reply, done): void {
    const fault = framingFault(request.raw)
    if (fault) return refuseStranger(request, reply, () => fault)
    const plain = plainTarget(request.url)
    if (plain === undefined) return refuseStranger(request, reply, ambiguous)
    // The gateway's own server has spelled it so already; in another app, what is matched must be forwarded.
    if (plain !== request.url) request.raw.url = plain
    done()
  }
}

function ambiguous(): Refusal {
  const sentence = 'The path of the URL can be read in more than one way.'
  return new Refusal('invalid_request', sentence)
}
