import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'

/** The most spans that wait for the collector. */
const mostWaiting = 10_000

/** The size of a page, for some 80 spans, and the number of pages: twice as many as usual spans need. */
const pageSize = 65_536
const pageCount = 256

/** A span that is written already. Its text stands from `start` up to but without `end`, with a comma before it. */
type WaitingSpan = ReadableSpan & { start: number; end: number }

/**
 * Spans that wait for seconds, as ASCII texts in the pages of one buffer. The buffer is made once, and a span's object
 * serves one span after the other: memory that is new for each of them costs full collections.
 */
export class WaitingSpans {
  readonly #blank: ReadableSpan
  readonly #bytes = Buffer.allocUnsafeSlow(pageCount * pageSize)
  /** The number of texts in each page. */
  readonly #texts = new Uint16Array(pageCount)
  readonly #freePages = Array.from({ length: pageCount - 1 }, (_, i) => pageCount - 1 - i)
  readonly #freeSpans: WaitingSpan[] = []
  #waiting = 0
  /** The page that is written to, and where in it. */
  #page = 0
  #end = 0

  /** `blank` has all that the spans have in common, which is all but their texts. */
  constructor(blank: ReadableSpan) {
    this.#blank = blank
  }

  get isFull(): boolean {
    return this.#waiting === mostWaiting
  }

  /** A span with this text; `undefined` if there is no room for it. */
  add(text: string): ReadableSpan | undefined {
    const length = text.length + 1
    if (this.isFull || !this.#hasRoomFor(length)) return undefined
    // It inherits what it has in common with others: a copy would take 1.5 µs.
    const span = this.#freeSpans.pop() ?? (Object.create(this.#blank) as WaitingSpan)
    span.start = this.#page * pageSize + this.#end
    span.end = span.start + length
    this.#bytes.write(`,${text}`, span.start, 'latin1')
    this.#end += length
    this.#texts[this.#page] = this.#textsIn(this.#page) + 1
    this.#waiting++
    return span
  }

  #hasRoomFor(length: number): boolean {
    if (this.#end + length <= pageSize) return true
    const free = length > pageSize ? undefined : this.#freePages.pop()
    if (free === undefined) return false
    this.#page = free
    this.#end = 0
    return true
  }

  #textsIn(page: number): number {
    return this.#texts[page] ?? 0
  }

  /** The texts of some spans with commas between them, in as few pieces as they stand in. */
  texts(spans: readonly ReadableSpan[]): Buffer[] {
    const pieces: { start: number; end: number }[] = []
    for (const { start, end } of spans as readonly WaitingSpan[]) {
      const last = pieces.at(-1)
      if (last?.end === start) last.end = end
      else pieces.push({ start: pieces.length === 0 ? start + 1 : start, end })
    }
    return pieces.map(({ start, end }) => this.#bytes.subarray(start, end))
  }

  /** Lets spans go that were added; their room is free from now on. */
  remove(spans: readonly ReadableSpan[]): void {
    for (const span of spans as readonly WaitingSpan[]) {
      this.#freeSpans.push(span)
      const page = Math.floor(span.start / pageSize)
      const left = this.#textsIn(page) - 1
      this.#texts[page] = left
      if (left > 0) continue
      if (page === this.#page) this.#end = 0
      else this.#freePages.push(page)
    }
    this.#waiting -= spans.length
  }
}
