import type {
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction as Done,
  onRequestHookHandler,
} from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import { Refusal } from '../../shared/refusal.ts'
import { answer, pathOf } from '../../shared/service.ts'
import { bearerToken } from '../bearer.ts'
import { callerFrom, type KnownCaller, type Restriction } from '../caller.ts'
import type { CachedKey } from '../keys/cache.ts'
import type { Found, KeyDirectory } from '../keys/directory.ts'
import type { StoredKey } from '../keys/key.ts'
import { isOurs, isWellFormed } from '../keys/token.ts'
import type { Plan } from '../limits/limits.ts'
import type { BanRules } from '../limits/step.ts'
import type { Strangers } from '../limits/strangers.ts'
import type { AddressOf, RefuseStranger } from '../stranger.ts'

export type AuthenticateOptions = Readonly<{
  directory: KeyDirectory
  strangers: Strangers
  plans: ReadonlyMap<string, Plan>
  bans: BanRules
  addressOf: AddressOf
  refuseStranger: RefuseStranger
  clock: Clock
}>

const challenge = 'Bearer realm="tollgate"'
const secondsUntilBack = '5'

/** Finds out who sends a request, before a byte of its body is read; refuses who can't be known. */
export function authenticate(options: AuthenticateOptions): onRequestHookHandler {
  const { directory, strangers, plans, bans, addressOf, refuseStranger, clock } = options
  const callers = new WeakMap<StoredKey, KnownCaller | 'unplanned'>()

  return function authenticate(request, reply, done): void {
    const token = bearerToken(request.raw.rawHeaders)
    if (token === undefined) return refuseStranger(request, reply, missing)
    if (token === null) return refuseStranger(request, reply, invalid)
    const cached = directory.recall(token)
    if (cached) return letIn(cached, request, reply, done)
    if (isOurs(token) && !isWellFormed(token)) return refuseStranger(request, reply, invalid)
    if (strangers.isOver(addressOf(request)) && !directory.mayExist(token)) {
      return refuseStranger(request, reply, invalid)
    }
    lookUp(token, request, reply, done)
  }

  function lookUp(token: string, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const found = directory.look(token)
    const decide = (found: Found): void => {
      if (found === 'unavailable') refuseUnchecked(request, reply)
      else if (found === 'unknown') refuseStranger(request, reply, invalid)
      else letIn(found, request, reply, done)
    }
    if (found instanceof Promise) found.then(decide).catch(done)
    else decide(found)
  }

  function letIn(key: CachedKey, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    if (key.validUntilMs <= clock()) return refuseStranger(request, reply, invalid)
    const known = callerOf(key.stored)
    if (known === 'unplanned') {
      const { id, plan } = key.stored.key
      request.log.error({ key: id, plan }, 'the plan of a key is not in the configuration')
      return refuseStranger(request, reply, unplanned)
    }
    request.caller = known.caller
    request.forbidden = known.allows !== undefined && !isWithin(known.allows, request)
    done()
  }

  function isWithin(allows: Restriction, request: FastifyRequest): boolean {
    return allows(request.method, pathOf(request), () => addressOf(request))
  }

  function callerOf(stored: StoredKey): KnownCaller | 'unplanned' {
    const known = callers.get(stored)
    if (known) return known
    const made = callerFrom(stored.key, plans, bans) ?? 'unplanned'
    callers.set(stored, made)
    return made
  }

  function refuseUnchecked(request: FastifyRequest, reply: FastifyReply): void {
    const decision = strangers.stand(addressOf(request))
    request.standing = { decision, limits: strangers.limits }
    const sentence = `Keys can't be checked just now. Try again in ${secondsUntilBack} seconds.`
    const headers = { 'retry-after': secondsUntilBack }
    void answer(reply, new Refusal('service_unavailable', sentence, headers))
  }
}

function unplanned(): Refusal {
  return new Refusal('forbidden', 'The plan of your key is not offered any more.')
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
