import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'

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

/** Reads standard input to its end. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString('utf8')
}

/** Whether the user at the terminal agrees; scripts aren't asked. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return true
  return /^y(?:es)?$/i.test(await ask(`${question} [y/N] `))
}
