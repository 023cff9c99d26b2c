import type { FastifyContextConfig, FastifyInstance, onSendHookHandler } from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import { loggable } from '../../shared/log.ts'
import type { Sign } from '../../shared/signature.ts'
import { Ranges } from './http/address.ts'
import type { Config, Route } from './config/config.ts'
import type { Front } from './front.ts'
import { recorder, type Recorder } from './counts/recorder.ts'
import { deprecationFinder } from './config/deprecations.ts'
import { lenienceOf } from './http/lenience.ts'
import { Via } from './http/via.ts'
import type { OutsideFinder } from './keys/outside-callers.ts'
import { oneOf } from './keys/outside-finders.ts'
import type { OwnCallers } from './keys/own-callers.ts'
import { ConfiguredPlans } from './keys/terms.ts'
import { ownKeyHeaders } from './forwarding/headers.ts'
import { forwardTo } from './forwarding/route-forwarding.ts'
import { ownAnswers } from './portal/endpoints.ts'
import { guardRoutes, settingsOf } from './guarded-routes.ts'
import { corsFrom, type Cors } from './http/cors.ts'
import { titled } from './http/key-header.ts'
import { tokenSource, type KeyOf, type TokenOf } from './http/token-source.ts'
import { costTerms } from './limits/answer-cost.ts'
import { follow } from './stages/1-follow.ts'
import { preflight } from './stages/3-preflight.ts'
import { screen } from './stages/2-screen.ts'
import { authenticate, letAnybodyIn } from './stages/4-authenticate.ts'
import { admit } from './stages/5-admit.ts'
import { retire } from './stages/6-retire.ts'
import { act } from './stages/7-act.ts'
import { replaceable, type RouteStages } from './replaceable-stages.ts'
import { addRoutes, type RouteOptions, type RouteSettings } from './routes.ts'
import { announce } from './stages/9-announce.ts'
import { addressFinder, strangerRefuser } from './stranger.ts'
import { answeredCost } from './answered-cost.ts'
import type { GuardedRoute, RequestRecord } from './request-record.ts'
import type { Upstream } from './forwarding/upstream.ts'
import type { Tracer } from './traces/tracer.ts'
import { UnderWay } from './forwarding/under-way.ts'
import { inOrder } from './way.ts'

export type GuardOptions = Readonly<{
  config: Config
  front: Front
  /** Signs forwarded requests; `undefined` without a secret. */
  sign: Sign | undefined
  clock: Clock
  /** An app's own way to find the key of a request. */
  keyOf?: KeyOf | undefined
  /** Finds the callers that an app knows itself. */
  ownCallers?: OwnCallers | undefined
  /** Counts guarded requests under way. */
  underWay?: UnderWay | undefined
  /** Whether the app is the gateway's own, without other routes. */
  isAlone?: boolean
  /** Hooks on answers after the stages. */
  finish?: readonly onSendHookHandler[]
}>

type GuardedSettings = Omit<RouteSettings, 'answer'> &
  Readonly<{
    /** Whether its requests count as no usage. */
    isFree?: boolean
    answer?: RouteSettings['answer']
  }>

/** The parts that the routes of one configuration share, until it closes them. */
type Opened = Readonly<{
  upstreams: ReadonlyMap<string, Upstream>
  tracer: Tracer | undefined
  trustedProxies: Ranges
  /** Finds the callers of tokens that are no keys. */
  outside: OutsideFinder | undefined
  /** Gives the points of a request back that no backend has answered. */
  unanswered: (record: RequestRecord) => void
  close: () => void
}>

/** The guard of an app whose routes stay. */
export type Guarding = Readonly<{
  /**
   * Guards by another configuration, with the same routes and own paths, from the next request on. If it rejects, nothing
   * has changed.
   */
  change: (config: Config) => Promise<void>
}>

/**
 * Guards the routes that the configuration forwards, and those of the app that ask for it with
 * `config: { tollgate: true }`. Other routes are left alone.
 */
export async function guard(app: FastifyInstance, options: GuardOptions): Promise<Guarding> {
  const { isAlone = false, finish = [] } = options
  const slots: Slot[] = []
  let inForce = await openGeneration(app, options)
  app.addHook('onClose', (_app, done) => {
    inForce.close()
    done()
  })
  app.decorateRequest('tollgate', null)
  guardRoutes(app, (route) => {
    const settings = settingsOf(route)
    const stagesIn = ({ stages }: Generation): RouteStages => stages.ofRoute(settings, route.url)
    const slot = { stagesIn, stages: stagesIn(inForce) }
    if (!isAlone) slots.push(slot)
    const { announce, ...incoming } = isAlone ? slot.stages : replaceable(slot)
    route.onRequest = [...inOrder(incoming), ...[route.onRequest ?? []].flat()]
    route.onSend = [...[route.onSend ?? []].flat(), announce, ...finish]
  })
  const changeRoutes = await addRoutes(app, options.config, { ...inForce.routes, isAlone })
  return {
    async change(config) {
      const before = inForce
      try {
        const next = await openGeneration(app, { ...options, config })
        try {
          const stages = slots.map(({ stagesIn }) => stagesIn(next))
          const putInForce = await changeRoutes(config, next.routes)
          putInForce()
          slots.forEach((slot, i) => (slot.stages = stages[i] ?? slot.stages))
        } catch (error) {
          next.close()
          throw error
        }
        inForce = next
        if (options.ownCallers) options.ownCallers.plans = config.plans
      } finally {
        options.front.issuers.keep(inForce.config.jwt)
      }
      void before.underWay?.whenNone().then(() => before.close())
    },
  }
}

/** The stages of one route of an app, and how another configuration makes them. */
type Slot = { readonly stagesIn: (generation: Generation) => RouteStages; stages: RouteStages }

/** What one configuration makes of the routes of an app. */
type Generation = Readonly<{
  config: Config
  stages: Stages
  routes: Omit<RouteOptions, 'isAlone'>
  underWay: UnderWay | undefined
  /** Ends it, after its last request. */
  close: () => void
}>

async function openGeneration(app: FastifyInstance, options: GuardOptions): Promise<Generation> {
  const { config, front, sign, clock, isAlone = false } = options
  await front.swaps.prepare(config)
  const underWay = isAlone ? options.underWay : new UnderWay()
  const opened = await open(options)
  const { from } = config.keys
  const tokenOf = tokenSource({ from, keyOf: options.keyOf, longest: opened.outside?.longest })
  const stages = new Stages(app, { ...options, underWay }, opened, tokenOf)
  const { upstreams, trustedProxies, unanswered, close } = opened
  const { tunnels, onlooker } = front
  const keyHeaders = ownKeyHeaders(from)
  const forwarding = {
    ...{ trustedProxies, via: stages.via, sign, clock, keyHeaders, unanswered, tunnels, onlooker },
  }
  const routes = {
    guardedRoute: (settings: GuardedSettings) => stages.guardedRoute(settings),
    forwardingOf(route: Route) {
      const upstream = upstreams.get(route.upstream)
      if (!upstream) throw new Error(`the upstream ${route.upstream} is not open`)
      return forwardTo(forwarding, route, upstream)
    },
    own: ownAnswers({ config, stores: front.stores, tokenOf, clock, log: app.log }),
  }
  return { config, stages, routes, underWay, close }
}

async function open(options: GuardOptions): Promise<Opened> {
  const releases: (() => void)[] = []
  const close = (): void => releases.splice(0).forEach((release) => release())
  try {
    return { ...(await acquireAll(options, releases)), close }
  } catch (error) {
    close()
    throw error
  }
}

/** Acquires the shared parts, and notes how to release each. */
async function acquireAll(
  { config, front, ownCallers }: GuardOptions,
  releases: (() => void)[],
): Promise<Omit<Opened, 'close'>> {
  const traced = config.traces && (await front.exporters.acquire(config.traces, config.hash))
  if (traced) releases.push(traced.release)
  const upstreams = new Map<string, Upstream>()
  for (const [name, settings] of config.upstreams) {
    const upstream = front.upstreams.acquire(settings)
    releases.push(() => front.upstreams.release(upstream))
    upstreams.set(name, upstream)
  }
  const jwt = await front.issuers.open(config.jwt)
  return {
    upstreams,
    tracer: traced?.tracer,
    trustedProxies: new Ranges(config.trustedProxies),
    outside: oneOf([ownCallers, jwt].filter((finder) => finder !== undefined)),
    unanswered(record) {
      const { caller, standing } = record
      if (!caller || !standing) return
      record.isGivenBack = true
      void front.quotas.giveBack(caller.quota, standing.decision)
    },
  }
}

/** The stages of each route. Most are the same for all routes, and made once. */
class Stages {
  readonly via: Via | undefined
  readonly #options: GuardOptions
  readonly #opened: Opened
  readonly #record: Recorder
  readonly #shared: Pick<RouteStages, 'screen' | 'preflight'>
  readonly #guarded: Pick<RouteStages, 'authenticate' | 'retire' | 'announce'>
  readonly #open: Pick<RouteStages, 'authenticate' | 'announce'>

  constructor(app: FastifyInstance, options: GuardOptions, opened: Opened, tokenOf: TokenOf) {
    const { config, front, clock } = options
    const { directory, strangers, lastUses } = front
    this.#options = options
    this.#opened = opened
    this.#record = recorderOf(app, options)
    const addressOf = addressFinder(opened.trustedProxies)
    const refuseStranger = strangerRefuser(strangers, addressOf)
    const cors = corsOf(app, config)
    const find = deprecationFinder(config.deprecations, lenienceOf(app))
    const { outside, unanswered } = opened
    const isForPages = config.cors.origins.length > 0
    const plans = new ConfiguredPlans(config)
    const { ietf } = config
    const keyHeaders = config.keys.from.map(titled)
    this.via = config.via === undefined ? undefined : new Via(config.via)
    this.#shared = {
      screen: screen({ refuseStranger, via: this.via }),
      preflight: isForPages ? preflight({ cors, strangers, addressOf }) : undefined,
    }
    this.#guarded = {
      authenticate: authenticate({
        ...{ directory, outside, strangers, plans, addressOf, refuseStranger, lastUses, clock },
        ...{ tokenOf, keyHeaders },
      }),
      retire: retire({ find, clock, called: this.#record.deprecatedCall, unanswered }),
      announce: announce({ ietf, find, cors, keyHeaders }),
    }
    this.#open = {
      authenticate: letAnybodyIn(strangers, addressOf),
      // Its path may fit a deprecated operation, which it isn't.
      announce: announce({ ietf, find: () => undefined, cors, keyHeaders }),
    }
  }

  guardedRoute(settings: GuardedSettings): GuardedRoute {
    const { label, cost, answerCost, upstream = '', isFree = false, answer } = settings
    const record = this.#record.answersOf({ path: label, upstream, isFree })
    const { front } = this.#options
    const ended = answerCost ? adjusting(front, record) : record
    const share = this.#opened.upstreams.get(upstream)?.share
    return { label, cost, answerCost, share, ended, answer }
  }

  /** The stages of one route; `forward` answers instead of its handler, see routes.ts. */
  ofRoute(settings: FastifyContextConfig, url: string): RouteStages {
    const { tollgate, cost = 1, label = url, routeOf } = settings
    const { quotas } = this.#options.front
    const { underWay } = this.#options
    const asksOnly = tollgate === 'quota'
    const isFree = asksOnly || tollgate === 'open'
    const find = routeOf ?? always(this.guardedRoute({ label, ...costTerms(cost), isFree }))
    const anyway = {
      follow: follow({ routeOf: find, underWay, tracer: this.#opened.tracer }),
      ...this.#shared,
    }
    if (tollgate === 'open') {
      return { ...anyway, ...this.#open, admit: undefined, retire: undefined, act: undefined }
    }
    return {
      ...anyway,
      ...this.#guarded,
      admit: admit({ quotas, asksOnly, banned: this.#record.banned }),
      act: isFree || routeOf ? undefined : act,
    }
  }
}

/** Adjusts the points of a request to what its answer has told, before it is recorded. */
function adjusting(
  { quotas, meters }: Front,
  record: GuardedRoute['ended'],
): GuardedRoute['ended'] {
  return (request, reply) => {
    const { caller, standing } = request.tollgate ?? {}
    const answered = request.tollgate && answeredCost(request.tollgate)
    if (caller && standing && answered) {
      meters.answerCosts.add(answered.outcome, '')
      const points = answered.cost - standing.decision.cost
      void quotas.adjust(caller.quota, standing.decision, { points, isAnswered: true })
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
      front.spreadBan(banned, untilMs)
    },
    hash: config.hash,
    byRoute: config.usageByRoute,
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
