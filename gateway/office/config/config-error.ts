/** A configuration that can't be used. */
export class ConfigError extends Error {
  /** One line for each mistake, with file, line and column; empty if the file can't even be read. */
  readonly mistakes: readonly string[]

  constructor(message: string, options: ErrorOptions & { mistakes?: readonly string[] } = {}) {
    super(message, options)
    this.mistakes = options.mistakes ?? []
  }
}
