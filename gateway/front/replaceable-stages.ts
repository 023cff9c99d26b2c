import type { onRequestHookHandler, onSendHookHandler } from 'fastify'
import type { StageName } from './way.ts'

type Incoming = Exclude<StageName, 'forward' | 'announce'>

/** The stages of one route; those that it or its configuration doesn't need are `undefined`. */
export type RouteStages = Readonly<
  Record<Incoming, onRequestHookHandler | undefined> & {
    announce: onSendHookHandler
  }
>

/** Stages that look for those in force at each request. The gateway's own app, of which each configuration has one, needs none. */
export function replaceable(slot: Readonly<{ stages: RouteStages }>): RouteStages {
  const now = (name: Incoming) => {
    const stage: onRequestHookHandler = function (request, reply, done): void {
      const inForce = slot.stages[name]
      if (inForce) void inForce.call(this, request, reply, done)
      else done()
    }
    return stage
  }
  return {
    follow: now('follow'),
    screen: now('screen'),
    preflight: now('preflight'),
    authenticate: now('authenticate'),
    act: now('act'),
    admit: now('admit'),
    retire: now('retire'),
    announce(request, reply, payload, done) {
      void slot.stages.announce.call(this, request, reply, payload, done)
    },
  }
}
