import { createReadStream } from 'node:fs'
import { KeyMistake } from '../../keys/mistake.ts'
import {
  lineReader,
  type LeftOut,
  type LoggedRequest,
  type NamedColumns,
} from './logged-request.ts'

/** Characters that are read in one go: some 2,500 lines. */
const chunkBytes = 2 ** 20

/** The longest line. */
const mostCharacters = 2 ** 20

/** The requests of some lines that follow each other in one log. */
export type LogPiece = readonly LoggedRequest[]

/** The number of lines, and of those that were left out. */
export type LineCounts = { lines: number } & Record<LeftOut, number>

/** The descriptor of standard input. */
const standardInput = 0

/**
 * Reads a log piece by piece; `-` is standard input. Throws a `KeyMistake` that names the first line that can't be one, or
 * says why the file can't be read.
 */
export async function* readLog(
  file: string,
  columns: NamedColumns,
  counts: LineCounts,
): AsyncGenerator<LogPiece, void> {
  const read = lineReader(columns)
  let number = 0
  for await (const lines of linesOf(file)) {
    const requests: LoggedRequest[] = []
    for (const text of lines) {
      number++
      if (text.trim() === '') continue
      try {
        const request = read(text)
        if (request === undefined) continue
        counts.lines++
        if (typeof request === 'string') counts[request]++
        else requests.push(request)
      } catch (error) {
        if (!(error instanceof KeyMistake)) throw error
        throw new KeyMistake(`${nameOf(file)}:${number}: ${error.message}`)
      }
    }
    yield requests
  }
}

async function* linesOf(file: string): AsyncGenerator<string[], void> {
  const options = { encoding: 'utf8', highWaterMark: chunkBytes } as const
  const stream =
    file === '-'
      ? createReadStream('', { ...options, fd: standardInput, autoClose: false })
      : createReadStream(file, options)
  let rest = ''
  let isFirst = true
  try {
    for await (const chunk of stream as AsyncIterable<string>) {
      const text = isFirst ? chunk.replace(/^\ufeff/, '') : rest + chunk
      isFirst = false
      const lines = text.split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > mostCharacters) {
        throw new KeyMistake(`${nameOf(file)}: a line has more than ${mostCharacters} characters`)
      }
      yield lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
    }
  } catch (error) {
    if (error instanceof KeyMistake) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new KeyMistake(`${nameOf(file)} can't be read: ${reason}`)
  }
  yield [rest]
}

function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file
}
