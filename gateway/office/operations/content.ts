import { TextDecoder } from 'node:util'
import { Refusal } from '../../../shared/refusal.ts'
import type { Content } from './parameter.ts'

/** The size of a block: a body in many small chunks takes no more blocks than one in large ones. Most are small. */
const blockBytes = 65_536
const firstBytes = 4_096

/** Bytes in the order in which they came, in blocks that nothing else uses: so a message can take them along. */
export class Blocks {
  readonly all: Uint8Array<ArrayBuffer>[] = []
  #free = new Uint8Array(0)

  add(chunk: Uint8Array): void {
    for (let rest = chunk; rest.length > 0;) {
      if (this.#free.length === 0) {
        const length = this.all.length === 0 ? firstBytes : blockBytes
        const block = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
        this.all.push(block)
        this.#free = block
      }
      const taken = rest.subarray(0, this.#free.length)
      this.#free.set(taken)
      this.#free = this.#free.subarray(taken.length)
      rest = rest.subarray(taken.length)
    }
  }

  /** Leaves off what is free of the last block. */
  end(): this {
    const last = this.all.pop()
    if (last) this.all.push(last.subarray(0, last.length - this.#free.length))
    return this
  }
}

/** A text in UTF-8. It is decoded piece by piece, when it is read: a long one would hold callers up at once. */
export function contentFrom(name: string, bytes: readonly Uint8Array<ArrayBuffer>[]): Content {
  const pieces = (): Generator<string> => decoded(bytes)
  return { name, read: () => [...pieces()].join(''), pieces, bytes }
}

/** The texts of blocks. In another encoding, names and notes would be stored with replacement characters. */
function* decoded(blocks: Iterable<Uint8Array>): Generator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    for (const block of blocks) yield decoder.decode(block, { stream: true })
    yield decoder.decode()
  } catch {
    throw new Refusal('invalid_request', 'The body isn’t in UTF-8.')
  }
}
