import type { FastifyInstance } from 'fastify'
import { requestIdFrom } from '../../../shared/request-id.ts'

/** The name of Fastify's own generator of ids. */
const counter = 'defaultGenReqId'

/** An id of Fastify's own. */
const counted = /^req-[0-9a-z]+$/

/**
 * Replaces Fastify's counter in the scope of an app, because each process begins it anew. An app's own generator stays,
 * and so do the ids of callers where the app takes them from a header.
 */
export function makeIdsUnique(app: FastifyInstance): void {
  // Fastify has it, and its types don't.
  const generate: unknown = Reflect.get(app, 'genReqId')
  if (!isGenerator(generate)) return
  const { requestIdHeader } = app.initialConfig
  if (generate.name === counter) app.setGenReqId(() => requestIdFrom(undefined))
  else if (typeof requestIdHeader === 'string') {
    app.setGenReqId((request) => {
      const id = generate(request)
      const isCounted = counted.test(id) && request.headers[requestIdHeader] !== id
      return isCounted ? requestIdFrom(undefined) : id
    })
  }
}

function isGenerator(value: unknown): value is (request: unknown) => string {
  return typeof value === 'function'
}
