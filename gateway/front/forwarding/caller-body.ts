import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** A body of known length up to this is read whole, and sent in one piece. */
export const smallBytes = 64 * 1024

export type CallerBodyOptions = Readonly<{
  /** The most bytes that it may have. */
  limit: number
  /** Called once, at the first byte or at the end. */
  began: () => void
  /** Called when more than the limit has come; bytes over it aren't forwarded. */
  tooLarge: () => void
}>

/**
 * The body of a caller's request on its way to a backend. It is a stream of its own, because undici destroys
 * a request's body when something fails, and the caller's connection must stay open for the answer.
 */
export class CallerBody extends Readable {
  /** Whether all of it has arrived. */
  hasEnded = false
  readonly #request: IncomingMessage
  readonly #options: CallerBodyOptions
  #size = 0
  #hasBegun = false
  #isHeldUp = false

  constructor(request: IncomingMessage, options: CallerBodyOptions) {
    super()
    this.#request = request
    this.#options = options
    request.on('data', this.#take)
    request.once('end', this.#end)
    // undici destroys it with the error of the request, which the attempt reports.
    this.on('error', () => undefined)
  }

  /** Whether it waits for the backend to take more. */
  get isHeldUp(): boolean {
    return this.#isHeldUp
  }

  override _read(): void {
    this.#isHeldUp = false
    this.#request.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#request.off('data', this.#take)
    this.#request.off('end', this.#end)
    if (!this.hasEnded) this.#request.pause()
    done(error)
  }

  readonly #take = (chunk: Buffer): void => {
    this.#size += chunk.length
    if (this.#size > this.#options.limit) {
      this.#request.pause()
      this.#options.tooLarge()
      return
    }
    if (!this.push(chunk)) {
      this.#isHeldUp = true
      this.#request.pause()
    }
    this.#notifyBegan()
  }

  readonly #end = (): void => {
    this.hasEnded = true
    this.push(null)
    this.#notifyBegan()
  }

  #notifyBegan(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#options.began()
  }
}

/** Reads a whole body, whose length is known and small. */
export function readWhole(request: IncomingMessage, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.once('end', () => {
    const [first] = chunks
    done(chunks.length === 1 && first ? first : Buffer.concat(chunks))
  })
}
