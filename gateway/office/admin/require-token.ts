import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { Refusal } from '../../../shared/refusal.ts'
import { allows, type Role } from '../../../shared/role.ts'
import type { Browsers, Found } from './browser.ts'
import { closed, invalid, missing } from './refusals.ts'
import type { RefuseGuess } from './sign-in.ts'
import { holderOf, type AdminSecrets, type Operator } from './token.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The holder of the request's admin token or session, or whom a trusted proxy has named. */
    admin: Operator | null
  }
}

/**
 * Refuses requests without a valid token or session that no trusted proxy names an operator for, before anything else of them is
 * read. A valid token works from any address, even from one that is over its limit of failed attempts, and goes before all else.
 */
export function requireToken(
  app: FastifyInstance,
  secrets: AdminSecrets,
  refuseGuess: RefuseGuess,
  browsers: Browsers,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { tokens } = secrets
    const { headers, raw } = request
    const { authorization } = headers
    const enter = (found: Found): void => {
      request.admin = found.operator
      void reply.headers(found.headers)
      done()
    }
    const holder = holderOf(authorization, tokens)
    if (holder) return enter({ operator: holder, headers: {} })
    const named = browsers.named(raw)
    if (named instanceof Refusal) return done(named)
    if (named) return enter(named)
    if (tokens.length === 0) return done(closed())
    const found = authorization === undefined ? browsers.signedIn(raw) : undefined
    if (found && !(found instanceof Refusal)) return enter(found)
    if (found && found.status !== 401) return done(found)
    const why = (): Refusal => found ?? (authorization === undefined ? missing() : invalid())
    done(refuseGuess(raw.socket.remoteAddress, why))
  })
}

/** The operator of a request that `requireToken` has let through. */
export function operatorOf({ admin }: FastifyRequest): Operator {
  if (admin) return admin
  throw new Error('a request to an operation has no token')
}

/** Refuses an operator whose role allows less than an operation needs, before its body is read. */
export function roleScreen(needed: Role): onRequestHookHandler {
  return (request, _reply, done) => {
    const { name, role } = operatorOf(request)
    if (allows(role, needed)) return done()
    const least = needed === 'all' ? 'all (a token without a role)' : needed
    done(new Refusal('forbidden', `This needs the role ${least}; ${name} has the role ${role}.`))
  }
}
