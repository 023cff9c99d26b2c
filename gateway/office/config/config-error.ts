import type { Finding } from './finding.ts'

/** A configuration that can't be used. */
export class ConfigError extends Error {
  /** One line for each mistake, with file, line and column; empty if the file can't even be read. */
  readonly mistakes: readonly string[]
  /** Mistakes and warnings with their parts; empty if the file can't even be read, or if another thread has read it. */
  readonly findings: readonly Finding[]

  constructor(
    message: string,
    options: ErrorOptions & { mistakes?: readonly string[]; findings?: readonly Finding[] } = {},
  ) {
    super(message, options)
    this.mistakes = options.mistakes ?? []
    this.findings = options.findings ?? []
  }
}
