import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import { Refusal } from '../../shared/refusal.ts'
import { answer, pathOf } from '../../shared/service.ts'
import { clientAddress, neighbourhoodOf, type Ranges } from '../address.ts'
import { bearerToken } from '../bearer.ts'
import { callerFrom, type KnownCaller } from '../caller.ts'
import type { CachedKey } from '../keys/cache.ts'
import type { Found, KeyDirectory } from '../keys/directory.ts'
import type { StoredKey } from '../keys/key.ts'
import { isOurs, isWellFormed } from '../keys/token.ts'
import { secondsToWait, tellingWindow } from '../limits/headers.ts'
import type { Plan } from '../limits/limits.ts'
import type { Strangers } from '../limits/strangers.ts'

export type AuthenticateOptions = Readonly<{
  directory: KeyDirectory
  strangers: Strangers
  plans: ReadonlyMap<string, Plan>
  trustedProxies: Ranges
  clock: Clock
}>

const challenge = 'Bearer realm="tollgate"'
const secondsUntilBack = '5'

/** Finds out who sends a request, before a byte of its body is read; refuses who can't be known. */
export function authenticate(options: AuthenticateOptions): onRequestHookHandler {
  const { directory, strangers, plans, trustedProxies, clock } = options
  const callers = new WeakMap<StoredKey, KnownCaller | 'unplanned'>()

  return function authenticate(request, reply, done): void {
    const token = bearerToken(request.raw.rawHeaders)
    if (token === undefined || token === null) return refuseStranger(request, reply, token)
    const cached = directory.recall(token)
    if (cached) return admit(cached)
    if (isOurs(token) && !isWellFormed(token)) return refuseStranger(request, reply, null)
    const address = addressOf(request)
    if (strangers.isOver(neighbourhoodOf(address)) && !directory.mayExist(token)) {
      return refuseStranger(request, reply, null)
    }
    const found = directory.look(token)
    if (found instanceof Promise) void found.then(decide)
    else decide(found)

    function decide(found: Found): void {
      if (found === 'unavailable') refuseUnchecked(reply)
      else if (found === 'unknown') refuseStranger(request, reply, null)
      else admit(found)
    }

    function admit(key: CachedKey): void {
      if (key.validUntilMs <= clock()) return refuseStranger(request, reply, null)
      const known = callerOf(key.stored)
      if (known === 'unplanned') {
        const { id, plan } = key.stored.key
        request.log.error({ key: id, plan }, 'the plan of a key is not in the configuration')
        return refuse(
          reply,
          new Refusal('forbidden', 'The plan of your key is not offered any more.'),
        )
      }
      request.caller = known.caller
      if (known.allows(request.method, pathOf(request), () => addressOf(request))) return done()
      refuse(reply, new Refusal('forbidden', 'Your key is not for this operation or this address.'))
    }
  }

  function callerOf(stored: StoredKey): KnownCaller | 'unplanned' {
    const known = callers.get(stored)
    if (known) return known
    const made = callerFrom(stored.key, plans) ?? 'unplanned'
    callers.set(stored, made)
    return made
  }

  function addressOf({ raw }: FastifyRequest): string {
    return clientAddress(raw.socket.remoteAddress, raw.headers['x-forwarded-for'], trustedProxies)
  }

  /** `undefined`: no key was sent; `null`: one that is none. Which of the many kinds, nobody is told. */
  function refuseStranger(
    request: FastifyRequest,
    reply: FastifyReply,
    token: null | undefined,
  ): void {
    const decision = strangers.take(neighbourhoodOf(addressOf(request)))
    const window = tellingWindow(decision, strangers.limits, 1)
    if (decision.verdict !== 'admitted' && window) {
      const seconds = secondsToWait(window.resetMs, decision.nowMs)
      const sentence = `Too many requests without a valid key came from your address. Try again in ${seconds} seconds.`
      return refuse(
        reply,
        new Refusal('too_many_failed_attempts', sentence, {
          'retry-after': String(seconds),
          'cache-control': 'no-store',
        }),
      )
    }
    refuse(reply, token === undefined ? missing() : invalid())
  }
}

function missing(): Refusal {
  return new Refusal('missing_api_key', 'Send your API key: "Authorization: Bearer <API_KEY>".', {
    'www-authenticate': challenge,
    'cache-control': 'no-store',
  })
}

function invalid(): Refusal {
  return new Refusal('invalid_api_key', 'The API key is not valid.', {
    'www-authenticate': `${challenge}, error="invalid_token"`,
    'cache-control': 'no-store',
  })
}

function refuseUnchecked(reply: FastifyReply): void {
  const sentence = `Keys can't be checked just now. Try again in ${secondsUntilBack} seconds.`
  refuse(reply, new Refusal('service_unavailable', sentence, { 'retry-after': secondsUntilBack }))
}

function refuse(reply: FastifyReply, refusal: Refusal): void {
  void answer(reply, refusal)
}
