import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import type { Config } from '../config/config.ts'
import type { Stores } from '../stores/stores.ts'

/** The handler of an endpoint at which the gateway itself answers. */
export type Answer = (request: FastifyRequest, reply: FastifyReply) => unknown

export type OwnOptions = Readonly<{
  config: Config
  stores: Stores
  clock: Clock
  log: FastifyBaseLogger
}>
