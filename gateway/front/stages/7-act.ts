import type { onRequestHookHandler } from 'fastify'
import { answerActed } from '../forwarding/acted-answer.ts'

/**
 * Answers what a test key has acted on a route of the app's own, before its handler runs. On routes to an upstream the
 * forwarding does it, after its own checks.
 */
export const act: onRequestHookHandler = function act(request, reply, done): void {
  const { tollgate: record } = request
  if (!record?.act) return done()
  answerActed(record.act, record, reply, undefined)
}
