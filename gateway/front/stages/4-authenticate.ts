import type {
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction as Done,
  onRequestHookHandler,
} from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import type { Reason, Refusal } from '../../../shared/refusal.ts'
import { logOf } from '../../../shared/request-log.ts'
import { ticketInQuery, type TicketInQuery } from '../http/ticket-in-query.ts'
import type { NoToken, TokenOf } from '../http/token-source.ts'
import { Caller, stateOf } from '../keys/caller.ts'
import type { KeyDirectory, LookUp } from '../keys/directory.ts'
import type { Denial, OutsideFinder } from '../keys/outside-callers.ts'
import { appKind } from '../keys/outsider.ts'
import {
  ended,
  invalidBecause,
  malformed,
  mistyped,
  tokenlessRefusals,
  unchecked,
  unknown,
  unplanned,
  type TokenlessRefusals,
} from '../keys/refusals.ts'
import { lackOf } from '../keys/caller-scopes.ts'
import { tokenForTicket } from '../keys/ticket-holder.ts'
import type { Tickets } from '../keys/tickets.ts'
import { isOurs, isWellFormed, isWhole } from '../keys/token.ts'
import type { Strangers } from '../limits/strangers.ts'
import type { ConfiguredPlans } from '../keys/terms.ts'
import type { LastUses } from '../counts/last-uses.ts'
import { LogThrottle } from '../http/log-throttle.ts'
import type { Tunnels } from '../forwarding/tunnels.ts'
import { refuse } from '../request-record.ts'
import type { AddressOf, RefuseStranger } from '../stranger.ts'

export type AuthenticateOptions = Readonly<{
  /** Finds the token of a request. */
  tokenOf: TokenOf
  /** The headers that refusals name, as documents spell them. */
  keyHeaders: readonly string[]
  /** Tickets for what can't send a header; `undefined` where there are none. */
  tickets: Tickets | undefined
  /** Ends what goes on once its caller may not. */
  tunnels: Pick<Tunnels, 'watch'>
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

/** The time between two log lines about a key whose plan is gone. */
const everyMinuteMs = 60_000

/** Finds the caller of a request before its body is read; refuses strangers. */
export function authenticate(options: AuthenticateOptions): onRequestHookHandler {
  const authentication = new Authentication(options)
  const { tokenOf, tickets } = options
  return function authenticate(request, reply, done): void {
    const ticket = tickets && ticketInQuery(request.url)
    if (ticket) authentication.redeem(tickets, ticket, request, reply, done)
    else authentication.begin(tokenOf(request), request, reply, done)
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

  /** Goes on with the token of a ticket. What follows ends with its caller: nobody sends a key with it any more. */
  redeem(
    tickets: Tickets,
    asked: TicketInQuery,
    request: FastifyRequest,
    reply: FastifyReply,
    done: Done,
  ): void {
    const { tokenOf, tunnels, refuseStranger } = this.#options
    const letIn: Done = (error): void => {
      const { caller } = request.tollgate ?? {}
      if (caller)
        reply.raw.once(
          'close',
          tunnels.watch(caller, () => request.raw.destroy()),
        )
      done(error)
    }
    tokenForTicket(tickets, tokenOf, request, asked).then(
      (found) => {
        if (typeof found === 'string') this.begin(found, request, reply, letIn)
        else refuseStranger(request, reply, found)
      },
      () => this.#refuseUnchecked('store', request, reply),
    )
  }

  begin(token: string | NoToken, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { directory, outside, strangers, addressOf, refuseStranger } = this.#options
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

  #letIn(caller: Caller, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { plans, addressOf, refuseStranger, lastUses, clock } = this.#options
    const { tollgate: record } = request
    if (!record) throw new Error('authenticate comes after follow')
    const nowMs = clock()
    if (!caller.isValidAt(nowMs)) {
      record.turnedAway = caller
      return refuseStranger(request, reply, ended[stateOf(caller).endsBecause])
    }
    lastUses.add(caller, nowMs)
    const terms = plans.termsFor(caller)
    if (!terms) {
      record.turnedAway = caller
      return this.#refuseUnplanned(caller, request, reply)
    }
    const { needs } = record.route
    const lack = needs && lackOf(caller, needs)
    if (lack === 'jwt_claim') {
      record.turnedAway = caller
      return refuseStranger(request, reply, () => invalidBecause(lack))
    }
    record.caller = caller
    record.terms = terms
    record.forbidden =
      terms.forbids?.(
        request.method,
        record.path,
        () => addressOf(request),
        request.headers.origin,
      ) ?? lack
    done()
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
    if (request.tollgate) request.tollgate.stand = strangers.standing(addressOf(request))
    void refuse(reply, refusal)
  }

  #refuseUnchecked(reason: Reason, request: FastifyRequest, reply: FastifyReply): void {
    this.#tellAsStranger(request, reply, unchecked(reason))
  }
}

/** Lets anybody in, with a key or without, and counts nothing: the route is for people who have no key yet. */
export function letAnybodyIn(strangers: Strangers, addressOf: AddressOf): onRequestHookHandler {
  return function letAnybodyIn(request, _reply, done): void {
    if (request.tollgate) request.tollgate.stand = strangers.standing(addressOf(request))
    done()
  }
}
