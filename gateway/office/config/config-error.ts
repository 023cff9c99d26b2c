import { withMore } from '../../../shared/and-more.ts'
import type { Finding } from './finding.ts'

type Details = ErrorOptions &
  Readonly<{ mistakes?: readonly string[]; more?: number; findings?: readonly Finding[] }>

/** A configuration that can't be used. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** For a route of an app that throws it. */
  readonly statusCode = 400
  /** One line for each mistake that is told, with file, line and column; empty if the file can't even be read. */
  readonly mistakes: readonly string[]
  /** The number of further mistakes. */
  readonly more: number
  /** Mistakes and warnings with their parts; empty if the file can't even be read. */
  readonly findings: readonly Finding[]

  constructor(message: string, details: Details = {}) {
    super(message, details)
    this.mistakes = details.mistakes ?? []
    this.more = details.more ?? 0
    this.findings = details.findings ?? []
  }

  /** The error of a file with mistakes. */
  static of(mistakes: readonly string[], details: Omit<Details, 'mistakes'> = {}): ConfigError {
    return new ConfigError(withMore(mistakes, details.more).join('\n'), { ...details, mistakes })
  }
}

export type RefusedFile = Readonly<{ mistakes: string; more?: number | undefined }>

/** The mistakes of a file for which something was thrown. */
export function refusedBy(error: unknown): RefusedFile {
  if (!(error instanceof ConfigError))
    return { mistakes: error instanceof Error ? error.message : String(error) }
  return { mistakes: error.mistakes.join('\n') || error.message, more: error.more || undefined }
}
