import type {
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction as Done,
  onRequestHookHandler,
} from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import { Refusal, type Reason } from '../../../shared/refusal.ts'
import { logOf } from '../../../shared/request-log.ts'
import { pathOf } from '../../../shared/service.ts'
import { actFrom } from '../acts/act.ts'
import { authorization, titled } from '../http/key-header.ts'
import type { NoToken, TokenOf } from '../http/token-source.ts'
import { Caller, stateOf } from '../keys/caller.ts'
import type { KeyDirectory, LookUp } from '../keys/directory.ts'
import type { Denial, OutsideFinder } from '../keys/outside-callers.ts'
import { appKind } from '../keys/outsider.ts'
import { isOurs, isWellFormed, isWhole } from '../keys/token.ts'
import type { Strangers } from '../limits/strangers.ts'
import type { ConfiguredPlans } from '../keys/terms.ts'
import type { LastUses } from '../counts/last-uses.ts'
import { LogThrottle } from '../http/log-throttle.ts'
import { refuse, type RequestRecord } from '../request-record.ts'
import type { AddressOf, RefuseStranger } from '../stranger.ts'

export type AuthenticateOptions = Readonly<{
  /** Finds the token of a request. */
  tokenOf: TokenOf
  /** The headers in which keys come, as documents spell them. */
  keyHeaders: readonly string[]
  directory: KeyDirectory
  /** Finds the callers of tokens that are no keys; `undefined` where there are only keys. */
  outside: OutsideFinder | undefined
  strangers: Strangers
  plans: ConfiguredPlans
  addressOf: AddressOf
  refuseStranger: RefuseStranger
  lastUses: Pick<LastUses, 'add'>
  clock: Clock
}>

const challenge = 'Bearer realm="tollgate"'
const secondsUntilBack = '5'

/** The time between two log lines about a key whose plan is gone. */
const everyMinuteMs = 60_000

/** Finds the caller of a request before its body is read; refuses strangers. */
export function authenticate(options: AuthenticateOptions): onRequestHookHandler {
  const authentication = new Authentication(options)
  return function authenticate(request, reply, done): void {
    authentication.begin(request, reply, done)
  }
}

class Authentication {
  readonly #options: AuthenticateOptions
  readonly #unplannedKeys: LogThrottle
  readonly #tokenless: TokenlessRefusals

  constructor(options: AuthenticateOptions) {
    this.#options = options
    this.#tokenless = tokenlessRefusals(options.keyHeaders)
    this.#unplannedKeys = new LogThrottle(options.clock, everyMinuteMs)
  }

  begin(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { tokenOf, directory, outside, strangers, addressOf, refuseStranger } = this.#options
    const token = tokenOf(request)
    if (typeof token !== 'string') return this.#refuseTokenless(token, request, reply)
    const caller = directory.recall(token)
    if (caller) return this.#letIn(caller, request, reply, done)
    if (isOurs(token) && !isWellFormed(token)) {
      return refuseStranger(request, reply, isWhole(token) ? mistyped : malformed)
    }
    const isOver = strangers.isOver(addressOf(request))
    const taker = outside?.takes(token, isOver) ? outside : undefined
    if ((taker || isOver) && !directory.mayExist(token)) {
      if (!taker) return refuseStranger(request, reply, unknown)
      return this.#lookOutside(taker, token, isOver, request, reply, done)
    }
    this.#lookUp(token, request, reply, done)
  }

  #refuseTokenless({ why }: NoToken, request: FastifyRequest, reply: FastifyReply): void {
    if (why === 'failed') return this.#refuseUnchecked('app', request, reply)
    this.#options.refuseStranger(request, reply, this.#tokenless[why])
  }

  #lookUp(token: string, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { directory } = this.#options
    const looked = directory.look(token)
    const decide = (result: LookUp): void => {
      if (result === 'unavailable') this.#refuseUnchecked('store', request, reply)
      else if (result === 'unknown') this.#lookFurther(token, request, reply, done)
      else this.#letIn(result, request, reply, done)
    }
    if (looked instanceof Promise) looked.then(decide).catch(done)
    else decide(looked)
  }

  /** Goes on with a token that no key has. */
  #lookFurther(token: string, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { outside, strangers, addressOf, refuseStranger } = this.#options
    if (!outside) return refuseStranger(request, reply, unknown)
    const isOver = strangers.isOver(addressOf(request))
    if (!outside.takes(token, isOver)) return refuseStranger(request, reply, unknown)
    this.#lookOutside(outside, token, isOver, request, reply, done)
  }

  #lookOutside(
    outside: OutsideFinder,
    token: string,
    isOver: boolean,
    request: FastifyRequest,
    reply: FastifyReply,
    done: Done,
  ): void {
    const decide = (result: Caller | Denial): void => {
      if (result instanceof Caller) this.#letIn(result, request, reply, done)
      else if (result.isTemporary) this.#refuseUnchecked(result.reason, request, reply)
      else this.#options.refuseStranger(request, reply, () => invalidBecause(result.reason))
    }
    outside.find(token, isOver).then(decide).catch(done)
  }

  #letIn(remembered: Caller, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { directory, plans, addressOf, refuseStranger, lastUses, clock } = this.#options
    // Nearly all callers have nothing temporary, and need no look at the clock for it.
    const caller = stateOf(remembered).change ? directory.present(remembered) : remembered
    const { tollgate: record } = request
    if (!record) throw new Error('authenticate comes after follow')
    const nowMs = clock()
    if (!caller.isValidAt(nowMs)) {
      record.turnedAway = caller
      return refuseStranger(request, reply, ended[stateOf(caller).endsBecause])
    }
    lastUses.add(caller, nowMs)
    if (caller.isTest && this.#actsAsStranger(request, reply, record)) return
    const terms = plans.termsFor(caller)
    if (!terms) {
      record.turnedAway = caller
      return this.#refuseUnplanned(caller, request, reply)
    }
    record.caller = caller
    record.terms = terms
    record.forbidden = terms.forbids?.(request.method, pathOf(request), () => addressOf(request))
    done()
  }

  /** Notes what a test key has acted. `true` if it is a refusal of a stranger, which this stage acts itself. */
  #actsAsStranger(request: FastifyRequest, reply: FastifyReply, record: RequestRecord): boolean {
    // At the gateway's own endpoints nothing is acted: they answer whatever the limits say.
    const { tollgate, isOwn } = request.routeOptions.config
    if (isOwn || tollgate === 'quota') return false
    const act = (record.act = actFrom(request.headers))
    if (act?.name === 'expired') {
      act.isActed = true
      this.#tellAsStranger(request, reply, ended.expired())
      return true
    }
    if (act?.name !== 'too_many_failed_attempts') return false
    const { strangers, addressOf } = this.#options
    const acted = strangers.actedRefusal(addressOf(request))
    act.isActed = acted !== undefined
    if (!acted) return false
    record.standing = acted.standing
    void refuse(reply, acted.refusal)
    return true
  }

  /** Refuses a key whose plan is gone. It isn't counted as a stranger, because the key is valid. */
  #refuseUnplanned(caller: Caller, request: FastifyRequest, reply: FastifyReply): void {
    const { id, plan } = caller
    const droppedLines = this.#unplannedKeys.take(id)
    if (droppedLines !== undefined) {
      logOf(request).error(
        { key: id, plan, droppedLines },
        'the plan of a key is not in the configuration',
      )
    }
    // The app says that it has this plan, which is a fault of the app, and may be mended at once.
    if (stateOf(caller).outside?.outsider.kind === appKind) {
      return this.#refuseUnchecked('app', request, reply)
    }
    this.#tellAsStranger(request, reply, unplanned())
  }

  #tellAsStranger(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): void {
    const { strangers, addressOf } = this.#options
    const decision = strangers.stand(addressOf(request))
    if (request.tollgate) request.tollgate.standing = { decision, limits: strangers.limits }
    void refuse(reply, refusal)
  }

  #refuseUnchecked(reason: Reason, request: FastifyRequest, reply: FastifyReply): void {
    const sentence = `Keys can't be checked just now. Try again in ${secondsUntilBack} seconds.`
    const headers = { 'retry-after': secondsUntilBack }
    const refusal = new Refusal('service_unavailable', sentence, headers).because(reason)
    this.#tellAsStranger(request, reply, refusal)
  }
}

/** Lets anybody in, with a key or without, and counts nothing: the route is for people who have no key yet. */
export function letAnybodyIn(strangers: Strangers, addressOf: AddressOf): onRequestHookHandler {
  return function letAnybodyIn(request, _reply, done): void {
    const { limits } = strangers
    const decision = strangers.stand(addressOf(request))
    if (request.tollgate) request.tollgate.standing = { decision, limits }
    done()
  }
}

// Made once: a new one for each request would be a twentieth of the cost of refusing.
const unplanned = refusing(
  'plan_gone',
  'forbidden',
  'The plan of your key is not offered any more.',
)

type TokenlessRefusals = Readonly<Record<Exclude<NoToken['why'], 'failed'>, () => Refusal>>

/** The refusals of requests without a token. Sentences name the first header. */
function tokenlessRefusals([first = '', ...others]: readonly string[]): TokenlessRefusals {
  const isBearer = first === titled(authorization)
  const line = `"${first}: ${isBearer ? 'Bearer ' : ''}<API_KEY>"`
  const how = isBearer ? 'after the word Bearer' : 'alone'
  const all = [first, ...others].join(' and ')
  return {
    missing: refusing(
      'no_header',
      'missing_api_key',
      `Send your API key: ${line}.`,
      challenging(challenge),
    ),
    malformed: refusing(
      'malformed_token',
      'invalid_api_key',
      `Write your API key ${how}, in one header: ${line}.`,
      challenging(`${challenge}, error="invalid_token"`),
    ),
    differing: refusing(
      'two_tokens',
      'invalid_request',
      `Send one API key: those in ${all} differ.`,
    ),
  }
}

// Callers get one and the same answer for all of these, so that nobody can find out which keys there are.
const malformed = invalid('malformed_token')
const mistyped = invalid('bad_check')
const unknown = invalid('unknown_token')
const ended = {
  expired: invalid('expired'),
  disabled: invalid('disabled'),
  revoked: invalid('revoked'),
  rotated_out: invalid('rotated_out'),
} as const

function invalid(reason: Reason): () => Refusal {
  const refusal = invalidBecause(reason)
  return () => refusal
}

function invalidBecause(reason: Reason): Refusal {
  const headers = challenging(`${challenge}, error="invalid_token"`)
  return new Refusal('invalid_api_key', 'The API key is not valid.', headers).because(reason)
}

function refusing(reason: Reason, ...about: ConstructorParameters<typeof Refusal>): () => Refusal {
  const refusal = new Refusal(...about).because(reason)
  return () => refusal
}

function challenging(challenge: string): Readonly<Record<string, string>> {
  return { 'www-authenticate': challenge, 'cache-control': 'no-store' }
}
