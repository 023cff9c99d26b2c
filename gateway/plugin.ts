import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../shared/clock.ts'
import { secretWarning, signer } from '../shared/signature.ts'
import { Ranges } from './address.ts'
import './caller.ts'
import type { Config } from './config/config.ts'
import { configOf, loadConfig } from './config/load.ts'
import type { ConfigFile } from './config/schema.ts'
import { openCore, type Core } from './core.ts'
import './records/course.ts'
import { recorder } from './records/recorder.ts'
import { deprecationFinder } from './deprecations.ts'
import { corsFrom } from './cors.ts'
import { passageOf } from './passage.ts'
import { addRoutes } from './routes.ts'
import { follow } from './stages/0-follow.ts'
import { preflight } from './stages/0-preflight.ts'
import { screen } from './stages/0-screen.ts'
import { authenticate } from './stages/1-authenticate.ts'
import { admit } from './stages/2-admit.ts'
import { retire } from './stages/3-retire.ts'
import { announce } from './stages/5-announce.ts'
import type { Stores } from './stores/open.ts'
import { addressFinder, strangerRefuser } from './stranger.ts'
import { Offer } from './terms.ts'
import type { UnderWay } from './under-way.ts'
import { guarded, refuseUnguarded } from './unguarded.ts'

export type TollgateOptions = Readonly<{
  /** The path of a configuration file, or what one would say, or a configuration that was loaded. */
  config: string | ConfigFile | Config
  /** Where keys are kept; by default what the configuration says, closed with the app. */
  stores?: Stores
  /** What outlives this configuration, if there are to be others after it; whoever gives it closes it. */
  core?: Core
  /** Shared with the backends: every forwarded request is signed with it. */
  secret?: string | undefined
  clock?: Clock
  /** Where guarded requests are counted for as long as they last. */
  underWay?: UnderWay
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
 * `config: { tollgate: true }`. All others are left as they are. Routes that ask for it and were there
 * before are refused.
 */
export async function tollgate(app: FastifyInstance, options: TollgateOptions): Promise<void> {
  const { clock = Date.now, stores, underWay } = options
  const config = configFrom(options.config)
  const sign = options.secret ? signer(options.secret) : undefined
  const weakness = options.core ? undefined : secretWarning(options.secret)
  if (weakness) app.log.warn(weakness)
  const core = options.core ?? (await openCore({ config, stores, clock, log: app.log }))
  const { directory, quotas, strangers } = core
  const upstreams = new Map(
    [...config.upstreams].map(([name, settings]) => [name, core.upstreams.take(settings)]),
  )
  // Connections that have become WebSockets would never let a server of somebody else's close.
  if (!options.core) {
    app.addHook('preClose', (done) => {
      upstreams.forEach((upstream) => upstream.cutTunnels())
      done()
    })
  }
  app.addHook('onClose', async () => {
    upstreams.forEach((upstream) => core.upstreams.giveBack(upstream))
    if (!options.core) await core.close()
  })

  const trustedProxies = new Ranges(config.trustedProxies)
  const addressOf = addressFinder(trustedProxies)
  const refuseStranger = strangerRefuser(strangers, addressOf)
  const cors = corsFrom(config.cors)
  const find = deprecationFinder(config.deprecations)
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
      admit({ quotas, cost, asksOnly, share, bans: record.banned }),
      retired,
    ]
  }
  const onSend = [announce({ ietf: config.ietfHeaders, find, cors })]

  app.decorateRequest('caller', null)
  app.decorateRequest('standing', null)
  app.decorateRequest('forbidden', false)
  app.decorateRequest('course', null)
  app.addHook('onRoute', (route) => {
    const { config: settings } = route
    if (!settings?.tollgate) return
    const before = onRequest(settings, route.url)
    route.config = { ...settings, [guarded]: true }
    route.onRequest = [...before, ...[route.onRequest ?? []].flat()]
    route.onSend = [...[route.onSend ?? []].flat(), ...onSend]
  })
  const { upstreamMeter } = record
  const { tunnels } = core
  const passing = { trustedProxies, sign, clock, unanswered, upstreamMeter, tunnels }
  await addRoutes(app, config, (route) => {
    const upstream = upstreams.get(route.upstream)
    if (!upstream) throw new Error(`the upstream ${route.upstream} is not open`)
    return passageOf(passing, route, upstream)
  })
  // The gateway's own app awaits this, and has no routes before.
  if (!options.core) app.addHook('onRequest', refuseUnguarded)
}

function configFrom(given: TollgateOptions['config']): Config {
  if (typeof given === 'string') return loadConfig(given)
  return isLoaded(given) ? given : configOf(given)
}

function isLoaded(config: ConfigFile | Config): config is Config {
  return config.plans instanceof Map
}

// The app around the plugin is guarded too, where it asks for it; fastify's mark for that is a symbol.
Object.assign(tollgate, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'tollgate',
})
