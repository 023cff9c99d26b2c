import { run } from '../../gateway/office/cli/run.ts'
import type { Surroundings } from '../../gateway/office/cli/surroundings.ts'

export type Ran = Readonly<{ code: number; out: string; stdout: string }>

export type Answers = Readonly<{
  /** The text of standard input. */
  line?: string
  /** The answer of a person at a terminal; a script isn't asked. */
  confirm?: Surroundings['confirm']
}>

/** Runs a command in this process: a process of its own takes a thousand times as long. */
export async function runCommand(
  args: string[],
  environment: Record<string, string>,
  { line = '', confirm = () => Promise.resolve(true) }: Answers = {},
): Promise<Ran> {
  let [out, stdout] = ['', '']
  const code = await run(args, {
    environment,
    stdout: { write: (text) => ([out, stdout] = [out + text, stdout + text]) },
    stderr: { write: (text) => (out += text) },
    userName: () => 'tester',
    ask: () => Promise.resolve(line),
    askSecret: () => Promise.resolve(line.trim()),
    readInput: () => Promise.resolve(line),
    confirm,
  })
  return { code, out, stdout }
}

/** The words of an example, as a shell has them, without redirections. */
export function wordsOf(example: string): string[] {
  const [command = ''] = example.split(/ [<>] /)
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  )
}
