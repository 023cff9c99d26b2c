import type { IncomingHttpHeaders } from 'node:http'
import { jsonFrom } from '../../../shared/json.ts'
import { memberAt } from '../../../shared/pointer.ts'
import { pointsOf, type CostMember, type Told } from '../limits/answer-cost.ts'

/** The largest JSON body, and the largest event of a stream, that are read. */
const mostBytes = 1_048_576

/** The most levels of objects and lists in a text. */
const bounds = { levels: 128 }

/** The most texts of a body that are parsed in vain: V8 takes at least 3 µs to refuse one, however short it is. */
const mostRefused = 64

/** The most parameters of a type, of which one may be the charset. */
const mostParameters = 16

const [lineFeed, carriageReturn, space, recordSeparator] = [10, 13, 32, 30]

/** The beginning of a line of data. */
const dataField = [...Buffer.from('data:')]

const escape = Buffer.from('\\u')

/** Stands for a member that is no whole number. */
const nonsense = 'nonsense' as const

/** The most points that are told: as many digits as a header may have. */
const mostPoints = 9_999_999_999

/**
 * Reads what a request has cost out of the body of its answer, while that is passed on: numbers of a JSON body, or of the last
 * events of a stream that have them. Nothing is parsed that can't have one.
 */
export class BodyCost {
  readonly #members: readonly CostMember[]
  readonly #kind: 'json' | 'events' | 'lines' | 'other'
  /** Names, of which each text with a member holds one, unless it is written with escapes. */
  readonly #names: readonly Buffer[]
  /** The last number of each member. */
  readonly #numbers: (number | typeof nonsense | undefined)[]
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
  /** The events that the caller has got. */
  #passed = 0
  #isPassed = true

  constructor(headers: IncomingHttpHeaders, members: readonly CostMember[]) {
    this.#members = members
    this.#kind = kindOf(headers)
    this.#numbers = members.map(() => undefined)
    const names = members.flatMap(({ paths }) => paths.map((path) => path.findLast(isPlainName)))
    this.#names = [...new Set(names)].map((name = '') => Buffer.from(name))
  }

  /** The cost that the body has told so far, in the form of a backend's header. */
  get told(): Told {
    if (this.#kind !== 'events') this.#endText()
    const weights = this.#members.map(({ millionths }) => millionths)
    const most = { paths: [], millionths: Math.max(...weights) }
    return {
      costText: this.#costText,
      isWhole: !this.#numbers.includes(undefined),
      passed: pointsOf([this.#passed], [most]),
    }
  }

  get #costText(): string | undefined {
    const numbers = this.#numbers.map((each) => each ?? 0)
    if (this.#numbers.every((each) => each === undefined)) return undefined
    if (!areNumbers(numbers)) return nonsense
    return String(Math.min(mostPoints, pointsOf(numbers, this.#members)))
  }

  /** Reads a piece, which the caller gets or has left before. */
  add(piece: Buffer, isPassed: boolean): void {
    this.#isPassed = isPassed
    if (this.#kind === 'json' && this.#takesMore(piece.length)) {
      piece.copy(this.#text, this.#length)
      this.#length += piece.length
    }
    // By bytes: where lines are short, calls of Node for each line take ten times as long.
    if (this.#kind === 'events')
      for (let i = 0; i < piece.length; i++) this.#readByte(piece[i] ?? 0)
    if (this.#kind === 'lines')
      for (let i = 0; i < piece.length; i++) this.#readByteOfLine(piece[i] ?? 0)
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

  #readByteOfLine(byte: number): void {
    if (byte === lineFeed) this.#endText()
    else if (byte !== recordSeparator) this.#store(byte)
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

  /** Notes the numbers of the text that has come. */
  #endText(): void {
    const length = this.#isTooLong ? 0 : this.#length
    if (this.#length > 0 && this.#isPassed && this.#kind !== 'json') this.#passed++
    this.#length = 0
    this.#isTooLong = false
    if (length === 0 || this.#refused >= mostRefused) return
    const bytes = this.#text.subarray(0, length)
    if (!this.#names.some((name) => bytes.includes(name)) && !bytes.includes(escape)) return
    const parsed = jsonFrom(bytes.toString().replace(/^\uFEFF/, ''), bounds)
    if (parsed === undefined) this.#refused++
    const values: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed]
    for (const [i, { paths }] of this.#members.entries()) {
      for (const value of values)
        for (const path of paths) this.#numbers[i] = numberAt(value, path) ?? this.#numbers[i]
    }
  }
}

/** The number at a path; `undefined` where nothing is. */
function numberAt(text: unknown, path: readonly string[]): number | typeof nonsense | undefined {
  const value = memberAt(text, path)
  if (value === undefined || value === null) return undefined
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : nonsense
}

function areNumbers(values: readonly unknown[]): values is readonly number[] {
  return values.every((each) => each !== nonsense)
}

/** Whether a name isn't the index of a list, and all JSON spells it alike, but for escapes by number. */
function isPlainName(name: string): boolean {
  return !/^\d+$|["\\/\0-\x1f]/.test(name)
}

/** JSON texts in lines: NDJSON by its usual names, and those of RFC 7464. */
const linesType = /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-seq)$/

function kindOf(headers: IncomingHttpHeaders): 'json' | 'events' | 'lines' | 'other' {
  const encoding = headers['content-encoding'] ?? 'identity'
  // Of several, callers get the last one; undici gives them as a list.
  const last = [headers['content-type'] ?? ''].flat().at(-1) ?? ''
  const [type = '', ...parameters] = last.toLowerCase().split(';', mostParameters)
  const charset = parameters.find((each) => each.trim().startsWith('charset='))
  const isUtf8 = !charset || /^\s*charset="?utf-?8"?\s*$/.test(charset)
  if (encoding !== 'identity' || !isUtf8) return 'other'
  if (type.trim() === 'text/event-stream') return 'events'
  if (linesType.test(type.trim())) return 'lines'
  return /^application\/(?:json|[^\s/]+\+json)$/.test(type.trim()) ? 'json' : 'other'
}
