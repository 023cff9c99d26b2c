import type { FastifyBaseLogger } from 'fastify'
import { pino, type Logger } from 'pino'
import { dataOf, loggerOptions, type LogSettings } from './log.ts'

type Bindings = Parameters<FastifyBaseLogger['child']>[0]

/** The log of a service. */
export function serviceLog(service: string, settings: LogSettings): FastifyBaseLogger {
  const { stream, ...options } = loggerOptions(service, settings)
  // Lines are plain data already; pino's serializer for errors would add their other members.
  const serializers = { err: (data: unknown) => data }
  return new LazyLog(() => pino({ ...options, serializers, formatters: { log: dataOf } }, stream))
}

/**
 * A logger that creates pino's child logger at its first line. Each request has one, and most write nothing: pino's
 * child costs 0.2 µs and its memory, this one 0.03 µs.
 */
class LazyLog implements FastifyBaseLogger {
  readonly #origin: LazyLog | (() => Logger)
  readonly #bindings: Bindings
  #made: Logger | undefined

  constructor(origin: LazyLog | (() => Logger), bindings: Bindings = {}) {
    this.#origin = origin
    this.#bindings = bindings
  }

  get #log(): Logger {
    const origin = this.#origin
    return (this.#made ??=
      typeof origin === 'function' ? origin() : origin.#log.child(this.#bindings))
  }

  child(bindings: Bindings): LazyLog {
    return new LazyLog(this, bindings)
  }

  get level() {
    return this.#log.level
  }

  set level(level) {
    this.#log.level = level
  }

  get fatal() {
    return this.#log.fatal.bind(this.#log)
  }

  get error() {
    return this.#log.error.bind(this.#log)
  }

  get warn() {
    return this.#log.warn.bind(this.#log)
  }

  get info() {
    return this.#log.info.bind(this.#log)
  }

  get debug() {
    return this.#log.debug.bind(this.#log)
  }

  get trace() {
    return this.#log.trace.bind(this.#log)
  }

  get silent() {
    return this.#log.silent.bind(this.#log)
  }
}
