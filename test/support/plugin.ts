import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { TollgateOptions } from '../../gateway/plugin.ts'
import { startGateway } from './gateway.ts'

/** The options of a route that asks to be guarded. */
export const mine = { config: { tollgate: true } } as const

/** The handler of a route, which only those should reach who may. */
export const serve = () => 'OPEN'

type Declare = (app: FastifyInstance, options: TollgateOptions) => unknown

/** Starts apps whose options of Tollgate are those of one gateway with a key. */
export async function appStarter(t: Test) {
  const { config, stores, key, upstream } = await startGateway(t)
  const { headers } = await key()
  return async (declare: Declare) => {
    const log: string[] = []
    const logger = { level: 'error', stream: { write: (text: string) => void log.push(text) } }
    const app = Fastify({ logger })
    t.teardown(() => app.close())
    await declare(app, { loaded: config, stores })
    await app.ready()
    return { app, log, headers, upstream, key }
  }
}

export async function startApp(t: Test, declare: Declare) {
  const start = await appStarter(t)
  return start(declare)
}
