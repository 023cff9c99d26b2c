import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../../../shared/refusal.ts'
import { nearest } from '../../../shared/near.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parameters that queries of this admin route may have; none by default. */
    parameters?: readonly string[]
  }
}

/** Refuses queries with a parameter that the route doesn't have, or with one twice. */
export function requireKnownQueries(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => done(queryFault(request)))
}

/** Why a query is refused. A misspelled parameter would filter nothing: the request would answer, or do, too much. */
function queryFault({ query, routeOptions }: FastifyRequest): Refusal | undefined {
  const { parameters = [] } = routeOptions.config
  for (const [name, value] of Object.entries(query as object)) {
    if (!parameters.includes(name)) {
      return new Refusal('invalid_request', unknown(name, parameters))
    }
    if (Array.isArray(value))
      return new Refusal('invalid_request', `${name} can be given only once.`)
  }
  return undefined
}

function unknown(name: string, parameters: readonly string[]): string {
  const near = nearest(name, parameters)
  if (near !== undefined) return `There is no parameter "${name}"; did you mean ${near}?`
  const all =
    parameters.length > 0 ? `there are ${parameters.join(', ')}` : 'this endpoint takes none'
  return `There is no parameter "${name}"; ${all}.`
}
