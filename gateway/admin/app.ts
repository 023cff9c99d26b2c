import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import { Refusal, refusalFrom } from '../../shared/refusal.ts'
import { createService, type LogSettings } from '../../shared/service.ts'
import { answerUnknownRoutes } from '../../shared/unknown-routes.ts'
import { NotWrittenDown } from '../records/audit.ts'
import type { Reloader } from '../config/reload.ts'
import { desksFor, type Desks } from '../operations/desks.ts'
import { framingFault } from '../http/framing.ts'
import { KeyMistake } from '../keys/mistake.ts'
import type { Gateway } from '../server.ts'
import { isOutOfReach } from '../stores/out-of-reach.ts'
import { wire } from '../http/wire.ts'
import { hostScreen } from './hosts.ts'
import { jsonTypes, sentence, takeTexts } from './body.ts'
import { addConfig } from './config.ts'
import { addKeys } from './keys.ts'
import type { Metrics } from './metrics.ts'
import { requireKnownQueries } from './query.ts'
import { addQuotas } from './quotas.ts'
import { addReports } from './reports.ts'
import { Guesses, requireToken, type AdminTokens } from './token.ts'
import { addUpstreams, upstreamStates } from './upstreams.ts'

/** When to try again what the store could not be asked for. */
const secondsUntilBack = '5'

export type AdminOptions = Readonly<{
  gateway: Gateway
  reloader: Reloader
  metrics: Metrics
  /** What operators prove themselves with; without any, only health is told. */
  tokens: AdminTokens
  /** What the gateway signs with, if it signs. */
  secret?: string | undefined
  log?: LogSettings | undefined
  clock?: Clock
  isStopping: () => boolean
}>

/** What operators and their machines ask a gateway, at an address of its own. */
export function createAdmin(options: AdminOptions): FastifyInstance {
  const { gateway, reloader, metrics, tokens, secret, log, clock = Date.now } = options
  const app = createService({
    name: 'admin',
    log,
    refusalFor,
    describe: (line, { admin }) => {
      if (admin) line['by'] = admin
      return true
    },
    settings: { http: wire },
  })
  // What Node would refuse by itself, without a body, is brought here and refused by the same rules.
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

  const guesses = new Guesses(() => gateway.config.strangers, clock)
  void app.register((guarded, _options, done) => {
    requireToken(guarded, tokens, guesses)
    requireKnownQueries(guarded)
    takeTexts(guarded, jsonTypes)
    const desks = (by: string): Desks =>
      desksFor({ stores: gateway.core.stores, plans: gateway.config.plans, clock, by })
    const context = { gateway, reloader, secret, clock, desks }
    addKeys(guarded, context)
    addQuotas(guarded, context)
    addReports(guarded, context)
    addUpstreams(guarded, context)
    addConfig(guarded, context)
    done()
  })
  return app
}

/** What whatever is thrown is to an operator. */
function refusalFor(thrown: unknown): Refusal {
  if (thrown instanceof KeyMistake) return new Refusal(thrown.code, sentence(thrown.message))
  if (thrown instanceof NotWrittenDown) {
    const message = `It is done (${thrown.what}), but could not be written down for the audit.`
    return new Refusal('internal_error', message, {}, thrown)
  }
  if (!isOutOfReach(thrown)) return refusalFrom(thrown)
  const message = `The store can’t be reached just now; a change may have been made or not. Try again in ${secondsUntilBack} seconds.`
  return new Refusal('service_unavailable', message, { 'retry-after': secondsUntilBack }, thrown)
}

/** Whether requests should come here: not while it stops, nor if nothing could serve them, or let anybody in. */
function readiness({ gateway, reloader, isStopping }: AdminOptions) {
  const { hash, mistakes } = reloader.state
  const upstreams = upstreamStates(gateway)
  const targets = Object.values(upstreams).flatMap((each) => Object.values(each))
  const isServed = targets.length === 0 || targets.some(({ healthy }) => healthy)
  const { directory, quotas } = gateway.core
  return {
    ready: !isStopping() && isServed && directory.isMet,
    stopping: isStopping(),
    store: directory.isMet && quotas.isReachable ? 'reachable' : 'out of reach',
    upstreams,
    // Which ones is for those who have a token: they quote the file.
    config: { hash, ...(mistakes === undefined ? {} : { mistakes: mistakes.split('\n').length }) },
  }
}
