import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import type { CallerBody } from './caller-body.ts'
import type { Target } from './target.ts'

/** A request for a backend. */
export type Outgoing = Readonly<{
  method: string
  /** Path and query. */
  target: string
  /** Its Host; `undefined` for the target's. */
  host: string | undefined
  /** The id of the caller's key. */
  callerId: string
  /** Names and values in turn, without those for one connection alone. The first is an empty Host. */
  headers: string[]
  body: CallerBody | Buffer | undefined
  /** The time of sending, by the clock of `performance`. */
  sentAtMs: number
  /** Whether it asks for a WebSocket. */
  upgrade: boolean
}>

/** The answer of a backend, with the whole body if it came at once, else with a stream of it. */
export type BackendAnswer = Readonly<{
  status: number
  headers: IncomingHttpHeaders
  body: Buffer | Readable | undefined
  target: Target
}>

/**
 * Why an attempt failed. `unreachable`: no connection; `broken`: the connection was reset, or the answer
 * isn't valid HTTP; `late`: no answer in time; `slow`: the caller took too long to send its body;
 * `unsendable`: undici refuses to send it.
 */
export type Failure = Readonly<{
  kind: 'unreachable' | 'broken' | 'late' | 'slow' | 'unsendable'
  cause: Error
  /** Whether nothing was sent, so that another target may be tried. */
  isUnsent: boolean
  /** Whether the backend closed the connection while the body was still being sent. */
  isUnwanted: boolean
  target: Target
}>

/** Hears from an attempt: `answered`, `upgraded` or `failed` at most once, then `ended`. */
export type AttemptListener = {
  answered(answer: BackendAnswer): void
  /** A piece of the body of an answer, as it is handed on. */
  piece(piece: Buffer): void
  /** The trailers of an answer, before its body ends. */
  trailed(trailers: IncomingHttpHeaders): void
  upgraded(headers: IncomingHttpHeaders, socket: Duplex, target: Target): void
  failed(failure: Failure): void
  /** Its caller has left, or reads nothing any more. */
  left(): void
  /** The attempt is over: answered, failed, cancelled, or turned into a WebSocket. */
  ended(): void
}

/** Whether an attempt failed by its request: then it says nothing about the target. */
export function isOfCaller(kind: Failure['kind']): boolean {
  return kind === 'slow' || kind === 'unsendable'
}
