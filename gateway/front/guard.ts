import type {
  FastifyInstance,
  onErrorHookHandler,
  onRequestHookHandler,
  onSendHookHandler,
} from 'fastify'
import type { Config, Route } from './config/config.ts'
import { decided } from './deciding/answer.ts'
import { resourceAnswer } from './resource-metadata.ts'
import { ownKeyHeaders } from './forwarding/headers.ts'
import { RouteForwarder } from './forwarding/route-forwarding.ts'
import { UnderWay } from './forwarding/under-way.ts'
import { guardRoutes } from './guarded-routes.ts'
import { nameInLog } from './log-line.ts'
import { tokenSource } from './http/token-source.ts'
import { open, type GuardOptions } from './opened.ts'
import { ownAnswers } from './portal/endpoints.ts'
import { replaceable, type RouteStages } from './replaceable-stages.ts'
import { settingsOf } from './route-config.ts'
import { Stages, type GuardedSettings } from './route-stages.ts'
import { addRoutes, type RouteEnd } from './routes.ts'
import { inOrder } from './way.ts'

/** The guard of an app whose routes stay. */
export type Guarding = Readonly<{
  /**
   * Guards by another configuration, with the same routes and own paths, from the next request on. If it rejects, nothing
   * has changed.
   */
  change: (config: Config) => Promise<void>
}>

/**
 * Guards the routes that the configuration forwards, and those of the app that ask for it with
 * `config: { tollgate: true }`. Other routes are left alone.
 */
export async function guard(app: FastifyInstance, options: GuardOptions): Promise<Guarding> {
  const { isAlone = false, finish = [] } = options
  const slots: Slot[] = []
  let inForce = await openGeneration(app, options)
  app.addHook('onClose', (_app, done) => {
    inForce.close()
    done()
  })
  app.decorateRequest('tollgate', null)
  guardRoutes(app, options, (route) => {
    const settings = settingsOf(route)
    const stagesIn = ({ stages }: Generation): RouteStages => stages.ofRoute(settings, route.url)
    const slot = { stagesIn, stages: stagesIn(inForce) }
    if (!isAlone) slots.push(slot)
    const { announce, ...incoming } = isAlone ? slot.stages : replaceable(slot)
    const ofApp = <Hook>(hook: Hook): Hook[] => (isAlone ? [] : [hook])
    const { onRequest = [], onSend = [], onError = [] } = route
    route.onRequest = [...inOrder(incoming), ...ofApp(nameCaller), ...[onRequest].flat()]
    route.onSend = [...[onSend].flat(), announce, ...ofApp(nameRefusal), ...finish]
    route.onError = [...ofApp(noteError), ...[onError].flat()]
  })
  const changeRoutes = await addRoutes(app, options.config, { ...inForce.routes, isAlone })
  return {
    async change(config) {
      const before = inForce
      try {
        const next = await openGeneration(app, { ...options, config })
        try {
          const stages = slots.map(({ stagesIn }) => stagesIn(next))
          const putInForce = await changeRoutes(config, next.routes)
          putInForce()
          slots.forEach((slot, i) => (slot.stages = stages[i] ?? slot.stages))
        } catch (error) {
          next.close()
          throw error
        }
        inForce = next
        if (options.ownCallers) options.ownCallers.plans = config.plans
      } finally {
        options.front.issuers.keep(inForce.config.jwt)
      }
      void before.underWay?.whenNone().then(() => before.close())
    },
  }
}

/** Has the lines of an app's hooks and handlers name the caller. */
const nameCaller: onRequestHookHandler = (request, reply, done) => {
  nameInLog(request, reply)
  done()
}

/** Has the app's line about a refused request name the refusal. */
const nameRefusal: onSendHookHandler = (request, reply, payload, done) => {
  if (request.tollgate?.refusal) nameInLog(request, reply)
  done(null, payload)
}

/** Notes that a request has ended in an error, before the app makes an answer of it. */
const noteError: onErrorHookHandler = (request, _reply, _error, done) => {
  if (request.tollgate) request.tollgate.hasThrown = true
  done()
}

/** The stages of one route of an app, and how another configuration makes them. */
type Slot = { readonly stagesIn: (generation: Generation) => RouteStages; stages: RouteStages }

/** What one configuration makes of the routes of an app. */
type Generation = Readonly<Awaited<ReturnType<typeof openGeneration>>>

async function openGeneration(app: FastifyInstance, options: GuardOptions) {
  const { config, front, sign, clock, isAlone = false } = options
  await front.swaps.prepare(config)
  const underWay = isAlone ? options.underWay : new UnderWay()
  const opened = await open(app, options)
  const { from } = config.keys
  const tokenOf = tokenSource({ from, keyOf: options.keyOf, longest: opened.outside?.longest })
  const stages = new Stages(app, { ...options, underWay }, opened, tokenOf)
  // It is closed after its last request.
  const { upstreams, trustedProxies, unanswered, close } = opened
  const { tunnels, drains, meters } = front
  const withheld = ownKeyHeaders(from)
  const forwarding = {
    ...{ trustedProxies, via: stages.via, sign, clock, withheld, unanswered },
    ...{ tunnels, drains },
    signatureWithheld: () => void meters.signaturesWithheld++,
  }
  const answer = options.asking && decided({ jwt: config.jwt, sign, clock })
  const routes = {
    guardedRoute: (settings: GuardedSettings) => stages.guardedRoute(settings),
    endOf(route: Route): RouteEnd {
      if (answer) return { answer }
      const upstream = upstreams.get(route.upstream)
      if (!upstream) throw new Error(`the upstream ${route.upstream} is not open`)
      return { forwarder: new RouteForwarder(forwarding, route, upstream, app.prefix) }
    },
    own: ownAnswers(
      { config, prefix: app.prefix, stores: front.stores, tokenOf, clock },
      opened.resource && resourceAnswer(config, opened.resource),
    ),
  }
  return { config, stages, routes, underWay, close }
}
