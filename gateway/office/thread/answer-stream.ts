import { Readable } from 'node:stream'
import type { MessagePort } from 'node:worker_threads'
import { more, type ThreadAnswer } from './messages.ts'
import { errorFrom } from './sent-error.ts'

/** The time after which the answer of a client that reads nothing is cut. */
const stalledMs = 30_000

/** Gives the reason why a port has closed before the end of its answer. */
type Why = () => Error | Promise<Error>

/**
 * The answer that comes through a port: all of it, or a stream of its pieces. Rejects with the error that the question
 * ended with, or with `why` if the port closes before.
 */
export async function answerOver(port: MessagePort, why: Why): Promise<Buffer | Readable> {
  const first = await firstOver(port)
  if (first?.is === 'piece') return new Pieces(port, bufferOf(first.text), why)
  port.close()
  if (first?.is === 'whole') return bufferOf(first.text)
  throw first?.is === 'error' ? errorFrom(first.error) : await why()
}

/** The value that comes through a port; rejects as `answerOver` does. `why` hears whether the thread had begun. */
export async function valueOver(
  port: MessagePort,
  why: (hasBegun: boolean) => ReturnType<Why>,
): Promise<unknown> {
  let hasBegun = false
  const first = await firstOver(port, () => (hasBegun = true))
  port.close()
  if (first?.is === 'value') return first.value
  throw first?.is === 'error' ? errorFrom(first.error) : await why(hasBegun)
}

function firstOver(port: MessagePort, begun?: () => void): Promise<ThreadAnswer | undefined> {
  return new Promise((resolve) => {
    const hear = (answer: ThreadAnswer): void => {
      if (answer.is === 'begun') return begun?.()
      port.off('message', hear)
      resolve(answer)
    }
    port.on('message', hear)
    port.once('close', () => resolve(undefined))
  })
}

/** The pieces of a long answer. The thread makes the next one when the client has taken the one before. */
class Pieces extends Readable {
  readonly #port: MessagePort
  #stall: NodeJS.Timeout | undefined
  #first: Buffer | undefined

  constructor(port: MessagePort, first: Buffer, why: Why) {
    super({ highWaterMark: 1 })
    this.#port = port
    this.#first = first
    port.on('message', (answer: ThreadAnswer) => this.#take(answer))
    port.once('close', () => {
      if (!this.readableEnded && !this.destroyed)
        void Promise.resolve(why()).then((error) => this.destroy(error))
    })
  }

  override _read(): void {
    clearTimeout(this.#stall)
    const first = this.#first
    this.#first = undefined
    if (first) this.#send(first)
    else this.#port.postMessage(more)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#stall)
    this.#port.close()
    done(error)
  }

  #take(answer: ThreadAnswer): void {
    if (answer.is === 'piece') this.#send(bufferOf(answer.text))
    else if (answer.is === 'error') this.destroy(errorFrom(answer.error))
    else this.push(null)
  }

  #send(piece: Buffer): void {
    this.#stall = setTimeout(() => this.destroy(), stalledMs).unref()
    this.push(piece)
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
