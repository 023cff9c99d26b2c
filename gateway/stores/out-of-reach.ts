import { isTrouble } from '../../shared/sqlite.ts'
import { isOfNames, OutageError } from './redis/breaker.ts'

/** How ioredis, and whoever waits for it here, say that Redis can't be asked: with a name of its own, */
const named = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError'])

/** and without one. */
const unnamed =
  /^(?:Connection is closed|Stream isn't writeable|Command timed out|Redis did not answer|Command aborted|Cluster is|Too many Cluster redirections|None of startup nodes|Node is disconnected)/

/**
 * Whether a store says by an error that it can't be asked just now: nothing of ours is broken, and
 * later it will work. What was asked may have been done nevertheless.
 */
export function isOutOfReach(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof OutageError || named.has(error.name)) return true
  if (error.name === 'ReplyError') return !isOfNames(error)
  return isTrouble(error) || unnamed.test(error.message)
}
