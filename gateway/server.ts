import type { FastifyInstance } from 'fastify'
import { Refusal } from '../shared/refusal.ts'
import { createService, type LogSettings } from '../shared/service.ts'
import { tollgate, type TollgateOptions } from './plugin.ts'

/** The gateway as a server of its own: nothing but the plugin, and a 404 for what has no route. */
export async function createGateway(
  options: TollgateOptions & { log?: LogSettings | undefined },
): Promise<FastifyInstance> {
  const app = createService({
    name: 'gateway',
    log: options.log,
    describe: ({ caller }) => (caller ? { key: caller.id, plan: caller.plan } : {}),
  })
  await app.register(tollgate, options)
  app.all('*', { config: { tollgate: true } }, () => {
    throw new Refusal('not_found', 'There is nothing at this path.')
  })
  return app
}
