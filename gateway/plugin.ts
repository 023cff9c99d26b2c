import type { FastifyInstance } from 'fastify'
import type { Clock } from '../shared/clock.ts'
import { Ranges } from './address.ts'
import './caller.ts'
import type { Config } from './config/config.ts'
import { loadConfig } from './config/load.ts'
import { KeyDirectory } from './keys/directory.ts'
import { Strangers } from './limits/strangers.ts'
import { authenticate } from './stages/1-authenticate.ts'
import { forward } from './stages/4-forward.ts'
import { announce } from './stages/5-announce.ts'
import { openStores, type Stores } from './stores/open.ts'

export type TollgateOptions = Readonly<{
  /** The path of a configuration file, or a configuration. */
  config: string | Config
  /** Where keys are kept; by default what the configuration says, closed with the app. */
  stores?: Stores
  clock?: Clock
}>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route of the app's own is served to callers with a key only, as forwarded ones are. */
    tollgate?: boolean
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
  const trouble = (error: Error | undefined): void =>
    error
      ? app.log.error({ err: error }, 'the key store is out of reach; known keys go on working')
      : app.log.info('the key store is back')
  const cacheSize = config.keys.cache
  const directory = new KeyDirectory({ store: stores.keys, cacheSize, clock, trouble })
  app.addHook('onClose', async () => {
    directory.close()
    if (!options.stores) await stores.close()
  })

  // A request's way, in order; forwarding is the route's own handler.
  const onRequest = [
    authenticate({
      directory,
      strangers: new Strangers(config.strangers, clock),
      plans: config.plans,
      trustedProxies: new Ranges(config.trustedProxies),
      clock,
    }),
  ]
  const onSend = [announce()]

  app.decorateRequest('caller', null)
  app.addHook('onRoute', (route) => {
    if (!route.config?.tollgate) return
    route.onRequest = [...onRequest, ...[route.onRequest ?? []].flat()]
    route.onSend = [...[route.onSend ?? []].flat(), ...onSend]
  })
  await forward(app, config)
}

// The app around the plugin is guarded too, where it asks for it; fastify's mark for that is a symbol.
Object.assign(tollgate, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'tollgate',
})
