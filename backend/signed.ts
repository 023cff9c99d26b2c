import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../shared/clock.ts'
import { digestHeader } from '../shared/content-digest.ts'
import { Refusal } from '../shared/refusal.ts'
import { pathOf } from '../shared/service.ts'
import { signatureChecker, signatureHeader, signatureRefused } from '../shared/signature.ts'
import { bodyFault } from '../shared/verify-signature.ts'
import type { LookAtBytes } from './body.ts'

const nothing = Buffer.alloc(0)

/**
 * Makes an app refuse requests without the gateway's signature. Returns the check of a body's bytes, to be called before
 * they are parsed.
 */
export function requireSignature(app: FastifyInstance, secret: string, clock: Clock): LookAtBytes {
  const check = signatureChecker(secret)
  const coveredBy = new WeakMap<FastifyRequest, readonly string[]>()
  const look: LookAtBytes = (request, bytes) => {
    const covered = coveredBy.get(request) ?? []
    const fault = bodyFault(covered, request.headers[digestHeader], bytes)
    if (fault) throw refusal(fault)
  }
  app.addHook('onRequest', (request, _reply, done) => {
    if (isOpen(request)) return done()
    const { method, url: target, headers } = request
    const covered = check({ method, target, headers }, clock())
    if (typeof covered === 'string') return done(refusal(covered))
    coveredBy.set(request, covered)
    done()
  })
  // For a signed body that didn't come, the check of bytes hasn't run yet.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.body === undefined) look(request, nothing)
    done()
  })
  return look
}

/** Health checks come from operators, not through the gateway, and carry no signature. */
function isOpen(request: FastifyRequest): boolean {
  return pathOf(request) === '/healthz'
}

/** The header tells the gateway that the fault is its own, not the caller's. */
function refusal(fault: string): Refusal {
  return new Refusal('forbidden', fault, { [signatureHeader]: signatureRefused })
}
