import type { IncomingHttpHeaders } from 'node:http'
import { Readable, type Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Timeouts } from '../config/config.ts'
import { CallerBody } from './caller-body.ts'
import type { Target } from './target.ts'

/** A request as it is sent to a backend. */
export type Outgoing = Readonly<{
  method: string
  /** Path and query. */
  target: string
  /** The id of the key that it is sent for. */
  callerId: string
  /** Names and values in turn, without what is for one connection alone; the first is Host, yet to be filled in. */
  headers: string[]
  body: CallerBody | Buffer | undefined
  /** When it is sent, by the clock of `performance`. */
  sentAtMs: number
  /** Whether it asks to go on as a WebSocket. */
  upgrade: boolean
}>

/** The answer of a backend, with all of the body if it came at once, else with a stream of it. */
export type Answer = Readonly<{
  status: number
  headers: IncomingHttpHeaders
  body: Buffer | Readable | undefined
  target: Target
}>

/**
 * Why there is no answer. `unreachable`: there is no connection; `broken`: it was reset, or what came
 * is no HTTP; `late`: nothing came in time; `slow`: the caller took too long to send its body;
 * `unsendable`: it can't be written down as a request.
 */
export type Failure = Readonly<{
  kind: 'unreachable' | 'broken' | 'late' | 'slow' | 'unsendable'
  cause: Error
  /** Whether nothing of the request has left, so that another target may be tried. */
  isUnsent: boolean
  /** Whether the backend has hung up on a body that was still on its way. */
  isUnwanted: boolean
  target: Target
}>

/** Is told what becomes of an attempt: exactly one of the first three, once; then that it has ended. */
export type AttemptListener = {
  answered(answer: Answer): void
  upgraded(headers: IncomingHttpHeaders, socket: Duplex, target: Target): void
  failed(failure: Failure): void
  /** The attempt is over: answered whole, failed, cancelled, or become a WebSocket. */
  ended(): void
}

type Controller = Dispatcher.DispatchController

/** What is done by `atOnce.then` is done before anything else happens; `queueMicrotask` costs twice as much (0.2 µs). */
const atOnce = Promise.resolve()

/** How long a caller may take nothing of an answer that waits for it. */
export const stalledMs = 120_000

/**
 * One attempt to have a request answered by one target. undici tells it what happens; it keeps the time, hands
 * on an answer as soon as its first bytes are there, and ends early when the caller has gone.
 */
export class TargetAttempt implements Dispatcher.DispatchHandler {
  readonly #target: Target
  readonly #outgoing: Outgoing
  readonly #timeouts: Timeouts
  readonly #listener: AttemptListener
  #controller: Controller | undefined
  #timer: NodeJS.Timeout | undefined
  #requestTimer: NodeJS.Timeout | undefined
  #status = 0
  #headers: IncomingHttpHeaders = {}
  /** What has come of the body before it was told of. */
  #early: Buffer[] | undefined
  #stream: Readable | undefined
  /** `answering` from when the answer was handed on, until all of it has come. */
  #state: 'waiting' | 'answering' | 'over' = 'waiting'

  constructor(target: Target, outgoing: Outgoing, timeouts: Timeouts, listener: AttemptListener) {
    this.#target = target
    this.#outgoing = outgoing
    this.#timeouts = timeouts
    this.#listener = listener
  }

  begin(): void {
    const { method, target: path, headers, body, upgrade } = this.#outgoing
    const { pool, host } = this.#target
    headers[1] = host
    if (body instanceof CallerBody) this.#waitForBody(body)
    else this.#waitForAnswer()
    const options = { method, path, headers, body: body ?? null }
    pool.dispatch(upgrade ? { ...options, upgrade: 'websocket' } : options, this)
  }

  /** Gives up: nobody waits for the answer any more. */
  cancel(): void {
    if (this.#state === 'over') return
    this.#stop()
    this.#controller?.abort(new Error('the caller has gone'))
    this.#stream?.destroy()
    this.#listener.ended()
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#state === 'over') controller.abort(new Error('too late'))
  }

  onResponseStart(_controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#state === 'over') return
    if (status > 599) return this.#fail('broken', new Error(`the status ${status} is none`))
    this.#status = status
    this.#headers = headers
    clearTimeout(this.#timer)
    // undici takes the length that such an answer may tell of for a body that is missing.
    if (status === 204 || status === 304) return this.onResponseEnd()
    // What has come in one piece is handed on in one piece; more is to come if it hasn't ended by then.
    void atOnce.then(() => this.#answer())
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (!this.#stream) this.#early = this.#early ? [...this.#early, chunk] : [chunk]
    else if (this.#stream.push(chunk)) this.#timer?.refresh()
    else this.#pause(controller)
  }

  onResponseEnd(): void {
    if (this.#state === 'over') return
    if (this.#stream) this.#stream.push(null)
    else this.#answer(true)
    this.#end()
  }

  onRequestUpgrade(
    _controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    if (this.#state === 'over' || status !== 101) return void socket.destroy()
    this.#target.answered(status)
    this.#stop()
    this.#listener.upgraded(headers, socket, this.#target)
    this.#listener.ended()
  }

  onResponseError(_controller: Controller, error: Error): void {
    if (this.#stream) {
      this.#end()
      this.#stream.destroy(error)
    } else this.#fail(this.#controller ? 'broken' : unconnected(error), error)
  }

  #answer(isWhole = false): void {
    if (this.#state !== 'waiting') return
    this.#state = 'answering'
    this.#target.answered(this.#status)
    const early = this.#early
    const first = early && early.length > 1 ? Buffer.concat(early) : early?.[0]
    const body = isWhole ? first : this.#open(first)
    try {
      this.#listener.answered({
        status: this.#status,
        headers: this.#headers,
        body,
        target: this.#target,
      })
    } catch (error) {
      this.#giveUp(error)
    }
  }

  /** The answer could not be handed on, by a fault of ours: this request fails, and nothing else. */
  #giveUp(error: unknown): void {
    const cause = error instanceof Error ? error : new Error(String(error))
    const target = this.#target
    this.#stop()
    this.#controller?.abort(cause)
    this.#stream?.destroy()
    this.#listener.failed({ kind: 'broken', cause, isUnsent: false, isUnwanted: false, target })
    this.#listener.ended()
  }

  /** A stream of what has come and what comes; it ends with the exchange, and the exchange with it. */
  #open(first: Buffer | undefined): Readable {
    const stream = new Readable({
      read: () => this.#resume(),
      destroy: (error, done) => {
        this.cancel()
        done(error)
      },
    })
    this.#stream = stream
    // Whoever reads it hears of its end by itself; who has given up on it must not be hit by it.
    stream.on('error', () => undefined)
    this.#wait(this.#timeouts.idleMs, 'the backend has paused for too long')
    if (first) stream.push(first)
    return stream
  }

  #pause(controller: Controller): void {
    controller.pause()
    this.#wait(stalledMs, 'the caller takes nothing any more')
  }

  #resume(): void {
    if (!this.#controller?.paused) return
    this.#wait(this.#timeouts.idleMs, 'the backend has paused for too long')
    this.#controller.resume()
  }

  /** Ends an answer that has begun if nothing happens for a while. */
  #wait(milliseconds: number, sentence: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const error = new Error(sentence)
      this.#end()
      this.#stream?.destroy(error)
      this.#controller?.abort(error)
    }, milliseconds)
  }

  #waitForAnswer(): void {
    const { connectMs, responseMs } = this.#timeouts
    this.#timer = setTimeout(() => {
      const sentence = `no answer began within ${responseMs} ms`
      this.#fail(
        'late',
        new Error(this.#controller ? sentence : `no connection within ${connectMs} ms`),
      )
    }, responseMs)
  }

  /** The time of the backend begins when it has the whole request; until then it is the caller's. */
  #waitForBody(body: CallerBody): void {
    const { requestMs } = this.#timeouts
    body.once('end', () => {
      clearTimeout(this.#requestTimer)
      if (this.#state === 'waiting' && this.#status === 0) this.#waitForAnswer()
    })
    this.#requestTimer = setTimeout(() => {
      const sentence = `the body did not arrive within ${requestMs} ms`
      this.#fail(body.isHeldUp ? 'late' : 'slow', new Error(sentence))
    }, requestMs)
  }

  #fail(kind: Failure['kind'], cause: Error): void {
    const { body, callerId } = this.#outgoing
    const wasAnswering = this.#state === 'answering'
    if (this.#state === 'over') return
    this.#stop()
    this.#controller?.abort(cause)
    // An answer that has begun can't be taken back: it is broken off.
    if (wasAnswering) this.#stream?.destroy(cause)
    else {
      // A backend may hang up on a body that it doesn't want: that alone is no failure.
      const isUnwanted = kind === 'broken' && body instanceof CallerBody && !body.hasEnded
      const isCallers = kind === 'slow' || kind === 'unsendable'
      const target = this.#target
      if (!isCallers) target.meter.answered(0)
      if (!isUnwanted && !isCallers) target.failed(cause, this.#controller ? callerId : undefined)
      const isUnsent = !this.#controller && kind !== 'unsendable'
      this.#listener.failed({ kind, cause, isUnsent, isUnwanted, target })
    }
    // Last, so that the request counts as under way until another attempt does.
    this.#listener.ended()
  }

  #end(): void {
    if (this.#state === 'over') return
    this.#stop()
    this.#listener.ended()
  }

  #stop(): void {
    this.#state = 'over'
    clearTimeout(this.#timer)
    clearTimeout(this.#requestTimer)
  }
}

/** What an error means that came before there was a connection. */
function unconnected(error: Error): Failure['kind'] {
  const code = 'code' in error ? error.code : undefined
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'late'
  return code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED'
    ? 'unsendable'
    : 'unreachable'
}
