import { withCommas } from './commas.ts'

/** The last line of sentences of which not all are told. */
export function andMore(count: number): string {
  return `and ${withCommas(count)} more`
}

/** Sentences, and the number of those that aren't told. */
export function withMore(sentences: readonly string[], more = 0): readonly string[] {
  return more === 0 ? sentences : [...sentences, andMore(more)]
}
