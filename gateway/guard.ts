import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyRequest,
  onSendHookHandler,
  RouteOptions,
} from 'fastify'
import type { Clock } from '../shared/clock.ts'
import { loggable } from '../shared/log.ts'
import type { Sign } from '../shared/signature.ts'
import { Ranges } from './address.ts'
import './caller.ts'
import type { Config } from './config/config.ts'
import type { Core } from './core.ts'
import './records/course.ts'
import { recorder } from './records/recorder.ts'
import { deprecationFinder } from './deprecations.ts'
import { lenienceOf } from './lenience.ts'
import { passageOf } from './passage.ts'
import { guardRoutes } from './guarded-routes.ts'
import { corsFrom } from './cors.ts'
import { follow } from './stages/0-follow.ts'
import { preflight } from './stages/0-preflight.ts'
import { screen } from './stages/0-screen.ts'
import { authenticate } from './stages/1-authenticate.ts'
import { admit } from './stages/2-admit.ts'
import { retire } from './stages/3-retire.ts'
import { addRoutes } from './routes.ts'
import { announce } from './stages/5-announce.ts'
import { addressFinder, strangerRefuser } from './stranger.ts'
import { Offer } from './terms.ts'
import type { UnderWay } from './under-way.ts'

export type GuardOptions = Readonly<{
  config: Config
  core: Core
  /** Signs what is forwarded, for backends that take nothing else. */
  sign: Sign | undefined
  clock: Clock
  /** Where guarded requests are counted for as long as they last. */
  underWay?: UnderWay | undefined
  /** What becomes of answers after the stages. */
  finish?: readonly onSendHookHandler[]
}>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route of the app's own is served to callers with a key only, as forwarded ones are. */
    tollgate?: boolean | 'quota'
    /** What a request of this route counts: 1 unless told, 0 for nothing. */
    cost?: number
    /** What the route is called in logs and metrics; its URL unless told. */
    label?: string
    /** The upstream that a forwarded route leads to. */
    upstream?: string
  }
}

/**
 * Guards the routes that the configuration forwards, and those of the app that ask for it with
 * `config: { tollgate: true }`. All others are left as they are.
 */
export async function guard(app: FastifyInstance, options: GuardOptions): Promise<void> {
  const { config, core, sign, clock, underWay, finish = [] } = options
  const { directory, quotas, strangers } = core
  const upstreams = new Map(
    [...config.upstreams].map(([name, settings]) => [name, core.upstreams.take(settings)]),
  )
  app.addHook('onClose', (_app, done) => {
    upstreams.forEach((upstream) => core.upstreams.giveBack(upstream))
    done()
  })

  const trustedProxies = new Ranges(config.trustedProxies)
  const addressOf = addressFinder(trustedProxies)
  const refuseStranger = strangerRefuser(strangers, addressOf)
  const cors = corsFrom(config.cors, (origin) =>
    app.log.info(
      { origin: loggable(origin) },
      'a page of an origin that is not among cors.origins has asked: its browser hides the answers',
    ),
  )
  const find = deprecationFinder(config.deprecations, lenienceOf(app))
  const record = recorder(core, app.log)
  const unanswered = ({ caller, standing }: FastifyRequest): void => {
    if (caller && standing) void quotas.giveBack(caller.quota, standing.decision)
  }

  // A request's way, in order; forwarding is the route's own handler.
  const known = [
    screen({ refuseStranger }),
    ...(config.cors.origins.length > 0 ? [preflight({ cors, strangers, addressOf })] : []),
    authenticate({
      directory,
      strangers,
      offer: new Offer(config.plans, config.bans),
      addressOf,
      refuseStranger,
      clock,
    }),
  ]
  const retired = retire({ find, clock, called: record.deprecatedCall, unanswered })
  const onRequest = (settings: FastifyContextConfig, url: string) => {
    const { tollgate, cost = 1, label, upstream = '' } = settings
    const share = upstreams.get(upstream)?.share
    const route = label ?? url
    const asksOnly = tollgate === 'quota'
    return [
      follow({ route, underWay, ended: record.answersOf(route, asksOnly) }),
      ...known,
      admit({ quotas, cost, asksOnly, share, banned: record.banned }),
      retired,
    ]
  }
  const onSend = [announce({ ietf: config.ietfHeaders, find, cors }), ...finish]

  app.decorateRequest('caller', null)
  app.decorateRequest('standing', null)
  app.decorateRequest('forbidden', false)
  app.decorateRequest('course', null)
  guardRoutes(app, (route) => {
    route.onRequest = [
      ...onRequest(settingsOf(route), route.url),
      ...[route.onRequest ?? []].flat(),
    ]
    route.onSend = [...[route.onSend ?? []].flat(), ...onSend]
  })
  const { tunnels } = core
  const passing = { trustedProxies, sign, clock, unanswered, tunnels }
  await addRoutes(app, config, (route) => {
    const upstream = upstreams.get(route.upstream)
    if (!upstream) throw new Error(`the upstream ${route.upstream} is not open`)
    return passageOf(passing, route, upstream)
  })
}

/** What a route asks for; a cost that can't be counted is a mistake of whoever wrote it. */
function settingsOf({ config = {}, method, url }: RouteOptions): FastifyContextConfig {
  const { cost = 1 } = config
  if (Number.isSafeInteger(cost) && cost >= 0) return config
  const found = JSON.stringify(cost) ?? String(cost)
  const name = `${[method].flat().join(', ')} ${url}`
  throw new Error(`${name}: config.cost must be a whole number from 0 on, got ${found}`)
}
