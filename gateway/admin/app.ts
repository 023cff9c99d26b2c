import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Refusal } from '../../shared/refusal.ts'
import { createService, type LogSettings } from '../../shared/service.ts'
import type { Config } from '../config/config.ts'
import type { Reloader } from '../config/reload.ts'
import { shownConfig } from '../config/show.ts'
import type { Gateway } from '../server.ts'
import type { Metrics } from './metrics.ts'

export type AdminOptions = Readonly<{
  gateway: Gateway
  reloader: Reloader
  metrics: Metrics
  /** What operators prove themselves with; without it, only health is told. */
  token: string | undefined
  log?: LogSettings | undefined
  isStopping: () => boolean
}>

/** What operators and their machines ask a gateway, at an address of its own. */
export function createAdmin(options: AdminOptions): FastifyInstance {
  const { gateway, reloader, metrics, token, log, isStopping } = options
  const app = createService({ name: 'admin', log })
  app.setNotFoundHandler(() => {
    throw new Refusal('not_found', 'There is nothing at this path.')
  })

  app.get('/healthz', () => ({ status: 'alive' }))

  app.get('/readyz', (_request, reply) => {
    const upstreams = upstreamStates(gateway)
    const { hash, mistakes } = reloader.state
    const isServed = Object.values(upstreams).some((targets) =>
      Object.values(targets).includes(true),
    )
    const isReady = !isStopping() && isServed
    return reply.code(isReady ? 200 : 503).send({
      ready: isReady,
      stopping: isStopping(),
      store: gateway.core.quotas.isReachable ? 'reachable' : 'out of reach',
      upstreams,
      config: { hash, ...(mistakes === undefined ? {} : { mistakes: mistakes.split('\n') }) },
    })
  })

  app.get('/metrics', async (_request, reply) => {
    const { type, text } = await metrics.read()
    return reply.type(type).send(text)
  })

  void app.register(async (guarded) => {
    guarded.addHook('onRequest', (request, _reply, done) => {
      done(refusalOf(request.headers.authorization, token))
    })
    guarded.get('/admin/config', () => configView(gateway.config, reloader))
    guarded.post('/admin/config/reload', async (_request, reply) => {
      const result = await reloader.reload()
      return reply.code(result === 'refused' ? 409 : 200).send({
        result,
        ...configView(gateway.config, reloader),
      })
    })
    return Promise.resolve()
  })
  return app
}

function upstreamStates({ config, core }: Gateway): Record<string, Record<string, boolean>> {
  return Object.fromEntries(
    [...config.upstreams].map(([name, settings]) => {
      const targets = core.upstreams.see(settings)?.targets ?? []
      return [name, Object.fromEntries(targets.map((each) => [each.origin, each.isHealthy]))]
    }),
  )
}

function configView(config: Config, { state }: Reloader): object {
  return {
    file: state.file,
    hash: state.hash,
    loadedAt: new Date(state.loadedAtMs).toISOString(),
    mistakes: state.mistakes?.split('\n') ?? [],
    config: shownConfig(config),
  }
}

function refusalOf(header: string | undefined, token: string | undefined): Refusal | undefined {
  if (token === undefined || token === '') {
    return new Refusal('forbidden', 'Nothing is told here: no ADMIN_TOKEN is set.')
  }
  const [, given = ''] = /^Bearer (\S+)$/i.exec(header ?? '') ?? []
  if (timingSafeEqual(digest(given), digest(token))) return undefined
  return new Refusal('invalid_api_key', 'Send the token: "Authorization: Bearer <ADMIN_TOKEN>".', {
    'www-authenticate': 'Bearer realm="tollgate admin"',
    'cache-control': 'no-store',
  })
}

/** Of one length, so that comparing takes the same time whatever is compared. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
