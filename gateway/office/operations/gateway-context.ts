import type { Clock } from '../../../shared/clock.ts'
import { examined } from '../config/desk.ts'
import type { Environment } from '../config/variables.ts'
import { refusalsOf } from '../explain/refusals-of.ts'
import type { OperatedGateway } from '../office.ts'
import type { Context } from './context.ts'
import { desksFor, type Desks } from './desks.ts'

export type GatewayContextOptions = Readonly<{
  gateway: Pick<OperatedGateway, 'config' | 'front'>
  secret: string | undefined
  clock: Clock
  /** The values that a configuration’s `${NAME}` may have. */
  environment: Environment
  /** The author of changes, for the audit. */
  by: string
}>

/** The context of an operation that runs where the gateway does: in its process, or in an app. */
export function gatewayContext({
  gateway: { config, front },
  secret,
  clock,
  environment,
  by,
}: GatewayContextOptions): Omit<Context, 'inForce'> {
  const { stores, issuers, flushCounts, recentRefusals, self } = front
  const own = { refusals: recentRefusals, gateway: self.name }
  let desks: Desks | undefined
  return {
    config,
    stores: () => stores,
    desks: () => (desks ??= desksFor({ ...config, stores, clock, by })),
    secret,
    clock,
    issuers,
    examine: (file) => Promise.resolve(examined(file.read(), environment, file.name)),
    refusalsOf: (id) => refusalsOf(stores.questions, stores.fleet.size, id, own),
    flush: flushCounts,
    progress: () => () => undefined,
  }
}
