import type {
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction as Done,
  onRequestHookHandler,
} from 'fastify'
import { hasBody } from '../../../shared/node/linger.ts'
import type { Refusal } from '../../../shared/refusal.ts'
import { stateOf, type Caller } from '../keys/caller.ts'
import { unscoped } from '../keys/refusals.ts'
import { bodied, tooManyAtOnce } from '../forwarding/refusals.ts'
import type { DecisiveTerms } from '../limits/cached-refusals.ts'
import { rulesFor } from '../limits/conduct.ts'
import { crowdedRefusal, waitRefusal } from '../limits/wait-refusal.ts'
import { forbidden, tooSmall, unavailable } from '../limits/refusals.ts'
import type { Quotas } from '../limits/quotas.ts'
import { limitsIn, neededBy, type Decision } from '../limits/step.ts'
import type { Terms } from '../keys/terms.ts'
import { refuse, type RequestRecord } from '../request-record.ts'
import { ownStandingView } from '../limits/views.ts'

export type AdmitOptions = Readonly<{
  quotas: Quotas
  /** Whether the route only shows the caller's limits, and so is open to banned callers, too. */
  asksOnly: boolean
  /** Called when a request has banned its key, by these rules. */
  banned: (caller: Caller, bans: Terms['bans'], untilMs: number) => void
}>

/**
 * Admits and counts a request in one step if its caller's quota has room, else refuses it with 429. A request
 * that the key isn't allowed, or that costs more than its limit, gets 403 and isn't counted.
 */
export function admit(options: AdmitOptions): onRequestHookHandler {
  const admission = new Admission(options)
  return function admit(request, reply, done): void {
    admission.begin(request, reply, done)
  }
}

/** The admission of the requests of a route. */
class Admission {
  readonly #options: AdmitOptions

  constructor(options: AdmitOptions) {
    this.#options = options
  }

  begin(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { tollgate: record } = request
    const { caller, terms } = record ?? {}
    if (!record || !caller || !terms) throw new Error('admit comes after follow and authenticate')
    // Its caller left while the key was looked up. Nothing would count it down in the share.
    if (record.hasEnded) return
    const { cost, share } = record.route
    if (share) {
      if (!share.enter(caller.quota)) {
        record.shareTaken = share.takenBy(caller.quota)
        return this.#holdBack(record, caller, terms, reply, done)
      }
      record.share = share
    }
    const { asksOnly } = this.#options
    const parts = asksOnly ? terms.allParts : terms.partsOf?.(request.method, record.path)
    const tooDear = cost > 1 ? tooSmall(cost, terms.limits, parts) : undefined
    if (tooDear) record.forbidden ??= 'cost'
    const refusal = record.forbidden && refusalOf(record, tooDear)
    if (record.trace) record.trace.askedAtMs = performance.now()
    const decided = this.#decide(record, caller, parts ? { ...terms, parts } : terms, refusal)
    if (!(decided instanceof Promise)) return this.#proceed(decided, refusal, record, reply, done)
    decided.then((decision) => this.#proceed(decision, refusal, record, reply, done)).catch(done)
  }

  #decide(
    { route: { cost, answerCost } }: RequestRecord,
    caller: Caller,
    terms: DecisiveTerms,
    refusal: Refusal | undefined,
  ): Decision | Promise<Decision> {
    const { quotas, asksOnly } = this.#options
    if (asksOnly) return quotas.stand(caller, terms)
    // A refused request takes no place.
    if (refusal) {
      const asked = terms.hasPlaces ? { ...terms, hasPlaces: false } : terms
      return quotas.decide(caller, asked, 0, stateOf(caller))
    }
    const isForRoom = cost === 0 && answerCost !== undefined
    const asked = isForRoom ? { ...terms, least: 1 } : terms
    return quotas.decide(caller, asked, cost, stateOf(caller))
  }

  /** Refuses a request over the caller's share, without counting it. A running ban is told first. */
  #holdBack(
    record: RequestRecord,
    caller: Caller,
    terms: Terms,
    reply: FastifyReply,
    done: Done,
  ): void {
    const refuseAt = (decision: Decision): void => {
      const standing = (record.stand = {
        decision,
        limits: limitsIn(decision, terms.limits),
      })
      const isBanned = decision.verdict === 'banned'
      void refuse(
        reply,
        isBanned ? waitRefusal('key_banned', standing, terms.bans) : tooManyAtOnce(),
      )
    }
    const decided = this.#options.quotas.stand(caller, terms)
    if (decided instanceof Promise) decided.then(refuseAt).catch(done)
    else refuseAt(decided)
  }

  #proceed(
    decision: Decision,
    refusal: Refusal | undefined,
    record: RequestRecord,
    reply: FastifyReply,
    done: Done,
  ): void {
    const { caller, terms } = record
    if (!caller || !terms) throw new Error('a decision is made for a caller')
    const { asksOnly, banned } = this.#options
    const { place } = decision
    if (place) Object.assign(place, { id: reply.request.id, plan: caller.plan })
    // Its caller left meanwhile: nothing would give its place back.
    if (record.hasEnded) place?.leave()
    else record.place = place
    if (record.trace) record.trace.decidedAtMs = performance.now()
    record.parts = decision.parts
    const standing = (record.stand = {
      decision: asksOnly ? withoutOperations(decision) : decision,
      limits: limitsIn(decision, terms.limits),
    })
    const { verdict } = standing.decision
    if (verdict === 'unavailable') return void refuse(reply, unavailable())
    if (asksOnly) return done()
    if (decision.bans) {
      const bans = terms.bans && rulesFor(terms.bans, neededBy(decision))
      banned(caller, bans, decision.bannedUntilMs)
    }
    if (verdict === 'banned')
      return void refuse(reply, waitRefusal('key_banned', standing, terms.bans))
    if (verdict === 'crowded') return void refuse(reply, crowdedRefusal(decision))
    if (verdict === 'refused') {
      return void refuse(reply, waitRefusal('rate_limit_exceeded', standing, terms.bans))
    }
    if (refusal) return void refuse(reply, refusal)
    // Its caller left meanwhile. Nothing would cancel a call to the backend.
    if (!record.hasEnded) done()
  }
}

/** The refusal of a request that its key, its plan, its cost or its route forbids. */
function refusalOf(
  { forbidden: why, route }: RequestRecord,
  tooDear: ReturnType<typeof tooSmall>,
): Refusal | undefined {
  if (why === 'scope') return unscoped(route.needs ?? [])
  return why && forbidden(why, route.cost, tooDear)
}

/** Answers `GET /v1/quota` with the state of the caller's limits. It costs nothing and is never counted. */
export function quotaView(request: FastifyRequest, reply: FastifyReply): object {
  if (hasBody(request.raw)) return refuse(reply, bodied(request.method))
  const { caller, terms, stand, parts } = request.tollgate ?? {}
  if (!caller || !stand) throw new Error('a standing comes after admit')
  return ownStandingView(caller.plan, { ...stand, parts }, terms)
}

/** A decision whose headers tell no operation: the request fits none. */
function withoutOperations(decision: Decision): Decision {
  const { parts } = decision
  if (!parts) return decision
  return { ...decision, parts: parts.filter(({ part }) => part.operation === undefined) }
}
