import type { Screen } from '../../../shared/progress.ts'

/** The process that commands run in, and its terminal if there is one. */
export type Surroundings = Readonly<{
  environment: Readonly<Record<string, string | undefined>>
  stdout: Screen
  stderr: Screen
  /** The user of the process: the author of changes without `--by`. */
  userName: () => string
  /** Reads a line from standard input; on a terminal it prints the question. */
  ask: (question: string) => Promise<string>
  /** The same for a secret: a terminal doesn't show it. */
  askSecret: (question: string) => Promise<string>
  /** Reads standard input to its end. */
  readInput: () => Promise<string>
  /** Whether the user at the terminal agrees; `undefined` without a terminal. */
  confirm: (question: string) => Promise<boolean | undefined>
}>

/** Prints a remark on standard error. */
export type Warn = Readonly<{ warn: (sentence: string) => void }>
