import { KeyMistake } from './mistake.ts'

/** A mistake in a row of a file. */
export type RowMistake = Readonly<{ line: number; message: string }>

/** The mistakes after which a file is read no further. */
export const mostMistakes = 1_000

/** The most mistakes in a sentence. */
const mostTold = 20

/** The mistakes of a file of keys, of which nothing was added; `keys` is the number of its other rows. */
export class RowMistakes extends KeyMistake {
  readonly mistakes: readonly RowMistake[]
  readonly keys: number

  constructor(mistakes: readonly RowMistake[], keys: number) {
    const more = mistakes.length - mostTold
    const sentences = mistakes.slice(0, mostTold).map(sentenceOf)
    super([...sentences, ...(more > 0 ? [`and ${more} more`] : [])].join('; '))
    this.mistakes = mistakes
    this.keys = keys
  }

  /** A line for each mistake. */
  get lines(): string {
    return this.mistakes.map(sentenceOf).join('\n')
  }
}

function sentenceOf({ line, message }: RowMistake): string {
  return `line ${line}: ${message}`
}
