import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Screen } from '../../../shared/progress.ts'

/** A stream of this process. Its reader may leave before the end, as `head` does: the rest goes unsaid, and is no failure. */
export function screenOf(stream: NodeJS.WriteStream): Screen {
  let isLeft = false
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    isLeft = true
  })
  return {
    isTTY: stream.isTTY,
    isLeft: () => isLeft,
    write: (text) => isLeft || stream.write(text),
  }
}

/** The name of the process's user; in a container the user may have none. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'somebody'
  }
}

/** Reads a line from standard input; on a terminal it prints the question to standard error. */
export async function ask(question: string): Promise<string> {
  const { stdin: input, stderr } = process
  const lines = createInterface({ input })
  if (input.isTTY) stderr.write(question)
  try {
    for await (const line of lines) return line.trim()
    return ''
  } finally {
    lines.close()
  }
}

/** Reads a secret line from standard input, which a terminal doesn't show. */
export async function askSecret(question: string): Promise<string> {
  const { stdin: input, stderr } = process
  if (!input.isTTY) return ask('')
  stderr.write(question)
  // The line editor takes the terminal's own echo away, and its echo goes nowhere.
  const output = new Writable({ write: (_text, _encoding, done) => done() })
  const lines = createInterface({ input, output, terminal: true })
  lines.on('SIGINT', () => lines.close())
  try {
    for await (const line of lines) return line.trim()
    return ''
  } finally {
    lines.close()
    stderr.write('\n')
  }
}

/** Reads standard input to its end. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString('utf8')
}

/** Whether the user at the terminal agrees; scripts aren't asked. */
export async function confirm(question: string): Promise<boolean | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined
  return /^y(?:es)?$/i.test(await ask(`${question} [y/N] `))
}
