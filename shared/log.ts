import { styleText } from 'node:util'

/** Where log lines go: a stream that may be a terminal. */
export type LogTarget = { write(text: string): unknown; isTTY?: boolean }

/** The part of `process` that writes the log; `main.ts` hands it in. */
type Output = { stdout: LogTarget; on(event: 'exit', listener: () => void): unknown }

/** As much is written to a pipe in one piece, so that lines of several workers never run into each other. */
const pieceBytes = 4_096

/**
 * A process's standard output as a log. Lines of one turn of the event loop are written together: a write
 * of its own costs each 3 µs and more, and together 0.7.
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

/** Fastify's logger settings: JSON lines for programs, short lines for the people at a terminal. */
export function loggerOptions(service: string, level: string, target: LogTarget) {
  const stream = target.isTTY ? { write: (line: string) => target.write(pretty(line)) } : target
  return { level, base: { service }, stream: { write: (line: string) => void stream.write(line) } }
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Whether a level lets the one line a request through; without it, nothing need be put together. */
export function logsRequests(level: string): boolean {
  return ['trace', 'debug', 'info'].includes(level)
}

/** A text of a caller's with the secret part of any token in it left out. */
export function withoutTokens(text: string): string {
  return text.includes('tg_') ? text.replace(/tg_(\w{12})_\w+/g, 'tg_$1_…') : text
}

const colourByLevel = { 40: 'yellow', 50: 'red', 60: 'magenta' } as const
const unsaid = new Set(['level', 'time', 'service', 'msg', 'err'])

/** One log line as a person reads it: time, service, message, then what else is known. */
export function pretty(line: string): string {
  const entry = JSON.parse(line) as Readonly<Record<string, unknown>>
  const time = new Date(Number(entry['time'])).toISOString().slice(11, 23)
  const level = Number(entry['level'])
  const colour = level >= 60 ? 60 : level >= 50 ? 50 : level >= 40 ? 40 : undefined
  const message = typeof entry['msg'] === 'string' ? entry['msg'] : ''
  const rest = Object.entries(entry).filter(([name]) => !unsaid.has(name))
  const details = rest.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(' ')
  const words = [
    styleText('gray', time),
    styleText('cyan', String(entry['service'])),
    colour ? styleText(colourByLevel[colour], message) : message,
    styleText('gray', details),
  ]
  return `${words.join(' ')}\n${causeOf(entry['err'])}`
}

function causeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const stack: unknown = Reflect.get(error, 'stack')
  return `${styleText('gray', typeof stack === 'string' ? stack : JSON.stringify(error))}\n`
}
