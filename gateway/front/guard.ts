import type {
  FastifyContextConfig,
  FastifyInstance,
  onRequestHookHandler,
  onSendHookHandler,
  RouteOptions,
} from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import { loggable } from '../../shared/log.ts'
import type { Sign } from '../../shared/signature.ts'
import { Ranges } from './http/address.ts'
import type { Config, Route } from './config/config.ts'
import type { Front } from './front.ts'
import { recorder } from './counts/recorder.ts'
import { deprecationFinder } from './config/deprecations.ts'
import { lenienceOf } from './http/lenience.ts'
import { ConfiguredPlans } from './keys/terms.ts'
import { forwardTo, type Forward } from './forwarding/route-forwarding.ts'
import { ownAnswers } from './portal/endpoints.ts'
import { guardRoutes } from './guarded-routes.ts'
import { corsFrom } from './http/cors.ts'
import { follow } from './stages/1-follow.ts'
import { preflight } from './stages/3-preflight.ts'
import { screen } from './stages/2-screen.ts'
import { authenticate, letAnybodyIn } from './stages/4-authenticate.ts'
import { admit } from './stages/5-admit.ts'
import { retire } from './stages/6-retire.ts'
import { act } from './stages/7-act.ts'
import { addRoutes, type RouteSettings } from './routes.ts'
import { announce } from './stages/9-announce.ts'
import { addressFinder, strangerRefuser } from './stranger.ts'
import type { GuardedRoute, RequestRecord } from './request-record.ts'
import type { UnderWay } from './forwarding/under-way.ts'
import { inOrder, type StageName } from './way.ts'

export type GuardOptions = Readonly<{
  config: Config
  front: Front
  /** Signs forwarded requests; `undefined` without a secret. */
  sign: Sign | undefined
  clock: Clock
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

type RouteStages = Readonly<
  Record<Exclude<StageName, 'forward' | 'announce'>, onRequestHookHandler | undefined> & {
    announce: onSendHookHandler
  }
>

/**
 * Guards the routes that the configuration forwards, and those of the app that ask for it with
 * `config: { tollgate: true }`. Other routes are left alone.
 */
export async function guard(app: FastifyInstance, options: GuardOptions): Promise<void> {
  const { config, front, sign, clock, underWay, isAlone = false, finish = [] } = options
  const { directory, quotas, strangers } = front
  await front.swaps.prepare(config)
  const upstreams = new Map(
    [...config.upstreams].map(([name, settings]) => [name, front.upstreams.acquire(settings)]),
  )
  app.addHook('onClose', (_app, done) => {
    upstreams.forEach((upstream) => front.upstreams.release(upstream))
    done()
  })

  const traced = config.traces && (await front.exporters.acquire(config.traces, config.hash))
  app.addHook('onClose', (_app, done) => {
    traced?.release()
    done()
  })

  const trustedProxies = new Ranges(config.trustedProxies)
  const addressOf = addressFinder(trustedProxies)
  const refuseStranger = strangerRefuser(strangers, addressOf)
  const cors = corsFrom(config.cors, (origin) =>
    app.log.info(
      { origin: loggable(origin) },
      'a page of an origin that is not in cors.origins sent a request: its browser hides the answers',
    ),
  )
  const find = deprecationFinder(config.deprecations, lenienceOf(app))
  const record = recorder({
    counts: front,
    // A ban during an outage holds in this gateway only, so it isn't written to the audit.
    earnedBan: (banned, untilMs) => {
      if (quotas.isReachable) front.earnedBans.add(banned, untilMs)
    },
    hash: config.hash,
    byRoute: config.usageByRoute,
    clock,
    log: app.log,
  })
  const unanswered = (record: RequestRecord): void => {
    const { caller, standing } = record
    if (!caller || !standing) return
    record.isGivenBack = true
    void quotas.giveBack(caller.quota, standing.decision)
  }

  const screenAll = screen({ refuseStranger })
  const isForPages = config.cors.origins.length > 0
  const preflightAll = isForPages ? preflight({ cors, strangers, addressOf }) : undefined
  const authenticateAll = authenticate({
    directory,
    strangers,
    plans: new ConfiguredPlans(config),
    addressOf,
    refuseStranger,
    lastUses: front.lastUses,
    clock,
  })
  const retireAll = retire({ find, clock, called: record.deprecatedCall, unanswered })
  const announceAll = announce({ ietf: config.ietfHeaders, find, cors })
  const letAnybodyInAll = letAnybodyIn(strangers, addressOf)
  // Its path may fit a deprecated operation, which it isn't.
  const announceOpen = announce({ ietf: config.ietfHeaders, find: () => undefined, cors })
  const guardedRoute = (settings: GuardedSettings): GuardedRoute => {
    const { label, cost, upstream = '', isFree = false, answer } = settings
    const ended = record.answersOf({ path: label, upstream, isFree })
    return { label, cost, share: upstreams.get(upstream)?.share, ended, answer }
  }
  /** The stages of one route; `forward` answers instead of its handler, see routes.ts. */
  const stagesFor = (settings: FastifyContextConfig, url: string): RouteStages => {
    const { tollgate, cost = 1, label = url, routeOf } = settings
    const asksOnly = tollgate === 'quota'
    const isFree = asksOnly || tollgate === 'open'
    const find = routeOf ?? always(guardedRoute({ label, cost, isFree }))
    const anyway = {
      follow: follow({ routeOf: find, underWay, tracer: traced?.tracer }),
      screen: screenAll,
      preflight: preflightAll,
    }
    if (tollgate === 'open') {
      const open = { authenticate: letAnybodyInAll, announce: announceOpen }
      return { ...anyway, ...open, admit: undefined, retire: undefined, act: undefined }
    }
    return {
      ...anyway,
      authenticate: authenticateAll,
      admit: admit({ quotas, asksOnly, banned: record.banned }),
      retire: retireAll,
      act: isFree || routeOf ? undefined : act,
      announce: announceAll,
    }
  }

  app.decorateRequest('tollgate', null)
  guardRoutes(app, (route) => {
    const { announce, ...incoming } = stagesFor(settingsOf(route), route.url)
    route.onRequest = [...inOrder(incoming), ...[route.onRequest ?? []].flat()]
    route.onSend = [...[route.onSend ?? []].flat(), announce, ...finish]
  })
  const { tunnels, onlooker } = front
  const forwarding = { trustedProxies, sign, clock, unanswered, tunnels, onlooker }
  const forwardingOf = (route: Route): Forward => {
    const upstream = upstreams.get(route.upstream)
    if (!upstream) throw new Error(`the upstream ${route.upstream} is not open`)
    return forwardTo(forwarding, route, upstream)
  }
  await addRoutes(app, config, {
    guardedRoute,
    forwardingOf,
    isAlone,
    own: ownAnswers({ config, stores: front.stores, clock, log: app.log }),
  })
}

function always<Value>(value: Value): () => Value {
  return () => value
}

/** The settings of a route; throws a sentence for invalid ones. */
function settingsOf({ config = {}, method, url }: RouteOptions): FastifyContextConfig {
  const { cost = 1, tollgate } = config
  const name = `${[method].flat().join(', ')} ${url}`
  const text = (value: unknown): string => JSON.stringify(value) ?? String(value)
  if (!Number.isSafeInteger(cost) || cost < 0) {
    throw new Error(`${name}: config.cost must be a whole number from 0 on, got ${text(cost)}`)
  }
  if (tollgate !== true && tollgate !== 'quota' && tollgate !== 'open') {
    throw new Error(
      `${name}: config.tollgate must be true, false, "quota" or "open", got ${text(tollgate)}`,
    )
  }
  return config
}
