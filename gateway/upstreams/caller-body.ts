import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

export type CallerBodyOptions = Readonly<{
  /** Bytes it may have. */
  limit: number
  /** Told once the first byte is wanted. */
  wanted: () => void
  /** Told once more than the limit has come; what is over it has gone nowhere. */
  tooLarge: () => void
}>

/**
 * The body of a caller's request on its way to a backend. A stream of its own, because whoever sends
 * a request destroys its body when something fails, and the caller must be left its connection:
 * there is an answer yet to come.
 */
export class CallerBody extends Readable {
  /** Whether all of it has come. */
  hasEnded = false
  readonly #request: IncomingMessage
  readonly #options: CallerBodyOptions
  #size = 0
  #isWanted = false
  #isHeldUp = false

  constructor(request: IncomingMessage, options: CallerBodyOptions) {
    super()
    this.#request = request
    this.#options = options
    request.on('data', this.#take)
    request.once('end', this.#end)
    request.pause()
    // Whoever sends it destroys it with what went wrong, which is told elsewhere.
    this.on('error', () => undefined)
  }

  /** Whether it is the backend that does not take what has come. */
  get isHeldUp(): boolean {
    return this.#isHeldUp
  }

  override _read(): void {
    if (!this.#isWanted) {
      this.#isWanted = true
      this.#options.wanted()
    }
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
    } else if (!this.push(chunk)) {
      this.#isHeldUp = true
      this.#request.pause()
    }
  }

  readonly #end = (): void => {
    this.hasEnded = true
    this.push(null)
  }
}
