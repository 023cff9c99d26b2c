import type { Offer } from './table.ts'

/** How a shell writes the table, and reads it. */
export type Dialect = Readonly<{
  /** Quotes a text. */
  quoted: (text: string) => string
  /** The text that it needs of an offer. */
  textOf: (offer: Offer) => string
  /** One case: places, and what is printed there. */
  branch: (places: readonly string[], texts: readonly string[]) => string
  /** The whole script around all cases. */
  script: (branches: string) => string
}>

/** A text in single quotes, as bash and zsh read it. */
export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
