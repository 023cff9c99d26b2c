import type { FastifyContextConfig, FastifyInstance } from 'fastify'
import { loggable } from '../../shared/log.ts'
import type { Config } from './config/config.ts'
import type { Front } from './front.ts'
import { recorder, type Recorder } from './counts/recorder.ts'
import { deprecationFinder } from './config/deprecations.ts'
import { resourceMetadataOf } from './resource-metadata.ts'
import { lenienceOf } from './http/lenience.ts'
import { Via } from './http/via.ts'
import { ConfiguredPlans } from './keys/terms.ts'
import { corsFrom, type Cors } from './http/cors.ts'
import { authorization, titled } from './http/key-header.ts'
import { Tickets } from './keys/tickets.ts'
import type { TokenOf } from './http/token-source.ts'
import { costTerms } from './limits/answer-cost.ts'
import { follow } from './stages/1-follow.ts'
import { screen } from './stages/2-screen.ts'
import { preflight } from './stages/3-preflight.ts'
import { authenticate, letAnybodyIn } from './stages/4-authenticate.ts'
import { act } from './stages/5-act.ts'
import { admit } from './stages/6-admit.ts'
import { retire } from './stages/7-retire.ts'
import { announce } from './stages/9-announce.ts'
import type { GuardOptions, Opened } from './opened.ts'
import type { RouteStages } from './replaceable-stages.ts'
import type { RouteSettings } from './routes.ts'
import { addressFinder, strangerRefuser } from './stranger.ts'
import { answeredCost, hasFailed } from './answered-cost.ts'
import type { GuardedRoute } from './request-record.ts'

export type GuardedSettings = RouteSettings &
  Readonly<{
    /** Whether its requests count as no usage. */
    isFree?: boolean
  }>

/** The stages of each route. Most are the same for all routes, and made once. */
export class Stages {
  readonly via: Via | undefined
  readonly #options: GuardOptions
  readonly #opened: Opened
  readonly #record: Recorder
  readonly #shared: Pick<RouteStages, 'screen' | 'preflight'>
  readonly #guarded: Pick<RouteStages, 'authenticate' | 'act' | 'retire' | 'announce'>
  readonly #open: Pick<RouteStages, 'authenticate' | 'announce'>

  constructor(app: FastifyInstance, options: GuardOptions, opened: Opened, tokenOf: TokenOf) {
    const { config, front, clock, asking } = options
    const { directory, quotas, strangers, lastUses, tunnels } = front
    const tickets = config.tickets ? new Tickets(front.stores.documents) : undefined
    this.#options = options
    this.#opened = opened
    this.#record = recorderOf(app, options)
    const addressOf = addressFinder(opened.trustedProxies, asking)
    const refuseStranger = strangerRefuser(strangers, addressOf)
    const isDeprecating = config.deprecations.length > 0
    const lenience = lenienceOf(app)
    const find = isDeprecating ? deprecationFinder(config.deprecations, lenience) : undefined
    const { outside, unanswered } = opened
    const cors = config.cors.origins.length > 0 ? corsOf(app, config) : undefined
    // Who forwards what is decided here doesn't tell when it has been answered.
    const plans = new ConfiguredPlans({ ...config, lenience, limitsPlaces: !asking })
    const { ietf } = config
    const keyHeaders = config.keys.from.map(titled)
    const metadataOf = opened.resource && resourceMetadataOf(opened.resource)
    this.via = config.via === undefined ? undefined : new Via(config.via)
    this.#shared = {
      screen: screen({ refuseStranger, via: this.via }),
      preflight: cors && preflight({ cors, strangers, addressOf }),
    }
    this.#guarded = {
      authenticate: authenticate({
        ...{ directory, outside, strangers, plans, addressOf, refuseStranger, lastUses, clock },
        ...{ tokenOf, tickets, tunnels },
        // An app's own way may read keys anywhere: nobody is told to send a Bearer token then.
        keyHeaders: keyHeaders.filter((name) => !options.keyOf || name !== titled(authorization)),
      }),
      act: act({ quotas, strangers, addressOf, find, clock, refusesOnly: Boolean(asking) }),
      retire: find && retire({ find, clock, called: this.#record.deprecatedCall, unanswered }),
      announce: announce({ ietf, find, cors, keyHeaders, metadataOf }),
    }
    this.#open = {
      authenticate: letAnybodyIn(strangers, addressOf),
      // Its path may fit a deprecated operation, which it isn't.
      announce: announce({ ietf, find: undefined, cors, keyHeaders, metadataOf: undefined }),
    }
  }

  guardedRoute(settings: GuardedSettings): GuardedRoute {
    const { label, cost, answerCost, needs, errors, upstream = '', isFree = false } = settings
    const { forwarder, answer } = settings
    const record = this.#record.answersOf({ path: label, upstream, isFree })
    const { front } = this.#options
    const unanswered = forwarder || answer ? undefined : this.#opened.unanswered
    const ended = answerCost || unanswered ? adjusting(front, record, unanswered) : record
    const share = this.#opened.upstreams.get(upstream)?.share
    return { label, cost, answerCost, needs, errors, share, ended, forwarder, answer }
  }

  /** The stages of one route; `forward` answers instead of its handler, see routes.ts. */
  ofRoute(settings: FastifyContextConfig, url: string): RouteStages {
    const { tollgate, cost = 1, scopes: needs, label = url, routeOf, isOwn } = settings
    const { quotas } = this.#options.front
    const { underWay, tell } = this.#options
    const asksOnly = tollgate === 'quota'
    const isFree = asksOnly || tollgate === 'open'
    const find = routeOf ?? always(this.guardedRoute({ label, needs, ...costTerms(cost), isFree }))
    const anyway = {
      follow: follow({ routeOf: find, underWay, tell, tracer: this.#opened.tracer }),
      ...this.#shared,
    }
    if (tollgate === 'open') {
      return { ...anyway, ...this.#open, act: undefined, admit: undefined, retire: undefined }
    }
    return {
      ...anyway,
      ...this.#guarded,
      // The gateway's own endpoints answer whatever the limits say.
      act: isFree || isOwn ? undefined : this.#guarded.act,
      admit: admit({ quotas, asksOnly, banned: this.#record.banned }),
    }
  }
}

/**
 * Adjusts the points of a request to what its answer has told, before it is recorded. Those of a handler that has failed come
 * back by `unanswered`.
 */
function adjusting(
  { quotas, meters }: Front,
  record: GuardedRoute['ended'],
  unanswered: Opened['unanswered'] | undefined,
): GuardedRoute['ended'] {
  return (request, reply) => {
    if (request.tollgate && hasFailed(request.tollgate, reply)) unanswered?.(request.tollgate)
    const { caller, stand } = request.tollgate ?? {}
    const answered = request.tollgate && answeredCost(request.tollgate)
    if (caller && stand && answered) {
      meters.answerCosts.add(answered.outcome, '')
      const points = answered.cost - stand.decision.cost
      void quotas.adjust(caller.quota, stand.decision, { points, isAnswered: true })
    }
    record(request, reply)
  }
}

function recorderOf(app: FastifyInstance, { config, front, clock }: GuardOptions): Recorder {
  return recorder({
    counts: front,
    // A ban during an outage holds in this gateway only, so it isn't written to the audit.
    earnedBan: (banned, untilMs) => {
      if (!front.quotas.isReachable) return
      front.earnedBans.add(banned, untilMs)
      front.spreadBan(banned)
    },
    hash: config.hash,
    clock,
    log: app.log,
  })
}

function corsOf(app: FastifyInstance, config: Config): Cors {
  return corsFrom(config.cors, config.keys.from.map(titled), (origin) =>
    app.log.info(
      { origin: loggable(origin) },
      'a page of an origin that is not in cors.origins sent a request: its browser hides the answers',
    ),
  )
}

function always<Value>(value: Value): () => Value {
  return () => value
}
