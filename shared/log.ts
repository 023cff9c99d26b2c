import { pretty } from './pretty.ts'

/** The part of a logger that is used outside of requests. */
export type Log = Readonly<{
  info: (about: object, message: string) => void
  warn: (about: object, message: string) => void
  error: (about: object, message: string) => void
}>

/** The output of a log: a stream that may be a terminal. */
export type LogTarget = { write(text: string): unknown; isTTY?: boolean }

/** The part of `process` that writes the log; `main.ts` passes it. */
type Output = { stdout: LogTarget; on(event: 'exit', listener: () => void): unknown }

/** The most bytes that a pipe takes in one piece, so that lines of several workers never mix. */
const pieceBytes = 4_096

/**
 * A process's standard output as a log. Lines of one turn of the event loop are written together: a line costs 0.7 µs
 * so, and at least 3 µs with a write of its own.
 */
export function standardLog(output: Output): LogTarget {
  const { stdout } = output
  let waiting = ''
  let bytes = 0
  const flush = (): void => {
    if (waiting !== '') stdout.write(waiting)
    waiting = ''
    bytes = 0
  }
  output.on('exit', flush)
  return {
    isTTY: stdout.isTTY ?? false,
    write(line) {
      const more = Buffer.byteLength(line)
      if (bytes + more > pieceBytes) flush()
      if (waiting === '') setImmediate(flush)
      waiting += line
      bytes += more
    },
  }
}

/** Where a log goes, and the name of its writer among several. */
export type LogSettings = Readonly<{ level: string; target: LogTarget; name?: string | undefined }>

/** Fastify's logger settings: JSON lines for programs, short lines for people at a terminal. */
export function loggerOptions(service: string, { level, target, name }: LogSettings) {
  const shown = target.isTTY ? pretty : sentenceFirst
  const write = (line: string): void => void target.write(shown(withoutTokens(line)))
  const base = name === undefined ? { service } : { service, name }
  return { level, base, stream: { write } }
}

/** A line with its sentence before the stack of an error: pino writes it last. */
function sentenceFirst(line: string): string {
  if (!line.includes('"stack":')) return line
  return line.replace(/^(\{"level":\d+,"time":\d+)(,.*)(,"msg":"(?:[^"\\]|\\.)*")\}$/m, '$1$3$2}')
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Whether a level shows the line of each request; otherwise the line isn't built. */
export function logsRequests(level: string): boolean {
  return ['trace', 'debug', 'info'].includes(level)
}

/** A text with the secret part of each token in it masked: of ours, and of those in the form of a JWT. */
export function withoutTokens(text: string): string {
  const masked = text.includes('tg_') ? text.replace(/tg_(\w{12})_\w+/g, 'tg_$1_…') : text
  const mayHaveJwt = spellingsOfAlg.some(([spelling]) => masked.includes(spelling))
  return mayHaveJwt ? masked.replace(jwtForm, maskedJwt) : masked
}

/**
 * The name `"alg"` in Base64, at each place that it may have in a group of three bytes, and the letters of that group before
 * it.
 */
const spellingsOfAlg = [
  ['ImFsZy', 0],
  ['JhbGci', 2],
  ['iYWxnI', 3],
] as const

/** The letters of the shortest header: `{"alg":""}`. */
const shortestHeader = 14

/** Three parts or more, of which one may be the header of a JWT. */
const jwtForm = /(?<![\w-])[\w-]+(?:\.[\w-]*){2,}/g

function maskedJwt(text: string): string {
  const parts = text.split('.')
  for (let i = 0; i + 2 < parts.length; i++) {
    const shown = shownOfHeader(parts[i] ?? '')
    if (shown !== undefined) return `${[...parts.slice(0, i), shown].join('.')}…`
  }
  return text
}

/** A part up to the beginning of the header that it ends with; `undefined` if it isn't one. */
function shownOfHeader(part: string): string | undefined {
  if (part.length < shortestHeader) return undefined
  for (const start of startsOfGroups(part)) {
    const header = Buffer.from(part.slice(start), 'base64url').toString('latin1')
    const brace = header.indexOf('{')
    if (brace === -1 || !header.includes('"alg"', brace)) continue
    return part.slice(0, start + Math.floor(brace / 3) * 4 + 3)
  }
  return undefined
}

/** Where groups of four letters with `"alg"` begin: other letters may stand before the header. */
function startsOfGroups(part: string): ReadonlySet<number> {
  const starts = new Set<number>()
  for (const [spelling, before] of spellingsOfAlg) {
    for (let at = part.indexOf(spelling); at >= 0; at = part.indexOf(spelling, at + 1)) {
      starts.add((at - before) & 3)
    }
  }
  return starts
}

/** The most characters of a caller's text in a line, and those that are read for it. */
const longestText = 512
const mostRead = 1_024

/** A run of letters and digits as long as a token's secret with its check: it may be one. */
const secretLength = 38
const secretAlone = new RegExp(`(?<![0-9A-Za-z])[0-9A-Za-z]{${secretLength}}(?![0-9A-Za-z])`, 'g')

/** A caller's text for the log: cut, and without the secret of a token in any spelling. */
export function loggable(text: string): string {
  const isCut = text.length > mostRead
  const read = isCut ? text.slice(0, mostRead) : text
  const spelled = read.includes('%') ? withoutEscapes(read) : read
  // Nothing is left of a secret that was cut; with two dots, a JWT that was cut has its form.
  const whole = isCut ? `${spelled.slice(0, 1 - secretLength)}..` : spelled
  const masked = withoutTokens(whole).replace(secretAlone, '…')
  return isCut || masked.length > longestText ? `${masked.slice(0, longestText)}…` : masked
}

/** Escapes of letters, digits, dots and dashes are undone, also those that were escaped again. */
function withoutEscapes(text: string): string {
  return text.replace(
    /%(?:25)*(2[de]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/gi,
    (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/** The most levels of nesting in a line. */
const deepest = 4

/**
 * The members of a log line as plain data. An instance of a class is reduced to the class's name, because a request, or
 * an error with a request in it, holds the caller's token.
 */
export function dataOf(line: Record<string, unknown>): Record<string, unknown> {
  // Nearly all lines are flat, and stay as they are.
  for (const name in line) {
    if (typeof line[name] === 'object' && line[name] !== null) return membersOf(line, 0)
  }
  return line
}

function membersOf(object: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, plainly(value, depth + 1)]),
  )
}

function plainly(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return errorData(value, depth)
  if (value instanceof Date) return value
  if (depth > deepest) return '…'
  if (Array.isArray(value)) return value.map((each) => plainly(each, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return membersOf(value, depth)
  return `[${value.constructor.name}]`
}

/** An error's type, message, code, stack and causes, without its other members. */
function errorData(error: Error, depth: number): object {
  const { name, message, stack, cause } = error
  const code: unknown = Reflect.get(error, 'code')
  return {
    type: error.constructor.name || name,
    message,
    stack,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(cause !== undefined && depth < deepest ? { cause: plainly(cause, depth + 1) } : {}),
  }
}
