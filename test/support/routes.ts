import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { Config } from '../../gateway/front/config/config.ts'
import type { Answer, GuardedRoute } from '../../gateway/front/request-record.ts'
import { costTerms } from '../../gateway/front/limits/answer-cost.ts'
import { pathOf } from '../../shared/service.ts'
import { addRoutes } from '../../gateway/front/routes.ts'

const noWay: Pick<GuardedRoute, 'share' | 'forwarder' | 'answer' | 'ended'> = {
  ...{ share: undefined, forwarder: undefined, answer: undefined },
  ended: () => undefined,
}
const silent: Answer = (_request, reply) => reply

/** An app with the routes of a configuration, which answers each request with the cost of the route that it takes. */
export async function appOfCosts(
  t: Test,
  config: Config,
  isAlone: boolean,
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  for (const method of config.routes.flatMap(({ methods }) => methods)) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  app.addHook('onRequest', (request, reply) => {
    const { routeOf, cost = 1 } = request.routeOptions.config
    void reply.send(String(routeOf?.(pathOf(request), request.method).cost ?? costTerms(cost).cost))
  })
  await addRoutes(app, config, {
    guardedRoute: (settings) => ({ ...noWay, ...settings }),
    endOf: () => ({}),
    own: {
      ...{ quota: silent, usage: silent, rotate: silent, ticket: silent },
      ...{ pages: new Map(), resource: undefined },
    },
    isAlone,
  })
  await app.ready()
  return app
}
