import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../../shared/refusal.ts'
import { nearest } from '../config/near.ts'
import type { Kind } from '../operations/values.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parameters that a query of this route at the admin address may have; none unless told. */
    parameters?: readonly string[]
  }
}

/** Refuses queries with parameters that their routes don't have, or more than once. */
export function requireKnownQueries(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => done(queryFault(request)))
}

/** A misspelled parameter would be as good as none: far more is answered, or done, than was meant. */
function queryFault({ query, routeOptions }: FastifyRequest): Refusal | undefined {
  const { parameters: known = [] } = routeOptions.config
  for (const [name, value] of Object.entries(query as object)) {
    if (!known.includes(name)) return new Refusal('invalid_request', unknown(name, known))
    if (Array.isArray(value)) return new Refusal('invalid_request', `${name} can be given once.`)
  }
  return undefined
}

function unknown(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  if (near !== undefined) return `There is no parameter "${name}"; did you mean ${near}?`
  const all = known.length > 0 ? `there are ${known.join(', ')}` : 'this takes none'
  return `There is no parameter "${name}"; ${all}.`
}

/** What a parameter says that is true or false; its bare name says true. */
export function isTrue(name: string, value: string | undefined): boolean {
  if (value === undefined || value === 'false') return false
  if (value === 'true' || value === '') return true
  throw new Refusal('invalid_request', `${name} must be true or false.`)
}

/** What a parameter says that is of a kind. */
export function valueOf<Value>(name: string, text: string, { mayBe, read }: Kind<Value>): Value {
  const value = read(text)
  if (value !== undefined) return value
  throw new Refusal('invalid_request', `${name} must be ${mayBe}.`)
}
