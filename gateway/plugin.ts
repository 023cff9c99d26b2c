import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  onSendHookHandler,
} from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Clock } from '../shared/clock.ts'
import { letArrive } from '../shared/node/linger.ts'
import { jsonType, type RefusalCode } from '../shared/refusal.ts'
import { durationFrom } from '../shared/units.ts'
import { secretWarning, signer } from '../shared/signature.ts'
import type { Config } from './front/config/config.ts'
import type { AppOptions } from './office/app/open.ts'
import { configIn, type Loaded } from './office/config/load.ts'
import type { Tollgate } from './office/app/tollgate.ts'
import { nearest } from '../shared/near.ts'
import type { ConfigFile } from './office/config/file.ts'
import { watchApps } from './front/guarded-routes.ts'
import type { FindCaller } from './front/keys/own-callers.ts'
import { makeIdsUnique } from './front/http/request-ids.ts'
import type { RouteOf } from './front/request-record.ts'
import type { OwnStores } from './front/stores/own/stores.ts'
import type { Stores } from './front/stores/stores.ts'
import type { Unfit } from './front/stranger.ts'

watchApps()

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Guards a route of the app's own: only callers with a valid key are served, and each request is counted.
     * `'quota'` is for a route that shows a caller its limits. It needs a key, costs nothing, and serves banned keys,
     * too. `'open'` is for a route that anybody may read without a key: it costs nothing, and tells the limits of the
     * sender's address.
     */
    tollgate?: boolean | 'quota' | 'open'
    /**
     * The points that a request to a guarded route costs: 1 by default; 0 for a route without limits. With `from: 'answer'`
     * the handler tells them by `request.tollgate.settle(points)`, and until then the estimate counts.
     */
    cost?: number | Readonly<{ estimate: number; from: 'answer'; atMost?: number | undefined }>
    /** The scopes that a request to a guarded route needs, all of them. A key without scopes of its own has all. */
    scopes?: readonly string[]
    /** The name of a guarded route in logs and metrics: its URL by default. */
    label?: string
    /** The route of the configuration that a request takes, for a route of the app through which many of them come. @internal */
    routeOf?: RouteOf
    /** Whether the path is one at which Tollgate itself answers callers: nothing is acted there, whatever the method. @internal */
    isOwn?: boolean
  }
  interface FastifyInstance {
    /** The operations on keys, quotas, bans and the configuration, where Tollgate is registered. */
    tollgate: Tollgate
  }
}

/** A refusal as the caller sees it. */
export interface Refused {
  readonly code: RefusalCode
  readonly message: string
  readonly status: number
}

export interface TollgateOptions {
  /** The path of a configuration file, or its content as an object. */
  readonly config?: string | ConfigFile
  /** Instead of `config`: a configuration from `loadConfig` or `configOf`. */
  readonly loaded?: Config
  /**
   * The stores: by default those of the configuration, which are closed with the app. Given ones are the app's, which closes them
   * after Tollgate: in an `onClose` hook that it adds before.
   */
  readonly stores?: Stores | OwnStores
  /** A secret shared with the backends: every forwarded request is signed with it. */
  readonly secret?: string | undefined
  /** The time in milliseconds, also of limits and bans, unless they are in Redis; `Date.now` by default. */
  readonly clock?: Clock
  /**
   * `'all'` guards each route that is declared after Tollgate is registered, in its scope and below, but for those with
   * `config: { tollgate: false }`. By default a route asks for it.
   */
  readonly guard?: 'all' | undefined
  /**
   * Finds the key of a request in place of the headers in `keys.from`; `undefined` if it has none. If it throws or is async, the request
   * gets 503.
   */
  readonly keyOf?: (request: FastifyRequest) => string | undefined
  /**
   * Finds the caller of a token that is no key of Tollgate's. `undefined` is a refusal with 401. If it throws, or gives a caller
   * that can't be, the request gets 503. It is asked once at a time about a token.
   */
  readonly callers?: FindCaller | undefined
  /** How long an answer of `callers` counts, such as `30s`; `1m` by default, and `0s` asks at each request. */
  readonly cacheFor?: string | undefined
  /** Makes the body of a refusal, for an app whose errors don't look like `{ code, message, status }`. */
  readonly refuse?: (refused: Refused, request: FastifyRequest, reply: FastifyReply) => unknown
}

const optionNames = [
  ...(['config', 'loaded', 'stores', 'secret', 'clock'] as const),
  ...(['guard', 'keyOf', 'callers', 'cacheFor', 'refuse'] as const),
] as const

/** How long an answer of an app's function counts by default. */
const usualCacheMs = 60_000

/** Fastify adds these to the options of every plugin. */
const fastifyOptions = ['logLevel', 'logSerializers']

/**
 * Guards the routes that the configuration forwards, and those of the app that ask for it with
 * `config: { tollgate: true }`, anywhere in its scope. Other routes are left alone.
 */
export const tollgate: FastifyPluginAsync<TollgateOptions> = fastifyPlugin(register, {
  name: 'tollgate',
  fastify: '5.x',
})

async function register(app: FastifyInstance, options: TollgateOptions): Promise<void> {
  const { guard, openTollgate, openWings, OwnCallers, storesOn, unfitFor } = await needed()
  const loaded = configFrom(options)
  const { config, warnings } = loaded
  requireFit(app, config, unfitFor(app, config)[0])
  makeIdsUnique(app)
  const { secret, clock = Date.now, keyOf, callers, refuse } = options
  const stores = options.stores && storesOn(options.stores, clock)
  for (const [name, option] of Object.entries({ keyOf, callers, refuse })) {
    if (option === undefined || typeof option === 'function') continue
    throw new TypeError(`Tollgate’s option "${name}" must be a function, got ${typeof option}`)
  }
  const isForAll = options.guard !== undefined
  if (isForAll && options.guard !== 'all') {
    throw new TypeError(
      `Tollgate’s option "guard" must be "all", got ${JSON.stringify(options.guard)}`,
    )
  }
  const cacheForMs = cacheTimeOf(options)
  const { log } = app
  const weakness = secretWarning(secret)
  if (weakness) log.warn(weakness)
  for (const warning of warnings) log.warn(warning)
  const { front, office, close } = await openWings({
    ...{ config, stores, secret, clock, log },
    hasOwnCallers: callers !== undefined,
  })
  let isClosed = false
  app.addHook('onClose', () => {
    isClosed = true
    return close()
  })
  // Open WebSockets would keep the app's server from closing.
  app.addHook('preClose', (done) => {
    front.upstreams.cutTunnels()
    done()
  })
  const ownCallers =
    callers &&
    new OwnCallers({
      ...{ findCaller: callers, cacheForMs, callers: front.outsideCallers },
      ...{ plans: config.plans, clock },
      failed: (err, id) =>
        log.error({ id, err }, 'Tollgate’s option "callers" has failed: the request gets 503'),
    })
  if (options.clock && config.store.redis && !stores) log.warn(byRedis)
  const { change } = await guard(app, {
    config,
    front,
    sign: secret ? signer(secret) : undefined,
    clock,
    keyOf,
    ownCallers,
    isForAll,
    finish: refuse ? [envelope(refuse), arrive] : [arrive],
  })
  const wings = { app, front, office, secret, clock }
  app.decorate('tollgate', openTollgate({ ...wings, loaded, change, isClosed: () => isClosed }))
}

const byRedis =
  'Tollgate’s option "clock" doesn’t move windows and bans in Redis: these go by Redis’ own clock'

/** Loads both wings, which an app needs once it registers the plugin: they cost ten times as much as all else here. */
async function needed() {
  const [wings, guards, app, own, stores, stranger] = await Promise.all([
    import('./wings.ts'),
    import('./front/guard.ts'),
    import('./office/app/open.ts'),
    import('./front/keys/own-callers.ts'),
    import('./front/stores/own/stores.ts'),
    import('./front/stranger.ts'),
  ])
  return { ...wings, ...guards, ...app, ...own, ...stores, ...stranger }
}

function configFrom(options: TollgateOptions): AppOptions['loaded'] & Pick<Loaded, 'warnings'> {
  const names = Object.keys(options ?? {}).filter((name) => !fastifyOptions.includes(name))
  if (names.includes('prefix')) {
    throw new TypeError(
      'Tollgate takes no prefix: register it in a scope that has one, app.register(async (scope) => { await scope.register(tollgate, …) }, { prefix })',
    )
  }
  const unknown = names.find((name) => !(optionNames as readonly string[]).includes(name))
  if (unknown !== undefined) {
    const meant = nearest(unknown, optionNames)
    const hint = meant ? `did you mean "${meant}"?` : `there are ${optionNames.join(', ')}`
    throw new TypeError(`Tollgate has no option "${unknown}": ${hint}`)
  }
  const { config, loaded } = options
  if (loaded) {
    if (config !== undefined)
      throw new TypeError('Tollgate takes either "config" or "loaded", not both')
    return { config: loaded, warnings: [] }
  }
  if (config) return configIn(config)
  throw new TypeError(
    'Tollgate needs the option "config": the path of a configuration file, or its content as an object',
  )
}

/** How long an answer of the app's function counts. */
function cacheTimeOf({ callers, cacheFor }: TollgateOptions): number {
  if (cacheFor === undefined) return usualCacheMs
  if (!callers)
    throw new TypeError('Tollgate’s option "cacheFor" is for "callers", which isn’t given')
  const timeMs = typeof cacheFor === 'string' ? durationFrom(cacheFor) : undefined
  if (timeMs === undefined) {
    throw new TypeError(
      `Tollgate’s option "cacheFor" must be a duration such as "30s", got ${JSON.stringify(cacheFor)}`,
    )
  }
  return timeMs
}

/** Throws a sentence if an app can't work with Tollgate; Fastify's own errors would be less clear. */
function requireFit(app: FastifyInstance, config: Config, unfit: Unfit | undefined): void {
  const { initialConfig } = app
  if (initialConfig.http2) {
    throw new Error(
      'Tollgate speaks HTTP/1.1: make the app without http2, and put a proxy in front',
    )
  }
  if (app.hasRequestDecorator('tollgate')) {
    throw new Error('Tollgate is registered in this scope, or around it, already: once is enough')
  }
  if (unfit) {
    const [path, sentence] = unfit
    throw new Error(`${path.join('.')} ${sentence}`)
  }
  const { quotaPath, usagePath, portal } = config
  const own = [
    ['quota', 'tells callers their quota', quotaPath],
    ['usage', 'tells callers their usage', usagePath],
    ['portal', 'has its pages for callers', portal?.path],
  ] as const
  for (const [setting, does, path] of own) {
    if (path === undefined || !app.hasRoute({ method: 'GET', url: app.prefix + path })) continue
    throw new Error(
      `the app has a route GET ${app.prefix}${path}, where Tollgate ${does}: set another path with ${setting}.path`,
    )
  }
}

/** Gives refusals the form of the app's own errors. */
function envelope(refuse: NonNullable<TollgateOptions['refuse']>): onSendHookHandler {
  return function envelope(request, reply, payload, done): void {
    const refusal = request.tollgate?.refusal
    if (!refusal) return done(null, payload)
    const { code, message, status } = refusal
    const ownType = reply.getHeader('content-type')
    // The app's body isn't problem details. It may set another type.
    reply.type(jsonType)
    try {
      const body = refuse({ code, message, status }, request, reply)
      done(null, typeof body === 'string' ? body : JSON.stringify(body))
    } catch (error) {
      request.log.error({ err: error }, 'Tollgate’s option "refuse" has thrown')
      reply.header('content-type', ownType)
      done(null, payload)
    }
  }
}

/** Lets answers arrive at callers that are still sending their bodies. */
const arrive: onSendHookHandler = (request, reply, payload, done) => {
  letArrive(request.raw, reply.raw, reply.statusCode)
  done(null, payload)
}
