import type { FastifyInstance } from 'fastify'
import type { Clock } from '../shared/clock.ts'
import { Refusal, refusalFrom } from '../shared/refusal.ts'
import type { LogSettings } from '../shared/log.ts'
import { createService } from '../shared/service.ts'
import type { FollowedTls } from '../shared/tls/followed.ts'
import { isTrouble, type Database } from '../shared/sqlite.ts'
import { answerUnknownRoutes } from '../shared/unknown-routes.ts'
import { readJsonExactly } from './body.ts'
import { Commits } from './commits.ts'
import { addOrders } from './orders.ts'
import { addPets } from './pets.ts'
import { requireSignature } from './signed.ts'

/** An animal needs at most 1.2 KB; the rest is for unknown members. */
const bodyLimit = 64 * 1024

export type BackendOptions = Readonly<{
  database: Database
  /** Shared with the gateway, whose signature each request needs. Without it no signature is checked. */
  secret?: string | undefined
  clock?: Clock
  log?: LogSettings
  /** The certificate of its address; without it, it speaks plain HTTP. */
  tls?: FollowedTls | undefined
  /** Whether writes that arrive together share a commit; `false` for measurements only. */
  batched?: boolean
}>

/** Creates the animal store, ready to listen. Closing it leaves the database open for the opener to close. */
export function createBackend(options: BackendOptions): FastifyInstance {
  const { database, secret, clock = Date.now, log, tls, batched = true } = options
  const app = createService({
    name: 'backend',
    log,
    refusalFor: (thrown) => (isTrouble(thrown) ? storeRefusal(thrown) : refusalFrom(thrown)),
    settings: { bodyLimit },
    tls,
  })
  const look = secret ? requireSignature(app, secret, clock) : undefined
  readJsonExactly(app, look)
  answerUnknownRoutes(app)

  const commits = new Commits(database, batched)
  const alive = database.prepare('SELECT 1')
  app.get('/healthz', () => ({ status: alive.get() ? 'ok' : 'failing' }))
  addPets(app, database, commits)
  addOrders(app, database, commits, clock)
  return app
}

/** For a full disk or a lock of another process: the same request works later. */
function storeRefusal(cause: unknown): Refusal {
  const sentence = 'The store can take no changes just now. Try again in a moment.'
  return new Refusal('service_unavailable', sentence, { 'retry-after': '1' }, cause)
}
