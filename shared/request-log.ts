import type { FastifyBaseLogger } from 'fastify'
import { pino } from 'pino'
import { dataOf, loggerOptions, type LogSettings } from './log.ts'

/** The log of a service. */
export function serviceLog(service: string, settings: LogSettings): FastifyBaseLogger {
  const { stream, ...options } = loggerOptions(service, settings)
  // Lines are plain data already; pino's serializer for errors would add their other members.
  const serializers = { err: (data: unknown) => data }
  return pino({ ...options, serializers, formatters: { log: dataOf } }, stream)
}
