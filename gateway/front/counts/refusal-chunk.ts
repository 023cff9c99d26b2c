import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { isOf, readerOf, Type } from '../../../shared/schema.ts'
import { keptRefusalSchema, type KeptRefusal } from './kept-refusal.ts'
import { chunkSize, type RefusalChunk } from './refusal-store.ts'

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)]

/** The most bytes that the answers of a chunk unpack to, which 250 with the longest names don't have. */
const mostBytes = 2 ** 21

const hashLength = 4

/** The bytes of most chunks, with which each begins. */
const firstBytes = 98_304

/**
 * Consecutive answers as JSON, each with the members alone that the one before doesn't have: most are of one key and route. They are
 * outside of V8's heap: objects would outlive their requests, and be left to the full collections.
 */
export class KeptChunk {
  #bytes = Buffer.allocUnsafeSlow(firstBytes)
  readonly #ends = new Uint32Array(chunkSize)
  readonly #hashes = new Int32Array(chunkSize)
  readonly #times = new Float64Array(chunkSize)
  #count = 0
  #last: KeptRefusal | undefined

  add(answer: KeptRefusal): void {
    const text = JSON.stringify(this.#last ? changesOf(this.#last, answer) : answer)
    this.#last = answer
    const start = this.#startOf(this.#count)
    const end = start + Buffer.byteLength(text)
    if (end > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(2 * end)
      this.#bytes.copy(grown, 0, 0, start)
      this.#bytes = grown
    }
    this.#bytes.write(text, start)
    this.#ends[this.#count] = end
    this.#hashes[this.#count] = hashOf(answer.id)
    this.#times[this.#count++] = answer.atMs
  }

  /** Forgets its answers: later ones take their bytes. */
  clear(): void {
    this.#count = 0
    this.#last = undefined
  }

  hashAt(place: number): number | undefined {
    return this.#hashes[place]
  }

  timeAt(place: number): number {
    return this.#times[place] ?? 0
  }

  at(place: number): KeptRefusal {
    const changes = this.#texts(0, place).map((text): unknown => JSON.parse(text))
    return wholeFrom(changes).at(-1) as KeptRefusal
  }

  /** Packs the answers from one place to another for a store. */
  async packed(
    gateway: string,
    [from, to]: readonly [number, number],
    place: Pick<RefusalChunk, 'by' | 'place'>,
  ): Promise<RefusalChunk> {
    const texts =
      from === 0
        ? this.#texts(0, to)
        : [JSON.stringify(this.at(from)), ...this.#texts(from + 1, to)]
    const content = `{"gateway":${JSON.stringify(gateway)},"answers":[${texts.join()}]}`
    return {
      ...place,
      lastMs: Math.max(...this.#times.subarray(from, to + 1)),
      hashes: bytesOf(this.#hashes.slice(from, to + 1)),
      answers: await deflate(content, { level: 1 }),
    }
  }

  #startOf(place: number): number {
    return place === 0 ? 0 : (this.#ends[place - 1] ?? 0)
  }

  #texts(from: number, to: number): string[] {
    return Array.from({ length: to - from + 1 }, (_, i) =>
      this.#bytes.toString('utf8', this.#startOf(from + i), this.#ends[from + i]),
    )
  }
}

/** The members in which an answer differs from the one before; null for those that it lacks. */
function changesOf(before: KeptRefusal, answer: KeptRefusal): Partial<Record<string, unknown>> {
  const changes: Partial<Record<string, unknown>> = {}
  for (const name in answer) {
    const member = name as keyof KeptRefusal
    if (answer[member] !== before[member]) changes[name] = answer[member] ?? null
  }
  return changes
}

/** Answers of which each is told by its changes. */
function wholeFrom(changes: readonly unknown[]): unknown[] {
  let whole: object = {}
  return changes.map((each) => {
    const members = Object.entries({ ...whole, ...(each as object) })
    return (whole = Object.fromEntries(members.filter(([, value]) => value !== null)))
  })
}

/** The short hash of an id, by which answers are found. */
export function hashOf(text: string): number {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}

function bytesOf(hashes: Int32Array): Buffer {
  return Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength)
}

/** The number of answers in a chunk. */
export function countIn({ hashes }: Pick<RefusalChunk, 'hashes'>): number {
  return hashes.length / hashLength
}

/** Whether a chunk may have an answer whose id has this hash. */
export function mayHave({ hashes }: Pick<RefusalChunk, 'hashes'>, hash: number): boolean {
  return hashes.includes(bytesOf(Int32Array.of(hash)))
}

const contentFrom = readerOf(Type.Object({ gateway: Type.String(), answers: Type.Array({}) }))

/** The answers of a chunk whose ids pass a check, and the name of their gateway; `undefined` if no gateway has written it. */
export async function unpacked(
  answers: Buffer,
  isWanted: (id: string) => boolean,
): Promise<Readonly<{ gateway: string; answers: readonly KeptRefusal[] }> | undefined> {
  const bytes = await inflate(answers, { maxOutputLength: mostBytes }).catch(() => undefined)
  const content = contentFrom(bytes?.toString())
  const isKept = (answer: unknown): answer is KeptRefusal =>
    isOf(keptRefusalSchema, answer) && isWanted(answer.id)
  return content && { gateway: content.gateway, answers: wholeFrom(content.answers).filter(isKept) }
}
