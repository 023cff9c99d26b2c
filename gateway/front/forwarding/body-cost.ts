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
  #pieces: Buffer[] = []
  #bytes = 0
  #lineBytes = 0
  /** Whether the body, or the event that comes in, is too long. */
  #isTooLong = false
  /** The data of the event that comes in. */
  #data: string[] = []
  #told: string | undefined

  constructor(headers: IncomingHttpHeaders, where: CostInBody) {
    this.#where = where
    this.#kind = kindOf(headers)
  }

  /** What the body has told so far, as a backend's header would; `undefined` for nothing. */
  get told(): string | undefined {
    if (this.#kind === 'json' && !this.#isTooLong) this.#note(Buffer.concat(this.#pieces))
    return this.#told
  }

  add(piece: Buffer): void {
    if (this.#kind === 'json') this.#gather(piece)
    else if (this.#kind === 'events') this.#readLines(piece)
  }

  #gather(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#bytes > mostBytes) {
      this.#isTooLong = true
      this.#pieces = []
      this.#data = []
    }
    if (!this.#isTooLong) this.#pieces.push(piece)
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
      else this.#endLine(Buffer.concat(this.#pieces).toString().replace(/\r$/, ''))
      this.#pieces = []
      this.#lineBytes = 0
    }
  }

  #endLine(line: string): void {
    if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5))
  }

  #endEvent(): void {
    if (this.#data.length > 0) this.#note(Buffer.from(this.#data.join('\n')))
    this.#data = []
    this.#bytes = 0
    this.#isTooLong = false
  }

  /** Notes the member of a JSON text, if it has it. */
  #note(bytes: Buffer): void {
    const value = memberOf(parsed(bytes), this.#where.path)
    if (value === undefined) return
    const isWhole = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    this.#told = isWhole ? scaled(value, this.#where.times) : nonsense
  }
}

function kindOf(headers: IncomingHttpHeaders): 'json' | 'events' | 'other' {
  const encoding = headers['content-encoding'] ?? 'identity'
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';')
  const charset = parameters.find((each) => each.trim().startsWith('charset='))
  const isUtf8 = !charset || /^\s*charset="?utf-?8"?\s*$/.test(charset)
  if (encoding !== 'identity' || !isUtf8) return 'other'
  if (type.trim() === 'text/event-stream') return 'events'
  return /^application\/(?:json|[^\s/]+\+json)$/.test(type.trim()) ? 'json' : 'other'
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown
  } catch {
    return undefined
  }
}

/** The value at a JSON pointer; `undefined` if there is none. */
function memberOf(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string, unknown>)[name]
  }
  return found ?? undefined
}

/** Points, rounded up. Nine digits are what a product of decimals is exact to: 30 times 0.1 is 3. */
function scaled(value: number, times: number): string {
  const points = Math.ceil(Number((value * times).toFixed(9)))
  return points > 9_999_999_999 ? '9999999999' : String(points)
}
