import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../shared/clock.ts'
import { Ranges } from './address.ts'
import './caller.ts'
import type { Config } from './config/config.ts'
import { loadConfig } from './config/load.ts'
import { deprecatedCall } from './deprecated-calls.ts'
import { deprecationFinder } from './deprecations.ts'
import { KeyDirectory } from './keys/directory.ts'
import { Quotas } from './limits/quotas.ts'
import { Strangers } from './limits/strangers.ts'
import { screen } from './stages/0-screen.ts'
import { authenticate } from './stages/1-authenticate.ts'
import { admit, quotaView } from './stages/2-admit.ts'
import { retire } from './stages/3-retire.ts'
import { forward } from './stages/4-forward.ts'
import { announce } from './stages/5-announce.ts'
import { openStores, type Stores } from './stores/open.ts'
import { addressFinder, strangerRefuser } from './stranger.ts'
import { Tallying } from './tallying.ts'
import { Upstream } from './upstreams/upstream.ts'

export type TollgateOptions = Readonly<{
  /** The path of a configuration file, or a configuration. */
  config: string | Config
  /** Where keys are kept; by default what the configuration says, closed with the app. */
  stores?: Stores
  /** Who counts requests without a key, if the server around wants to count by it too. */
  strangers?: Strangers
  /** Shared with the backends: every forwarded request is signed with it. */
  secret?: string | undefined
  clock?: Clock
}>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route of the app's own is served to callers with a key only, as forwarded ones are. */
    tollgate?: boolean | 'quota'
    /** What a request of this route counts: 1 unless told, 0 for nothing. */
    cost?: number
  }
}

/**
 * Guards the routes that the configuration forwards, and those of the app that ask for it with
 * `config: { tollgate: true }`. All others are left as they are.
 */
export async function tollgate(app: FastifyInstance, options: TollgateOptions): Promise<void> {
  const { clock = Date.now } = options
  const config = typeof options.config === 'string' ? loadConfig(options.config) : options.config
  const stores = options.stores ?? openStores(config.store)
  for (const warning of stores.warnings) app.log.warn(warning)
  const { strangers = new Strangers(config.strangers, clock) } = options
  const directory = new KeyDirectory({
    store: stores.keys,
    cacheSize: config.keys.cache,
    clock,
    trouble: tellTrouble(app, 'the key store is out of reach; known keys go on working'),
  })
  const { whenUnreachable } = config.store
  const quotas = new Quotas({
    store: stores.quota,
    whenUnreachable,
    clock,
    trouble: tellTrouble(
      app,
      `the quota store is out of reach; until it is back: ${whenUnreachable}`,
    ),
  })
  const tallying = new Tallying({
    store: stores.tallies,
    clock,
    trouble: tellTrouble(app, 'what keys do can’t be written down; it is kept in memory'),
  })
  app.addHook('onClose', async () => {
    await tallying.close()
    directory.close()
    quotas.close()
    if (!options.stores) await stores.close()
  })

  const trustedProxies = new Ranges(config.trustedProxies)
  const addressOf = addressFinder(trustedProxies)
  const refuseStranger = strangerRefuser(strangers, addressOf)
  const upstreams = openUpstreams(app, config)
  const find = deprecationFinder(config.deprecations)
  const called = ({ caller }: FastifyRequest, operation: string): void => {
    if (caller) tallying.count(caller.id, deprecatedCall(operation))
  }
  const unanswered = ({ caller, standing }: FastifyRequest): void => {
    if (caller && standing) void quotas.giveBack(caller.quota, standing.decision)
  }

  // A request's way, in order; forwarding is the route's own handler.
  const onRequest = [
    screen({ refuseStranger }),
    authenticate({
      directory,
      strangers,
      plans: config.plans,
      bans: config.bans,
      addressOf,
      refuseStranger,
      clock,
    }),
    admit(quotas),
    retire({ find, clock, called, unanswered }),
  ]
  const onSend = [announce({ ietf: config.ietfHeaders, find })]

  app.decorateRequest('caller', null)
  app.decorateRequest('standing', null)
  app.decorateRequest('forbidden', false)
  app.addHook('onRoute', (route) => {
    if (!route.config?.tollgate) return
    route.onRequest = [...onRequest, ...[route.onRequest ?? []].flat()]
    route.onSend = [...[route.onSend ?? []].flat(), ...onSend]
  })
  app.get(config.quotaPath, { config: { tollgate: 'quota', cost: 0 } }, quotaView)
  await forward(app, {
    routes: config.routes,
    upstreams,
    trustedProxies,
    secret: options.secret,
    clock,
    unanswered,
  })
}

/** Every upstream of the configuration, closed with the app. */
function openUpstreams(app: FastifyInstance, config: Config): ReadonlyMap<string, Upstream> {
  const log = {
    out: (upstream: string, target: string, err: Error | undefined) =>
      app.log.error({ upstream, target, err }, 'a target is taken out: it failed too often'),
    back: (upstream: string, target: string) =>
      app.log.info({ upstream, target }, 'a target is let back in'),
  }
  const upstreams = new Map(
    [...config.upstreams].map(([name, settings]) => [name, new Upstream(settings, log)]),
  )
  // Connections that have become WebSockets would never let the server close.
  app.addHook('preClose', (done) => {
    upstreams.forEach((upstream) => upstream.cutTunnels())
    done()
  })
  app.addHook('onClose', async () => {
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()))
  })
  return upstreams
}

/** One line when a store begins to fail, and one when it is back. */
function tellTrouble(app: FastifyInstance, what: string): (error: Error | undefined) => void {
  return (error) =>
    error ? app.log.error({ err: error }, what) : app.log.info(`no longer: ${what}`)
}

// The app around the plugin is guarded too, where it asks for it; fastify's mark for that is a symbol.
Object.assign(tollgate, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'tollgate',
})
