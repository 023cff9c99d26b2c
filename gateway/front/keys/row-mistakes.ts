import { withMore } from '../../../shared/and-more.ts'
import { KeyMistake } from './mistake.ts'

/** A mistake in a row of a file. */
export type RowMistake = Readonly<{ line: number; message: string }>

/** The most mistakes that are told. */
const mostMistakes = 100

/** The first mistakes of a file, and the number of all. */
export class FirstMistakes {
  readonly first: RowMistake[] = []
  count = 0

  add(mistake: RowMistake): void {
    if (this.count++ < mostMistakes) this.first.push(mistake)
  }

  /** The same with others, which are anywhere in the file. */
  with(others: FirstMistakes): FirstMistakes {
    const all = new FirstMistakes()
    for (const each of [...this.first, ...others.first].sort((a, b) => a.line - b.line))
      all.add(each)
    all.count = this.count + others.count
    return all
  }
}

/** The mistakes of a file of keys, of which nothing was added; `keys` is the number of its other rows. */
export class RowMistakes extends KeyMistake {
  readonly mistakes: readonly RowMistake[]
  /** The number of further mistakes. */
  readonly more: number
  readonly keys: number

  constructor({ first, count }: FirstMistakes, keys: number) {
    const more = count - first.length
    super(sentencesOf(first, more).join('; '))
    this.mistakes = first
    this.more = more
    this.keys = keys
  }

  /** A line for each mistake. */
  get lines(): string {
    return sentencesOf(this.mistakes, this.more).join('\n')
  }
}

function sentencesOf(mistakes: readonly RowMistake[], more: number): readonly string[] {
  return withMore(
    mistakes.map(({ line, message }) => `line ${line}: ${message}`),
    more,
  )
}
