import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import type { Config } from '../../front/config/config.ts'
import type { Front } from '../../front/front.ts'
import { unfitFor } from '../../front/stranger.ts'
import type { Metrics } from '../admin/metrics/metrics.ts'
import { hindrances } from '../config/hindrances.ts'
import type { Loaded } from '../config/load.ts'
import { noteReload } from '../config/note-reload.ts'
import type { Office, OperatedGateway } from '../office.ts'
import { gatewayContext } from '../operations/gateway-context.ts'
import type { ContextFor } from './ask.ts'
import { TollgateError } from './ask.ts'
import { operationsOfApp } from './operations.ts'
import { AppConfig } from './reload.ts'
import type { Tollgate } from './tollgate.ts'

export type AppOptions = Readonly<{
  loaded: Pick<Loaded, 'config'> & Partial<Pick<Loaded, 'shown'>>
  app: FastifyInstance
  front: Front
  office: Office
  secret: string | undefined
  clock: Clock
  /** Guards the app's routes by another configuration. */
  change: (config: Config) => Promise<void>
  isClosed: () => boolean
}>

/** Opens the operations of an app, which `app.tollgate` has. */
export function openTollgate(options: AppOptions): Tollgate {
  const { loaded, app, front, office, secret, clock, change, isClosed } = options
  const { server, log } = app
  const gateway: OperatedGateway = {
    front,
    office,
    server,
    get config() {
      return appConfig.config
    },
  }
  let opened: Promise<Metrics> | undefined
  // Few apps read them, and Node's own take timers.
  const metrics = (): Promise<Metrics> => (opened ??= openMetrics(gateway, appConfig))
  const appConfig = new AppConfig({
    ...loaded,
    shown: loaded.shown,
    async change(config) {
      await change(config)
      front.change(config)
      office.change(config)
    },
    hindrances(before, after) {
      return [...hindrances(front.swaps, before, after), ...unfitFor(app, after)]
    },
    onAttempt: noteReload({
      ...{ audit: front.stores.audit, isLeader: true, log },
      metrics: { reloaded: (result) => void metrics().then(({ reloaded }) => reloaded(result)) },
      warn: (warnings) => warnings.forEach((warning) => log.warn({}, warning)),
    }),
  })
  const contextFor: ContextFor = (by) => {
    requireOpen(isClosed())
    const options = { gateway, secret, clock, environment: {}, by }
    return { ...gatewayContext(options), inForce: undefined, requiresVerified: true }
  }
  return {
    ...operationsOfApp(contextFor),
    async reload(config) {
      requireOpen(isClosed())
      return appConfig.reload(config, 'app').catch((error: unknown) => {
        if (!(error instanceof TypeError)) throw error
        throw new TollgateError('invalid_request', 400, error.message, error)
      })
    },
    async metrics() {
      requireOpen(isClosed())
      return (await (await metrics()).read()).text
    },
  }
}

async function openMetrics(gateway: OperatedGateway, appConfig: AppConfig): Promise<Metrics> {
  const { createMetrics } = await import('../admin/metrics/metrics.ts')
  return createMetrics(gateway, { state: () => appConfig.state })
}

function requireOpen(isClosed: boolean): void {
  if (!isClosed) return
  const sentence =
    'the app is closed, and with it the stores of Tollgate: app.tollgate works until then'
  throw new TollgateError('service_unavailable', 503, sentence, undefined)
}
