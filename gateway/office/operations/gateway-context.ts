import type { Clock } from '../../../shared/clock.ts'
import { examined } from '../config/desk.ts'
import type { Environment } from '../config/variables.ts'
import { refusalsOf, type ReadStored } from '../explain/refusals-of.ts'
import {
  storedRefusals,
  type AskedRefusals,
  type StoredRefusals,
} from '../explain/stored-refusals.ts'
import type { OperatedGateway } from '../office.ts'
import type { Context } from './context.ts'
import { desksFor, type Desks } from './desks.ts'

type ReadStoredAt = (asked: AskedRefusals) => Promise<StoredRefusals>

export type GatewayContextOptions = Readonly<{
  gateway: Pick<OperatedGateway, 'config' | 'front'>
  secret: string | undefined
  clock: Clock
  /** The values that a configuration’s `${NAME}` may have. */
  environment: Environment
  /** The author of changes, for the audit. */
  by: string
  /** Reads the store in a thread of its own; without it, this one does. */
  thread?: Readonly<{ storedRefusals: ReadStoredAt }> | undefined
}>

/** The context of an operation that runs where the gateway does: in its process, or in an app. */
export function gatewayContext({
  gateway: { config, front },
  secret,
  clock,
  environment,
  by,
  thread,
}: GatewayContextOptions): Omit<Context, 'inForce'> {
  const { stores, issuers, flushCounts, recentRefusals, member } = front
  const own = { refusals: recentRefusals, self: member }
  const readStored: ReadStored = (asked) => {
    const askedNow = { ...asked, nowMs: clock() }
    return thread ? thread.storedRefusals(askedNow) : storedRefusals(stores.refusals, askedNow)
  }
  let desks: Desks | undefined
  return {
    config,
    stores: () => stores,
    desks: () => (desks ??= desksFor({ ...config, stores, clock, by })),
    secret,
    clock,
    issuers,
    examine: (file) => Promise.resolve(examined(file.read(), environment, file.name)),
    refusalsOf: (id) =>
      refusalsOf(id, {
        questions: stores.questions,
        expected: stores.fleet.size,
        readStored,
        own,
      }),
    flush: flushCounts,
    progress: () => () => undefined,
  }
}
