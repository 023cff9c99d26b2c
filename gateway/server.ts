import type { FastifyInstance } from 'fastify'
import { METHODS } from 'node:http'
import { Socket } from 'node:net'
import { Refusal } from '../shared/refusal.ts'
import { requestIdFrom } from '../shared/request-id.ts'
import { createService, type LogSettings } from '../shared/service.ts'
import type { Config } from './config/config.ts'
import { rateHeaders } from './limits/headers.ts'
import { Strangers } from './limits/strangers.ts'
import { plainTarget } from './paths.ts'
import { tollgate, type TollgateOptions } from './plugin.ts'
import { bringAll, idleMs, wire } from './wire.ts'

export type GatewayOptions = Omit<TollgateOptions, 'config' | 'strangers'> &
  Readonly<{ config: Config; log?: LogSettings | undefined }>

/** The gateway as a server of its own: nothing but the plugin, and a 404 for what has no route. */
export async function createGateway(options: GatewayOptions): Promise<FastifyInstance> {
  const { config, clock = Date.now, log } = options
  const strangers = new Strangers(config.strangers, clock)
  const upstreams = [...config.upstreams.values()]
  const app = createService({
    name: 'gateway',
    log,
    settings: {
      http: wire,
      keepAliveTimeout: idleMs,
      requestTimeout: Math.max(...upstreams.map(({ timeouts }) => timeouts.requestMs)),
      // What is matched and what is forwarded is one spelling of the path; what has none is refused.
      rewriteUrl: ({ url = '' }) => plainTarget(url) ?? url,
    },
    describe: ({ caller }) => (caller ? { key: caller.id, plan: caller.plan } : {}),
    malformed,
  })
  bringAll(app, (refusal, socket) =>
    malformed(refusal, socket instanceof Socket ? socket.remoteAddress : undefined),
  )
  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  await app.register(tollgate, { ...options, strangers })
  app.all('*', { config: { tollgate: true } }, () => {
    throw new Refusal('not_found', 'There is nothing at this path.')
  })
  return app

  /** No hook has seen such a request: whoever sends it is a stranger, and counted as one. */
  function malformed(refusal: Refusal, address = ''): Refusal {
    const counted = strangers.refuse(address, () => refusal)
    const id = { 'x-request-id': requestIdFrom(undefined) }
    return counted.refusal.with({ ...rateHeaders(counted.standing, config.ietfHeaders), ...id })
  }
}
