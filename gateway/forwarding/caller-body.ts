import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** A body that is not longer is waited for, and sent on in one piece. */
export const smallBytes = 64 * 1024

export type CallerBodyOptions = Readonly<{
  /** Bytes it may have. */
  limit: number
  /** Told once when the first byte is there, or the end. */
  came: () => void
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
  #hasCome = false
  #isHeldUp = false

  constructor(request: IncomingMessage, options: CallerBodyOptions) {
    super()
    this.#request = request
    this.#options = options
    request.on('data', this.#take)
    request.once('end', this.#end)
    // Whoever sends it destroys it with what went wrong, which is told elsewhere.
    this.on('error', () => undefined)
  }

  /** Whether it is the backend that does not take what has come. */
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
    this.#tell()
  }

  readonly #end = (): void => {
    this.hasEnded = true
    this.push(null)
    this.#tell()
  }

  #tell(): void {
    if (this.#hasCome) return
    this.#hasCome = true
    this.#options.came()
  }
}

/** Waits for all of a body whose length is known and small. */
export function gather(request: IncomingMessage, came: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.once('end', () => {
    const [first] = chunks
    came(chunks.length === 1 && first ? first : Buffer.concat(chunks))
  })
}
