import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../shared/clock.ts'
import { Refusal } from '../shared/refusal.ts'
import { pathOf } from '../shared/service.ts'
import {
  bodyChecker,
  signatureChecker,
  signatureHeader,
  signatureRefused,
  type Signed,
} from '../shared/signature.ts'
import type { LookAtBytes } from './body.ts'

const nothing = Buffer.alloc(0)

/**
 * Makes an app refuse requests without the gateway's signature. Returns the check of a body's bytes, to be called before
 * they are parsed.
 */
export function requireSignature(app: FastifyInstance, secret: string, clock: Clock): LookAtBytes {
  const signatureFault = signatureChecker(secret)
  const bodyFault = bodyChecker(secret)
  const look: LookAtBytes = (request, bytes) => {
    const fault = isOpen(request) ? undefined : bodyFault(header(request, signatureHeader), bytes)
    if (fault) throw refusal(fault)
  }
  app.addHook('onRequest', (request, _reply, done) => {
    if (isOpen(request)) return done()
    const fault = signatureFault(signedIn(request), header(request, signatureHeader), clock())
    done(fault ? refusal(fault) : undefined)
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

function signedIn(request: FastifyRequest): Signed {
  return {
    method: request.method,
    target: request.url,
    callerId: header(request, 'x-caller-id'),
    plan: header(request, 'x-caller-plan'),
    requestId: header(request, 'x-request-id'),
  }
}

function header({ headers }: FastifyRequest, name: string): string {
  return String(headers[name] ?? '')
}

/** The header tells the gateway that the fault is its own, not the caller's. */
function refusal(fault: string): Refusal {
  return new Refusal('forbidden', fault, { [signatureHeader]: signatureRefused })
}
