import type { IncomingHttpHeaders } from 'node:http'
import type { CostInBody } from '../limits/answer-cost.ts'

/** The largest JSON body, and the largest event of a stream, that are read. */
const mostBytes = 1_048_576

const [lineFeed, carriageReturn] = [10, 13]

/** Stands for a member that is no whole number. */
const nonsense = 'nonsense'

/**
 * Reads what a request has cost out of the body of its answer, while that is passed on: a member of a JSON body, or of the
 * last event of a stream that has it.
 */
export class BodyCost {
  readonly #where: CostInBody
  readonly #kind: 'json' | 'events' | 'other'
  /** The body, or the line that comes in: a copy, because each piece may hold the memory of a whole read. */
  #text = Buffer.alloc(0)
  #length = 0
  #bytes = 0
  #lineBytes = 0
  /** Whether the body, or the event that comes in, is too long. */
  #isTooLong = false
  /** The data of the event that comes in. */
  #data: string[] = []
  #costText: string | undefined

  constructor(headers: IncomingHttpHeaders, where: CostInBody) {
    this.#where = where
    this.#kind = kindOf(headers)
  }

  /** The cost that the body has told so far, in the form of a backend's header; `undefined` for none. */
  get told(): string | undefined {
    if (this.#kind === 'json' && this.#length > 0) {
      this.#note(this.#takeText())
      this.#text = Buffer.alloc(0)
    }
    return this.#costText
  }

  add(piece: Buffer): void {
    if (this.#kind === 'json') this.#gather(piece)
    else if (this.#kind === 'events') this.#readLines(piece)
  }

  #gather(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#bytes > mostBytes) {
      this.#isTooLong = true
      this.#length = 0
      this.#data = []
    }
    if (!this.#isTooLong) this.#append(piece)
  }

  #takeText(): string {
    const text = this.#text.toString('utf8', 0, this.#length)
    this.#length = 0
    return text.replace(/^\uFEFF/, '')
  }

  #append(piece: Buffer): void {
    const length = this.#length + piece.length
    if (length > this.#text.length) {
      const grown = Buffer.allocUnsafe(Math.max(1_024, 2 * length))
      this.#text.copy(grown, 0, 0, this.#length)
      this.#text = grown
    }
    piece.copy(this.#text, this.#length)
    this.#length = length
  }

  #readLines(piece: Buffer): void {
    let start = 0
    for (;;) {
      const end = piece.indexOf(lineFeed, start)
      const part = piece.subarray(start, end === -1 ? piece.length : end)
      this.#lineBytes += part.length
      this.#gather(part)
      if (end === -1) return
      start = end + 1
      const isEmpty = this.#lineBytes === 0 || (this.#lineBytes === 1 && part[0] === carriageReturn)
      if (isEmpty) this.#endEvent()
      else this.#endLine(this.#takeText().replace(/\r$/, ''))
      this.#length = 0
      this.#lineBytes = 0
    }
  }

  #endLine(line: string): void {
    if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5))
    // Comments keep a stream open, and are no part of its next event.
    else this.#bytes -= this.#lineBytes
  }

  #endEvent(): void {
    if (this.#data.length > 0) this.#note(this.#data.join('\n'))
    this.#data = []
    this.#bytes = 0
    this.#isTooLong = false
  }

  /** Notes the member of a JSON text, if it has it. */
  #note(text: string): void {
    const value = memberOf(parsed(text), this.#where.path)
    if (value === undefined) return
    const isWhole = typeof value === 'number' && Number.isInteger(value) && value >= 0
    this.#costText = isWhole ? scaled(value, this.#where.times) : nonsense
  }
}

function kindOf(headers: IncomingHttpHeaders): 'json' | 'events' | 'other' {
  const encoding = headers['content-encoding'] ?? 'identity'
  // Of several, callers get the last one; undici gives them as a list.
  const last = [headers['content-type'] ?? ''].flat().at(-1) ?? ''
  const [type = '', ...parameters] = last.toLowerCase().split(';')
  const charset = parameters.find((each) => each.trim().startsWith('charset='))
  const isUtf8 = !charset || /^\s*charset="?utf-?8"?\s*$/.test(charset)
  if (encoding !== 'identity' || !isUtf8) return 'other'
  if (type.trim() === 'text/event-stream') return 'events'
  return /^application\/(?:json|[^\s/]+\+json)$/.test(type.trim()) ? 'json' : 'other'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The value at a JSON pointer; `undefined` if there is none. */
function memberOf(value: unknown, path: readonly string[]): unknown {
  let member = value
  for (const name of path) {
    if (typeof member !== 'object' || member === null || !Object.hasOwn(member, name))
      return undefined
    member = (member as Record<string, unknown>)[name]
  }
  return member ?? undefined
}

/** Points, rounded up. Nine digits are what a product of decimals is exact to: 30 times 0.1 is 3. */
function scaled(value: number, times: number): string {
  const points = Math.ceil(Number((value * times).toFixed(9)))
  return points > 9_999_999_999 ? '9999999999' : String(points)
}
