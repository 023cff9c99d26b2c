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
import { callerFrom, type Caller, type Restriction } from '../caller.ts'
import type { CachedKey } from '../keys/cache.ts'
import type { Found, KeyDirectory } from '../keys/directory.ts'
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
    const caller = callerOf(key)
    if (!caller) {
      const { id, plan } = key.grant
      request.log.error({ key: id, plan }, 'the plan of a key is not in the configuration')
      return refuseStranger(request, reply, unplanned)
    }
    request.caller = caller
    request.forbidden = caller.allows !== undefined && !isWithin(caller.allows, request)
    done()
  }

  function isWithin(allows: Restriction, request: FastifyRequest): boolean {
    return allows(request.method, pathOf(request), () => addressOf(request))
  }

  function callerOf(key: CachedKey): Caller | undefined {
    if (key.plans !== plans) {
      key.caller = callerFrom(key.grant, plans, bans)
      key.plans = plans
    }
    return key.caller
  }

  function refuseUnchecked(request: FastifyRequest, reply: FastifyReply): void {
    const decision = strangers.stand(addressOf(request))
    request.standing = { decision, limits: strangers.limits }
    const sentence = `Keys can't be checked just now. Try again in ${secondsUntilBack} seconds.`
    const headers = { 'retry-after': secondsUntilBack }
    void answer(reply, new Refusal('service_unavailable', sentence, headers))
  }
}

// Made once: to make one for each request is a twentieth of what refusing costs.
const unplanned = refusing('forbidden', 'The plan of your key is not offered any more.')

const missing = refusing(
  'missing_api_key',
  'Send your API key: "Authorization: Bearer <API_KEY>".',
  challenging(challenge),
)

const invalid = refusing(
  'invalid_api_key',
  'The API key is not valid.',
  challenging(`${challenge}, error="invalid_token"`),
)

function refusing(...about: ConstructorParameters<typeof Refusal>): () => Refusal {
  const refusal = new Refusal(...about)
  return () => refusal
}

function challenging(challenge: string): Readonly<Record<string, string>> {
  return { 'www-authenticate': challenge, 'cache-control': 'no-store' }
}
