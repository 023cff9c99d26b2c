import type { IncomingHttpHeaders } from 'node:http'
import { jsonFrom } from '../../../shared/json.ts'
import { memberAt } from '../../../shared/pointer.ts'
import type { CostInBody } from '../limits/answer-cost.ts'

/** The largest JSON body, and the largest event of a stream, that are read. */
const mostBytes = 1_048_576

/** The most levels of objects and lists in a text. */
const bounds = { levels: 128 }

/** The most texts of a body that are parsed in vain: V8 takes at least 3 µs to refuse one, however short it is. */
const mostRefused = 64

/** The most parameters of a type, of which one may be the charset. */
const mostParameters = 16

const [lineFeed, carriageReturn, space] = [10, 13, 32]

/** The beginning of a line of data. */
const dataField = [...Buffer.from('data:')]

const escape = Buffer.from('\\u')

/** Stands for a member that is no whole number. */
const nonsense = 'nonsense'

/**
 * Reads what a request has cost out of the body of its answer, while that is passed on: a member of a JSON body, or of the
 * last event of a stream that has it. Nothing is parsed that can't have the member.
 */
export class BodyCost {
  readonly #where: CostInBody
  readonly #kind: 'json' | 'events' | 'other'
  /** A name that each text with the member holds, unless it is written with escapes. */
  readonly #name: Buffer
  /** The body, or the data of the event that comes in: a copy, because each piece may hold the memory of a whole read. */
  #text = Buffer.alloc(0)
  #length = 0
  /** Whether the body, or the event that comes in, is too long. */
  #isTooLong = false
  /** The bytes of the line that comes in, and whether they are a line of data so far. */
  #column = 0
  #isData = true
  /** Whether the line before has ended with a carriage return. */
  #isAfterReturn = false
  #refused = 0
  #costText: string | undefined

  constructor(headers: IncomingHttpHeaders, where: CostInBody) {
    this.#where = where
    this.#kind = kindOf(headers)
    this.#name = Buffer.from(where.path.findLast(isPlainName) ?? '')
  }

  /** The cost that the body has told so far, in the form of a backend's header; `undefined` for none. */
  get told(): string | undefined {
    if (this.#kind === 'json') this.#endText()
    return this.#costText
  }

  add(piece: Buffer): void {
    if (this.#kind === 'json' && this.#takesMore(piece.length)) {
      piece.copy(this.#text, this.#length)
      this.#length += piece.length
    }
    // By bytes: where lines are short, calls of Node for each line take ten times as long.
    if (this.#kind === 'events')
      for (let i = 0; i < piece.length; i++) this.#readByte(piece[i] ?? 0)
  }

  #takesMore(bytes: number): boolean {
    const length = this.#length + bytes
    if (length > mostBytes) this.#isTooLong = true
    if (this.#isTooLong) return false
    if (length > this.#text.length) {
      const grown = Buffer.allocUnsafe(Math.max(1_024, 2 * length))
      this.#text.copy(grown, 0, 0, this.#length)
      this.#text = grown
    }
    return true
  }

  #readByte(byte: number): void {
    if (byte === lineFeed || byte === carriageReturn) return this.#readLineEnd(byte)
    // Before a line: a byte order mark.
    if (this.#column === 0 && byte >= 0x80) return
    const column = this.#column++
    if (column < dataField.length) this.#isData &&= byte === dataField[column]
    else if (this.#isData && (column > dataField.length || byte !== space)) this.#store(byte)
  }

  #store(byte: number): void {
    if (this.#takesMore(1)) this.#text[this.#length++] = byte
  }

  #readLineEnd(byte: number): void {
    // A line feed after a carriage return belongs to it.
    const isSecond = byte === lineFeed && this.#isAfterReturn && this.#column === 0
    this.#isAfterReturn = byte === carriageReturn
    if (!isSecond) this.#endLine()
  }

  #endLine(): void {
    const [column, isData] = [this.#column, this.#isData]
    this.#column = 0
    this.#isData = true
    if (column === 0) this.#endText()
    else if (isData && column >= dataField.length) this.#store(lineFeed)
  }

  /** Notes the member of the text that has come, if it has it. */
  #endText(): void {
    const length = this.#isTooLong ? 0 : this.#length
    this.#length = 0
    this.#isTooLong = false
    if (length <= this.#name.length || this.#refused >= mostRefused) return
    const bytes = this.#text.subarray(0, length)
    if (!bytes.includes(this.#name) && !bytes.includes(escape)) return
    const parsed = jsonFrom(bytes.toString().replace(/^\uFEFF/, ''), bounds)
    if (parsed === undefined) this.#refused++
    const value = memberAt(parsed, this.#where.path)
    if (value === undefined || value === null) return
    const isWhole = typeof value === 'number' && Number.isInteger(value) && value >= 0
    this.#costText = isWhole ? scaled(value, this.#where.times) : nonsense
  }
}

/** Whether a name isn't the index of a list, and all JSON spells it alike, but for escapes by number. */
function isPlainName(name: string): boolean {
  return !/^\d+$|["\\/\0-\x1f]/.test(name)
}

function kindOf(headers: IncomingHttpHeaders): 'json' | 'events' | 'other' {
  const encoding = headers['content-encoding'] ?? 'identity'
  // Of several, callers get the last one; undici gives them as a list.
  const last = [headers['content-type'] ?? ''].flat().at(-1) ?? ''
  const [type = '', ...parameters] = last.toLowerCase().split(';', mostParameters)
  const charset = parameters.find((each) => each.trim().startsWith('charset='))
  const isUtf8 = !charset || /^\s*charset="?utf-?8"?\s*$/.test(charset)
  if (encoding !== 'identity' || !isUtf8) return 'other'
  if (type.trim() === 'text/event-stream') return 'events'
  return /^application\/(?:json|[^\s/]+\+json)$/.test(type.trim()) ? 'json' : 'other'
}

/** Points, rounded up. Nine digits are what a product of decimals is exact to: 30 times 0.1 is 3. */
function scaled(value: number, times: number): string {
  const points = Math.ceil(Number((value * times).toFixed(9)))
  return points > 9_999_999_999 ? '9999999999' : String(points)
}
