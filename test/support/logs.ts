import type { LogSettings } from '../../shared/log.ts'
import { json } from './http.ts'

/** The log of a gateway in this process. */
export function logged(level = 'info'): { log: LogSettings; output: () => string } {
  let text = ''
  const target = { write: (line: string) => void (text += line) }
  return { log: { level, target }, output: () => text }
}

/** The lines of a log that say a text. */
export function said(log: string, text: string): Record<string, unknown>[] {
  return log
    .split('\n')
    .filter((line) => line.includes(text))
    .map((line) => json(line))
}
