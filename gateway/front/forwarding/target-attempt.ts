import type { IncomingHttpHeaders } from 'node:http'
import { Readable, type Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { asError } from '../../../shared/as-error.ts'
import type { Timeouts } from '../config/config.ts'
import type { DrainBounds } from '../limits/answer-cost.ts'
import { Gathered } from '../../../shared/gathered.ts'
import { isOfCaller, type AttemptListener, type Failure, type Outgoing } from './attempt.ts'
import { CallerBody } from './caller-body.ts'
import type { Target } from './target.ts'

type Controller = Dispatcher.DispatchController

/** The longest that a caller may read nothing of an answer. */
export const stalledMs = 120_000

/**
 * One try of a request at one target. undici calls it with the answer's parts; it keeps the time limits, hands
 * the answer on with its first bytes, and ends early when the caller has left.
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
  /** Chunks of the body that weren't handed on yet. */
  readonly #gathered = new Gathered()
  #stream: Readable | undefined
  /** `answering` from handing the answer on until its end. */
  #state: 'waiting' | 'answering' | 'over' = 'waiting'
  /** The bytes that may still be read for the cost alone, once the caller has left; `undefined` before. */
  #bytesLeft: number | undefined

  constructor(target: Target, outgoing: Outgoing, timeouts: Timeouts, listener: AttemptListener) {
    this.#target = target
    this.#outgoing = outgoing
    this.#timeouts = timeouts
    this.#listener = listener
  }

  begin(): void {
    const { method, target: path, headers, body, upgrade } = this.#outgoing
    const { pool, host } = this.#target
    headers[1] = this.#outgoing.host ?? host
    if (body instanceof CallerBody) this.#waitForBody(body)
    else this.#waitForAnswer()
    const options = { method, path, headers, body: body ?? null, servername: host }
    pool.dispatch(upgrade ? { ...options, upgrade: 'websocket' } : options, this)
  }

  /** Ends the attempt, because nobody waits for the answer any more. */
  cancel(): void {
    if (this.#state === 'over') return
    this.#stop()
    this.#controller?.abort(new Error('the caller has gone'))
    this.#stream?.destroy()
    this.#listener.left()
    this.#listener.ended()
  }

  /** Reads on although the caller has left, for its cost; `false` if there is nothing to read. */
  drain({ timeMs, bytes }: DrainBounds): boolean {
    const { body, upgrade } = this.#outgoing
    const isSent = !(body instanceof CallerBody) || body.hasEnded
    if (this.#state === 'over' || upgrade || !isSent) return false
    this.#bytesLeft = bytes
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.cancel(), timeMs)
    if (this.#controller?.paused) this.#controller.resume()
    return true
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#state === 'over') controller.abort(new Error('too late'))
  }

  onResponseStart(_controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#state === 'over') return
    if (status > 599)
      return this.#fail('broken', new Error(`the status ${status} isn't a valid one`))
    this.#status = status
    this.#headers = headers
    if (this.#bytesLeft === undefined) clearTimeout(this.#timer)
    // Such an answer may have a length and no body, which undici would take for a missing body.
    if (status === 204 || status === 304) return this.onResponseEnd()
    // Waits for the rest of this piece: an answer that came in one piece is handed on whole.
    queueMicrotask(() => this.#answer())
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const isPiece = this.#gathered.add(chunk)
    if (this.#state !== 'answering') return
    if (isPiece) this.#handOn(controller)
    else this.#gathered.wait(() => this.#handOn(controller))
  }

  onResponseEnd(_controller?: Controller, trailers: IncomingHttpHeaders = {}): void {
    if (this.#state === 'over') return
    this.#listener.trailed(trailers)
    if (this.#state === 'answering') {
      this.#handOn()
      this.#stream?.push(null)
    } else this.#answer(true)
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
      this.#handOn()
      this.#end()
      this.#stream.destroy(error)
    } else this.#fail(this.#controller ? 'broken' : unconnected(error), error)
  }

  #answer(isWhole = false): void {
    if (this.#state !== 'waiting') return
    this.#state = 'answering'
    this.#target.answered(this.#status)
    const first = this.#gathered.take()
    const isDraining = this.#bytesLeft !== undefined
    const body = isWhole || isDraining ? first : this.#open(first)
    try {
      this.#listener.answered({
        status: this.#status,
        headers: this.#headers,
        body,
        target: this.#target,
      })
      if (first) this.#listener.piece(first)
    } catch (error) {
      this.#giveUp(error)
    }
  }

  /** Fails this request alone if a fault of ours kept the answer from being handed on. */
  #giveUp(error: unknown): void {
    const cause = asError(error)
    const target = this.#target
    this.#stop()
    this.#controller?.abort(cause)
    this.#stream?.destroy()
    this.#listener.failed({ kind: 'broken', cause, isUnsent: false, isUnwanted: false, target })
    this.#listener.ended()
  }

  /** Opens a stream of the body. The stream ends with the attempt, and the attempt with the stream. */
  #open(first: Buffer | undefined): Readable {
    const stream = new Readable({
      read: () => this.#resume(),
      destroy: (error, done) => {
        if (this.#bytesLeft === undefined) this.cancel()
        done(error)
      },
    })
    this.#stream = stream
    // A reader has its own listener; without a reader an error must not become an exception.
    stream.on('error', () => undefined)
    this.#wait(this.#timeouts.idleMs, 'the backend has paused for too long')
    if (first) stream.push(first)
    return stream
  }

  #handOn(controller?: Controller): void {
    const piece = this.#gathered.take()
    if (!piece || this.#state === 'over') return
    this.#listener.piece(piece)
    if (this.#bytesLeft !== undefined) return this.#drain(piece)
    if (this.#stream?.push(piece)) this.#timer?.refresh()
    else if (controller) this.#pause(controller)
  }

  #drain({ length }: Buffer): void {
    this.#bytesLeft = (this.#bytesLeft ?? 0) - length
    if (this.#bytesLeft < 0) this.cancel()
  }

  #pause(controller: Controller): void {
    controller.pause()
    this.#wait(stalledMs, 'the caller has stopped reading', () => this.#listener.left())
  }

  #resume(): void {
    if (!this.#controller?.paused) return
    this.#wait(this.#timeouts.idleMs, 'the backend has paused for too long')
    this.#controller.resume()
  }

  /** Breaks an answer off if nothing happens for some time. */
  #wait(milliseconds: number, sentence: string, before?: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const error = new Error(sentence)
      before?.()
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

  /** Limits the time of the body. The backend's own time begins when it has the whole request. */
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
    // An answer that has begun can only be broken off.
    if (wasAnswering) this.#stream?.destroy(cause)
    else {
      // A backend may close the connection on a body that it doesn't want: that isn't a failure of it.
      const isUnwanted = kind === 'broken' && body instanceof CallerBody && !body.hasEnded
      const target = this.#target
      if (!isOfCaller(kind)) target.meter.answered(0)
      if (!isUnwanted && !isOfCaller(kind))
        target.failed(cause, this.#controller ? callerId : undefined)
      const isUnsent = !this.#controller && kind !== 'unsendable'
      this.#listener.failed({ kind, cause, isUnsent, isUnwanted, target })
    }
    // Last, so that the request stays under way until the next attempt has begun.
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

/** The kind of a failure without a connection. */
function unconnected(error: Error): Failure['kind'] {
  const code = 'code' in error ? error.code : undefined
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'late'
  return code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED'
    ? 'unsendable'
    : 'unreachable'
}
