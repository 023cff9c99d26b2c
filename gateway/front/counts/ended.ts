import type { FastifyRequest } from 'fastify'
import type { Caller } from '../keys/caller.ts'
import type { WindowName } from '../../../shared/windows.ts'
import type { Standing } from '../limits/headers.ts'
import type { RequestRecord } from '../request-record.ts'
import type { RouteMeter } from './meters.ts'

/** Statuses from here on are failures, also those that a backend answers itself. */
export const firstFailure = 500

/** A route as the counts of its requests know it. */
export type CountedRoute = Readonly<{
  upstream: string
  /** The hash of the configuration. */
  config: string
  /** Whether its requests count as no usage. */
  isFree: boolean
  meter: RouteMeter
}>

/** A request whose answer has ended: made once, and read by everything that is counted of it. */
export type Ended = Readonly<{
  request: Pick<FastifyRequest, 'id' | 'method' | 'url'>
  record: RequestRecord
  route: CountedRoute
  status: number
  /** The plan of its caller, as metrics name it. */
  plan: string
  caller: Caller | undefined
  standing: Standing | undefined
  /** The window that has refused it. */
  refusedBy: WindowName | undefined
  /** The time of its decision, or of its end, in milliseconds since 1970. */
  atMs: number
  /** Its end, by `performance`. */
  endedAtMs: number
}>

/** One that counts as usage of its caller. */
export type Used = Ended & Readonly<{ caller: Caller; standing: Standing }>

export function isUsed(ended: Ended): ended is Used {
  return !ended.route.isFree && ended.caller !== undefined && ended.standing !== undefined
}
