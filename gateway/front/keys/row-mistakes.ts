import { andMore, withMore } from '../../../shared/and-more.ts'
import { KeyMistake } from './mistake.ts'

/** A mistake in a row of a file. */
export type RowMistake = Readonly<{ line: number; message: string }>

/** The most mistakes that are told. */
const mostMistakes = 100

/** The first mistakes of a file, and the number of all. */
export class FirstMistakes {
  readonly first: RowMistake[] = []
  count = 0
  /** The number of all mistakes that read as one of the first. */
  readonly counts = new Map<string, number>()

  add(mistake: RowMistake): void {
    const { message } = mistake
    if (this.count++ < mostMistakes) this.first.push(mistake)
    else if (!this.counts.has(message)) return
    this.counts.set(message, (this.counts.get(message) ?? 0) + 1)
  }

  /** The same with others, which are anywhere in the file. */
  with(others: FirstMistakes): FirstMistakes {
    const all = new FirstMistakes()
    for (const each of [...this.first, ...others.first].sort((a, b) => a.line - b.line))
      all.add(each)
    all.count = this.count + others.count
    for (const message of all.counts.keys()) {
      all.counts.set(message, (this.counts.get(message) ?? 0) + (others.counts.get(message) ?? 0))
    }
    return all
  }
}

/** The mistakes of a file of keys, of which nothing was added; `keys` is the number of its other rows. */
export class RowMistakes extends KeyMistake {
  readonly mistakes: readonly RowMistake[]
  /** The number of further mistakes. */
  readonly more: number
  readonly keys: number

  /** A line for each sentence, which may be about many rows. */
  readonly lines: string

  constructor(all: FirstMistakes, keys: number) {
    const sentences = sentencesOf(all)
    super(sentences.join('; '))
    this.lines = sentences.join('\n')
    this.mistakes = all.first
    this.more = all.count - all.first.length
    this.keys = keys
  }
}

function sentencesOf({ first, count, counts }: FirstMistakes): readonly string[] {
  let told = 0
  const sentences = [...counts].map(([message, alike]) => {
    told += alike
    const some = first.filter((each) => each.message === message).slice(0, 3)
    const lines = some.map(({ line }) => line).join(', ')
    const more = alike > some.length ? ` ${andMore(alike - some.length)}` : ''
    return `line${alike > 1 ? 's' : ''} ${lines}${more}: ${message}`
  })
  return withMore(sentences, count - told)
}
