import { styleText } from 'node:util'
import { printable } from './printable.ts'

type Line = Readonly<Record<string, unknown>>
type Style = Parameters<typeof styleText>[0]

const levels: readonly Readonly<{ from: number; name: string; style: Style }>[] = [
  { from: 60, name: 'fatal', style: 'magenta' },
  { from: 50, name: 'error', style: 'red' },
  { from: 40, name: 'warn', style: 'yellow' },
  { from: 30, name: 'info', style: 'gray' },
  { from: 0, name: 'debug', style: 'gray' },
]

/** Members that the beginning of a line shows already, or that a terminal doesn't need. */
const leftOut = new Set(['level', 'time', 'msg', 'err', 'reqId', 'trace', 'unsaid'])

/** Members of audit lines that the audit's own report shows better. */
const ofAudit = new Set(['at', 'before', 'after'])

/** A request id that a service made, because the caller sent none; see request-id.ts. */
const madeId = /^[0-9a-f]{16}-[0-9a-z]+$/

/** The most characters of one value. */
const longestValue = 60

/** One log line for a person at a terminal, with an error below it. */
export function pretty(text: string): string {
  const line = JSON.parse(text) as Line
  const time = styleText('gray', new Date(Number(line['time'])).toISOString().slice(11, 19))
  const isAnswer = typeof line['status'] === 'number' && typeof line['method'] === 'string'
  const words = isAnswer ? answerWords(line) : otherWords(line)
  return `${[time, ...words].join(' ')}\n${listsOf(line)}${causeOf(line['err'])}`
}

/** A request and its answer: `200 GET /v1/pets 1.7 ms business Fxgg0a1b2c3d (order-66)`. */
function answerWords(line: Line): string[] {
  const { status, method, path, ms, plan, key, decision, reqId, msg } = line
  const isMissed = msg !== 'answered'
  const style: Style = Number(status) >= 500 ? 'red' : Number(status) >= 400 ? 'yellow' : 'green'
  const why = typeof decision === 'string' && decision !== 'admitted' ? decision : undefined
  // An id that the caller chose is useful; one that was made here only if the request failed.
  const showsId = typeof reqId === 'string' && (!madeId.test(reqId) || Number(status) >= 500)
  return [
    styleText(style, String(status)),
    String(method),
    short(path),
    styleText('gray', `${String(ms)} ms`),
    ...[plan, key].filter((each) => each !== undefined).map((each) => short(each)),
    ...(why === undefined ? [] : [styleText(style, short(why))]),
    ...(isMissed ? [styleText('yellow', short(msg))] : []),
    ...(showsId ? [styleText('gray', `(${short(reqId)})`)] : []),
  ]
}

/** Any other line: the level, the message and the members. */
function otherWords(line: Line): string[] {
  const { level, msg, service, reqId } = line
  const { name, style } = levels.find(({ from }) => Number(level) >= from) ?? {
    name: '',
    style: 'gray',
  }
  const members = Object.entries(line).filter(
    ([name, value]) =>
      !leftOut.has(name) &&
      !isList(value) &&
      !('audit' in line && ofAudit.has(name)) &&
      (name !== 'service' || service !== 'gateway'),
  )
  const details = Object.entries({ ...Object.fromEntries(members), reqId }).filter(
    ([, value]) => value !== undefined,
  )
  return [
    styleText(style, name.padEnd(5)),
    ...(typeof msg === 'string'
      ? [Number(level) >= 40 ? styleText(style, said(msg)) : said(msg)]
      : []),
    ...details.map(([name, value]) => styleText('gray', `${name}=${short(value)}`)),
  ]
}

/** Lists of sentences, such as the mistakes of a configuration, with a line for each. */
function listsOf(line: Line): string {
  return Object.values(line)
    .filter(isList)
    .flat()
    .map((each) => `  ${said(String(each))}\n`)
    .join('')
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

/** A value in few characters: a single word plain, anything else as JSON. */
function short(value: unknown): string {
  const text =
    typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : (JSON.stringify(value) ?? '')
  return said(text.length > longestValue ? `${text.slice(0, longestValue - 1)}…` : text)
}

/** A text without characters that control a terminal. */
function said(text: string): string {
  return printable(text)
}

/** An error and its causes: the message of a system error, which says all, and the stack of any other. */
function causeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { stack, message, code, syscall, cause } = error as Readonly<Record<string, unknown>>
  const isPlain = typeof code === 'string' && /^(?:E(?!RR_)[A-Z0-9]+$|UND_ERR_|SQLITE_)/.test(code)
  const text = isPlain || syscall !== undefined ? message : (stack ?? message)
  const lines = (typeof text === 'string' ? text : JSON.stringify(error)).split('\n').map(said)
  return `${styleText('gray', lines.map((line) => `  ${line}`).join('\n'))}\n${causeOf(cause)}`
}
