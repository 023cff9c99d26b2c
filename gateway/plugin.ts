import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import type { Clock } from '../shared/clock.ts'
import { letArrive } from '../shared/node/linger.ts'
import type { RefusalCode } from '../shared/refusal.ts'
import { secretWarning, signer } from '../shared/signature.ts'
import type { Config } from './config/config.ts'
import { readConfig, readObject, type Loaded } from './config/load.ts'
import { nearest } from './config/near.ts'
import type { ConfigFile } from './config/file.ts'
import { openCore } from './core.ts'
import { guard } from './guard.ts'
import type { Stores } from './stores/open.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Guards a route of the app's own: it is served to callers with a valid key, and each request counts.
     * `'quota'`: a route that tells a caller where it stands. It needs a key, costs nothing, and is open even to a
     * key that is banned.
     */
    tollgate?: boolean | 'quota'
    /** How many points a request of a guarded route costs: 1 by default; 0 for a route without limits. */
    cost?: number
    /** The name of a guarded route in logs and metrics: its URL by default. */
    label?: string
    /** The upstream of a route that Tollgate forwards. */
    upstream?: string
  }
}

/** What a caller is told when its request is refused. */
export interface Refused {
  readonly code: RefusalCode
  readonly message: string
  readonly status: number
}

export interface TollgateOptions {
  /** The path of a configuration file, or what such a file would say. */
  readonly config?: string | ConfigFile
  /** In place of `config`: a configuration that `loadConfig` or `configOf` gave. */
  readonly loaded?: Config
  /** Where keys and counters are kept: by default where the configuration says, closed with the app. */
  readonly stores?: Stores
  /** A secret shared with the backends: every forwarded request is signed with it. */
  readonly secret?: string | undefined
  /** The time in milliseconds: `Date.now` unless told. */
  readonly clock?: Clock
  /** Makes the body of a refusal, where `{ code, message, status }` isn't what the app's errors look like. */
  readonly refuse?: (refused: Refused, request: FastifyRequest, reply: FastifyReply) => unknown
}

const optionNames = ['config', 'loaded', 'stores', 'secret', 'clock', 'refuse'] as const

/** Fastify adds these to the options of every plugin. */
const fastifysOwn = ['logLevel', 'logSerializers']

/**
 * Guards the routes that the configuration forwards, and those of the app that ask for it with
 * `config: { tollgate: true }`, wherever they stand in its scope. All others are left as they are.
 */
export async function tollgate(app: FastifyInstance, options: TollgateOptions): Promise<void> {
  const { config, warnings } = configFrom(options)
  requireFit(app, config)
  const { secret, clock = Date.now, refuse } = options
  const weakness = secretWarning(secret)
  if (weakness) app.log.warn(weakness)
  for (const warning of warnings) app.log.warn(warning)
  const core = await openCore({ config, stores: options.stores, clock, log: app.log })
  app.addHook('onClose', () => core.close())
  // Connections that have become WebSockets would never let the app's server close.
  app.addHook('preClose', (done) => {
    core.upstreams.cutTunnels()
    done()
  })
  await guard(app, {
    config,
    core,
    sign: secret ? signer(secret) : undefined,
    clock,
    finish: refuse ? [envelope(refuse), arrive] : [arrive],
  })
}

function configFrom(options: TollgateOptions): Pick<Loaded, 'config' | 'warnings'> {
  const names = Object.keys(options ?? {}).filter((name) => !fastifysOwn.includes(name))
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
  if (typeof config === 'string') return readConfig(config)
  if (typeof config === 'object' && config !== null) return readObject(config)
  throw new TypeError(
    'Tollgate needs the option "config": the path of a configuration file, or what one would say',
  )
}

/** Says what keeps Tollgate from working in an app, in a sentence that Fastify's own errors lack. */
function requireFit(app: FastifyInstance, { quotaPath }: Config): void {
  const { initialConfig } = app
  if (initialConfig.http2) {
    throw new Error(
      'Tollgate speaks HTTP/1.1: make the app without http2, and put a proxy in front',
    )
  }
  if (app.hasRequestDecorator('tollgate')) {
    throw new Error('Tollgate is registered in this scope, or around it, already: once is enough')
  }
  if (app.hasRoute({ method: 'GET', url: app.prefix + quotaPath })) {
    throw new Error(
      `the app has a route GET ${app.prefix}${quotaPath}, where Tollgate tells callers their quota: set another path with quota.path`,
    )
  }
}

/** Puts refusals into the form of the app's own errors. */
function envelope(refuse: NonNullable<TollgateOptions['refuse']>): onSendHookHandler {
  return function envelope(request, reply, payload, done): void {
    const refusal = request.tollgate?.refusal
    if (!refusal) return done(null, payload)
    const { code, message, status } = refusal
    try {
      const body = refuse({ code, message, status }, request, reply)
      done(null, typeof body === 'string' ? body : JSON.stringify(body))
    } catch (error) {
      request.log.error({ err: error }, 'Tollgate’s option "refuse" has thrown')
      done(null, payload)
    }
  }
}

/** Sees to it that answers arrive at callers that still send their bodies. */
const arrive: onSendHookHandler = (request, reply, payload, done) => {
  letArrive(request.raw, reply.raw, reply.statusCode)
  done(null, payload)
}

// The scope around the plugin is guarded too, where it asks for it; Fastify's marks for that are symbols.
Object.assign(tollgate, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'tollgate',
  [Symbol.for('plugin-meta')]: { name: 'tollgate', fastify: '5.x' },
})
