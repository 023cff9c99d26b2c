import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'

/** Who runs this; in a container it may be nobody by name. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'somebody'
  }
}

/** A line from standard input; on a terminal it is asked for, beside what the command prints. */
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

/** All of standard input, up to its end. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString('utf8')
}

/** Whether somebody at the terminal agrees; a script is not asked. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return true
  return /^y(?:es)?$/i.test(await ask(`${question} [y/N] `))
}
