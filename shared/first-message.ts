/** The message of something thrown; of several errors, that of the first one. */
export function firstMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Several addresses were tried, each with an error of its own.
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : []
  return first === undefined ? error.message : firstMessage(first)
}
