import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Gathered } from '../gathered.ts'

/**
 * Node calls back once a chunk: 1 µs, for one byte as for 64 KB. So a sender must not choose how many they are. Chunks that come
 * one by one are as dear as their packets and may be of any size; of those that come with others this many may be small,
 * and the rest must have this many bytes on average.
 */
const fewChunks = 512
const leastMeanBytes = 256

const chunks = Symbol('chunks')

type Chunked = IncomingMessage & { [chunks]?: Chunks }

/**
 * Hands on a chunked body in pieces of what came together, and stops reading one in too small chunks. `tooSmall` is called for
 * such a body, at once if that is known already; a later call replaces the one before.
 */
export function boundChunks(request: IncomingMessage, tooSmall?: () => void): void {
  const chunked: Chunked = request
  if (request.headers['transfer-encoding'] === undefined || request.complete) return
  const bounded = (chunked[chunks] ??= new Chunks(request))
  if (tooSmall) bounded.whenTooSmall(tooSmall)
}

class Chunks {
  readonly #request: IncomingMessage
  readonly #push: IncomingMessage['push']
  #bytes = 0
  /** Chunks that came with others. */
  #together = 0
  readonly #gathered = new Gathered()
  #isTooSmall = false
  #tooSmall: (() => void) | undefined

  constructor(request: IncomingMessage) {
    this.#request = request
    this.#push = request.push.bind(request)
    request.push = (chunk: Buffer | null) => this.#take(chunk)
  }

  whenTooSmall(act: () => void): void {
    this.#tooSmall = act
    if (this.#isTooSmall) act()
  }

  /** Takes a chunk from Node's parser, or the end. Gives whether more is wanted. */
  #take(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#handOn()
      return this.#push(null)
    }
    this.#bytes += chunk.length
    if (this.#gathered.isWaiting) this.#together++
    if (this.#together > fewChunks && this.#bytes < this.#together * leastMeanBytes) {
      this.#stop()
      return false
    }
    if (this.#gathered.add(chunk)) return this.#handOn()
    this.#gathered.wait(() => this.#handOn())
    const { readableLength, readableHighWaterMark } = this.#request
    return readableLength + this.#gathered.bytes < readableHighWaterMark
  }

  #handOn(): boolean {
    const piece = this.#gathered.take()
    return piece ? this.#push(piece) : true
  }

  #stop(): void {
    this.#isTooSmall = true
    this.#gathered.take()
    skipBody(this.#request)
    this.#tooSmall?.()
  }
}

/** The place of Node's callback for a piece of a body, in its parser. */
const onBody = 3

/**
 * Lets Node's parser call back for no further piece of a body: a chunk then costs a twentieth. Its connection must end with the
 * answer.
 */
export function skipBody({ socket }: IncomingMessage): void {
  const parser: unknown = Reflect.get(socket, 'parser')
  if (typeof parser !== 'object' || parser === null) return
  const before: unknown = Reflect.get(parser, onBody)
  if (before === undefined) return
  Reflect.set(parser, onBody, undefined)
  // Node uses parsers again for other connections.
  socket.once('close', () => Reflect.set(parser, onBody, before))
}

/** Reads on a connection past its parser, up to so many bytes, until its client hangs up. */
export function readPastParser(socket: Socket, mostBytes: number): void {
  let left = mostBytes
  socket.removeAllListeners('data')
  // With such a listener Node's parser lets go of the connection.
  socket.on('data', (bytes: Buffer) => {
    left -= bytes.length
    if (left < 0) socket.pause()
  })
  socket.resume()
}
