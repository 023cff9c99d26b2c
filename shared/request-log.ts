import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { pino } from 'pino'
import { dataOf, loggerOptions, type LogSettings } from './log.ts'

/** The log of a service. */
export function serviceLog(service: string, settings: LogSettings): FastifyBaseLogger {
  const { stream, ...options } = loggerOptions(service, settings)
  // Lines are plain data already; pino's serializer for errors would add their other members.
  const serializers = { err: (data: unknown) => data }
  return pino({ ...options, serializers, formatters: { log: dataOf } }, stream)
}

/**
 * The log of lines that name a request. A service's own requests have the log of all: most write no line, and a logger for
 * each would cost a refusal a twelfth of its CPU time. An app's own Fastify makes one for each.
 */
export function logOf({ log, id, server }: FastifyRequest): FastifyBaseLogger {
  return log === server.log ? log.child({ reqId: id }) : log
}
