/** Chunks of this many bytes are a piece at once. */
const pieceBytes = 64 * 1024

/** Chunks of a body that go on in one piece at the end of a turn of the event loop, however many they are. */
export class Gathered {
  #chunks: Buffer[] = []
  #bytes = 0
  #turn: NodeJS.Immediate | undefined

  get bytes(): number {
    return this.#bytes
  }

  /** Whether other chunks of this turn wait for its end. */
  get isWaiting(): boolean {
    return this.#turn !== undefined
  }

  /** Adds a chunk; tells whether all of them are a piece now. */
  add(chunk: Buffer): boolean {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    return this.#bytes >= pieceBytes
  }

  /** Calls at the end of this turn, unless they are taken before. */
  wait(handOn: () => void): void {
    this.#turn ??= setImmediate(handOn)
  }

  /** Takes all of them in one piece. */
  take(): Buffer | undefined {
    clearImmediate(this.#turn)
    this.#turn = undefined
    const chunks = this.#chunks
    this.#chunks = []
    this.#bytes = 0
    return chunks.length > 1 ? Buffer.concat(chunks) : chunks[0]
  }
}
