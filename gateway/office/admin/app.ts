import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import { refusalFrom } from '../../../shared/refusal.ts'
import type { LogSettings } from '../../../shared/log.ts'
import { createService } from '../../../shared/service.ts'
import type { FollowedTls } from '../../../shared/tls/followed.ts'
import { answerUnknownRoutes } from '../../../shared/unknown-routes.ts'
import type { Reloader } from '../config/reload.ts'
import { operationRefusal } from '../operations/refusal.ts'
import { byUpstream, healthView } from '../operations/upstream/list.ts'
import { framingFault } from '../../front/http/framing.ts'
import type { OperatedGateway } from '../office.ts'
import { wire } from '../../front/http/wire.ts'
import type { Environment } from '../config/variables.ts'
import type { OfficeThread } from '../thread/office-thread.ts'
import { hostScreen } from './hosts.ts'
import { jsonTypes, takeTexts } from './body.ts'
import { Browsers } from './browser.ts'
import { addConsole } from './console.ts'
import type { Metrics } from './metrics/metrics.ts'
import { EventStreams } from './events.ts'
import { addOperations } from './operations.ts'
import { requireKnownQueries } from './query.ts'
import { Sessions } from './session.ts'
import type { AdminSecrets } from './token.ts'
import { guesses } from './sign-in.ts'
import { requireToken } from './require-token.ts'

/** The path below which requests are asked for by their ids. */
const requestsPath = '/admin/requests/'

export type AdminOptions = Readonly<{
  gateway: OperatedGateway
  reloader: Reloader
  metrics: Metrics
  secrets: AdminSecrets
  /** The certificate of the address; without it, it speaks plain HTTP. */
  tls?: FollowedTls | undefined
  log?: LogSettings | undefined
  clock?: Clock | undefined
  /** Runs operations that read much; without it, they run in this thread. */
  thread?: OfficeThread | undefined
  /** The values that a configuration’s `${NAME}` may have. */
  environment?: Environment
  isStopping: () => boolean
}>

/** The server of the admin address: health, metrics, the admin API and the console. */
export function createAdmin(options: AdminOptions): FastifyInstance {
  const { gateway, reloader, metrics, secrets, log, clock = Date.now } = options
  const { thread, tls, environment = {} } = options
  const app = createService({
    name: 'admin',
    log,
    // Only a change can have been made.
    refusalFor: (thrown, { method }) =>
      operationRefusal(thrown, !isRead(method)) ?? refusalFrom(thrown),
    describe: (line, { admin }) => {
      if (admin) line['by'] = admin.name
      // Somebody may ask for a token of another system, which nothing could mask.
      if (String(line['path']).startsWith(requestsPath)) line['path'] = `${requestsPath}…`
      return true
    },
    settings: { http: wire },
    tls,
  })
  // Node would answer an unknown `Expect` by itself, without a body. Fastify refuses it by our rules.
  app.server.on('checkExpectation', (request, response) => app.routing(request, response))
  const hostFault = hostScreen(gateway.config.admin)
  app.addHook('onRequest', ({ raw }, _reply, done) => done(framingFault(raw) ?? hostFault(raw)))
  answerUnknownRoutes(app)

  app.get('/healthz', () => ({ status: 'alive' }))

  app.get('/readyz', (_request, reply) => {
    const state = readiness(options)
    return reply.code(state.ready ? 200 : 503).send(state)
  })

  app.get('/metrics', async (_request, reply) => {
    const { type, text } = await metrics.read()
    return reply.type(type).send(text)
  })

  app.addHook('onClose', () => thread?.close())
  app.decorateRequest('admin', null)
  const sessions = new Sessions(() => secrets.tokens, clock)
  const browsers = new Browsers(() => gateway.config, sessions)
  addConsole(app, { gateway, secrets, browsers, sessions, clock })

  const refuseGuess = guesses({
    at: 'admin',
    clock,
    store: gateway.front.stores.strangers,
    limits: () => gateway.config.strangers,
  })
  void app.register((guarded, _options, done) => {
    requireToken(guarded, secrets, refuseGuess, browsers)
    requireKnownQueries(guarded)
    takeTexts(guarded, jsonTypes)
    const streams = new EventStreams(guarded, { isStopping: options.isStopping, clock })
    addOperations(guarded, {
      gateway,
      reloader,
      secrets,
      clock,
      streams,
      environment,
      thread: thread?.readsStores ? thread : undefined,
    })
    done()
  })
  return app
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Whether requests should come here: not unless it listens, while it has no healthy target, or has never met its key store. */
function readiness({ gateway, reloader, isStopping }: AdminOptions) {
  const { hash, mistakes, more = 0 } = reloader.state
  const count = mistakes === undefined ? {} : { mistakes: mistakes.split('\n').length + more }
  const upstreams = byUpstream(gateway, healthView)
  const targets = Object.values(upstreams).flatMap((each) => Object.values(each))
  const isServed = targets.length === 0 || targets.some(({ healthy }) => healthy)
  const { directory, quotas } = gateway.front
  const { listening } = gateway.server
  const warnings = gateway.office.storeWarnings.present
  return {
    ready: listening && !isStopping() && isServed && directory.isMet,
    listening,
    stopping: isStopping(),
    store: directory.isMet && quotas.isReachable ? 'reachable' : 'out of reach',
    ...(warnings.length > 0 ? { warnings } : {}),
    upstreams,
    // Only their number: the mistakes quote the file, and /readyz needs no token.
    config: { hash, ...count },
  }
}
