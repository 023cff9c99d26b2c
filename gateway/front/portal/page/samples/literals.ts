import type { Call } from './call.ts'

/** A text as a literal in double quotes, which JavaScript, Python and Go read alike. A byte order mark would end Go's reading. */
export function literal(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll('\ufeff', '\\ufeff')
}

/** A text of several lines in the quotes of a language that keep them, if it says how; any other as a usual literal. */
export function linesOr(text: string, inLines: (text: string) => string | undefined): string {
  // Readers of source code change these ends of lines, or refuse the characters.
  const isPlain = text.includes('\n') && !/[\r\0\ufeff]/.test(text)
  return (isPlain ? inLines(text.toWellFormed()) : undefined) ?? literal(text)
}

/** The names and values of all headers as literals; `held` is the key as the language reads it from its environment. */
export function headerLiterals({ headers, key }: Call, held: string) {
  const value = key.before === '' ? held : `${literal(key.before)} + ${held}`
  const others = Object.entries(headers).map(([name, text]) => [literal(name), literal(text)])
  return [[literal(key.name), value], ...others]
}
