import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { Refusal } from '../../../shared/refusal.ts'
import { allows, type Role } from '../../../shared/role.ts'
import { privately, type sessionFinder } from './session-finder.ts'
import type { Guesses } from './guesses.ts'
import type { FindNamed } from './named-operator.ts'
import { closed, invalid, missing } from './refusals.ts'
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
  guesses: Guesses,
  namedBy: FindNamed,
  sessionOf: ReturnType<typeof sessionFinder>,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { tokens } = secrets
    const { authorization } = request.headers
    const holder = holderOf(authorization, tokens)
    if (holder !== undefined) {
      request.admin = holder
      return done()
    }
    const named = namedBy(request.raw)
    if (named instanceof Refusal) return done(named)
    if (named) {
      request.admin = named
      void reply.headers(privately)
      return done()
    }
    if (tokens.length === 0) return done(closed())
    const entry = authorization === undefined ? sessionOf(request.raw) : undefined
    if (entry && !(entry instanceof Refusal)) {
      request.admin = entry.session
      void reply.headers(entry.headers)
      return done()
    }
    if (entry && entry.status !== 401) return done(entry)
    const why = (): Refusal => entry ?? (authorization === undefined ? missing() : invalid())
    done(guesses.refuse(request.raw.socket.remoteAddress, why))
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
    done(
      new Refusal(
        'forbidden',
        `This needs the role ${needed === 'all' ? 'all (a token without a role)' : needed}; ${name} has the role ${role}.`,
      ),
    )
  }
}
