import { createReadStream } from 'node:fs'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import {
  lineReader,
  NotJson,
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
 * Reads a log piece by piece; `-` is standard input. Counts lines that aren't JSON, and throws a `KeyMistake` that names the
 * first other line that can't be one, or the first of all if none is, or says why the file can't be read.
 */
export async function* readLog(
  file: string,
  columns: NamedColumns,
  counts: LineCounts,
): AsyncGenerator<LogPiece, void> {
  const read = lineReader(columns)
  let number = 0
  let isLog = false
  let fault: KeyMistake | undefined
  for await (const lines of linesOf(file)) {
    const requests: LoggedRequest[] = []
    for (const text of lines) {
      number++
      if (text.trim() === '') continue
      try {
        const request = read(text)
        isLog = true
        if (request === undefined) continue
        counts.lines++
        if (typeof request === 'string') counts[request]++
        else requests.push(request)
      } catch (error) {
        if (!(error instanceof KeyMistake)) throw error
        const placed = new KeyMistake(`${nameOf(file)}:${number}: ${error.message}`)
        if (!(error instanceof NotJson)) throw placed
        fault ??= placed
        counts.lines++
        counts.notJson++
      }
    }
    yield requests
  }
  if (fault && !isLog) throw fault
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
