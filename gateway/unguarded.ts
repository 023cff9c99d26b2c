import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { Refusal } from '../shared/refusal.ts'
import { answer } from '../shared/service.ts'

/** Says of a route's configuration that the stages are before it. */
export const guarded: unique symbol = Symbol('guarded by Tollgate')

/** Says of a scope, and those within it, that all its routes are forwarded, and so guarded. */
const forwarding: unique symbol = Symbol('forwards for Tollgate')

declare module 'fastify' {
  interface FastifyContextConfig {
    [guarded]?: boolean
  }
  interface FastifyInstance {
    [forwarding]?: boolean
  }
}

/** Spares the routes of a scope the look at what they ask for, which costs 0.1 µs. */
export function markForwarding(scope: FastifyInstance): void {
  scope[forwarding] = true
}

/**
 * Refuses what was to be guarded and isn't. Stages are put before routes that come after Tollgate was loaded,
 * but Fastify loads what is not awaited last; and hooks, other than stages, it has for all routes of a scope,
 * whenever they came. Without this, such a route would serve anybody.
 */
export const refuseUnguarded: onRequestHookHandler = function (request, reply, done) {
  if (this[forwarding]) return done()
  const { config, url = '' } = request.routeOptions
  if (!config.tollgate || config[guarded]) return done()
  const { method } = request
  request.log.error(
    { method, route: url },
    `the route ${method} ${url} asks to be guarded, but was there before Tollgate: ` +
      'write "await" before the register of Tollgate, and the route after it',
  )
  void answer(reply, new Refusal('internal_error', 'Something went wrong on our side.'))
}
