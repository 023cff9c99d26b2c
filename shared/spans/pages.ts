/** The size of a page, for some 80 spans. */
const pageSize = 65_536

/** Where a text stands, with a comma before it: in a page, up to but without `end`. */
export type Place = Readonly<{ page: Buffer; start: number; end: number }>

/**
 * ASCII texts that wait for seconds, written one behind the other into pages. A buffer for each would cost as much again
 * as writing it, at its making and at collections; a page goes with its last text.
 */
export class Pages {
  #page = Buffer.alloc(0)
  #end = 0

  add(text: string): Place {
    const length = text.length + 1
    if (this.#end + length > this.#page.length) {
      this.#page = Buffer.allocUnsafeSlow(Math.max(pageSize, length))
      this.#end = 0
    }
    const start = this.#end
    this.#end += this.#page.write(`,${text}`, start, 'latin1')
    return { page: this.#page, start, end: this.#end }
  }
}

/** Some texts with commas between them, in as few pieces as they stand in. */
export function listed(places: readonly Place[]): Buffer[] {
  const pieces: { page: Buffer; start: number; end: number }[] = []
  for (const { page, start, end } of places) {
    const last = pieces.at(-1)
    if (last?.page === page && last.end === start) last.end = end
    else pieces.push({ page, start: pieces.length === 0 ? start + 1 : start, end })
  }
  return pieces.map(({ page, start, end }) => page.subarray(start, end))
}
