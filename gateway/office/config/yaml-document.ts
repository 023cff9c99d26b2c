import { withCommas } from '../../../shared/commas.ts'
import { Composer, CST, Lexer, LineCounter, Parser, YAMLParseError, type Document } from 'yaml'
import { tieUp } from './yaml-nodes.ts'

/** The most sections and lists inside of each other. Composing is recursive, and deep levels fill its stack. */
export const mostLevels = 64

/** The most aliases of a document. */
const mostAliases = 10_000

/** The most marks of a document: names, values, and signs between them. All are in memory at once, at up to 0.5 KB each. */
const mostMarks = 400_000

const tooDeep = `sections and lists are more than ${mostLevels} levels deep here: write them flatter`
const tooManyMarks = `more than ${withCommas(mostMarks)} names, values and signs are in this text: write a shorter one`
const tooManyAliases = `more than ${mostAliases} aliases are used here: write some of their values out`

const collections = new Set(['block-map', 'block-seq', 'flow-collection'])

/**
 * Reads a text as one YAML document, as the library's `parseDocument` does, but in a time that grows as the text does. Its
 * mistakes are in its `errors`; one that is too deep or has too many aliases has nothing else.
 */
export function yamlDocument(text: string, lineCounter = new LineCounter()): Document.Parsed {
  const tokens: CST.Token[] = []
  const parser = new Parser(lineCounter.addNewLine)
  lineCounter.addNewLine(0)
  let [marks, aliases, levels, before] = [0, 0, 0, '']
  for (const symbol of new Lexer().lex(text)) {
    for (const token of parser.next(symbol)) tokens.push(token)
    // The text of a value comes behind a mark.
    if (before !== CST.SCALAR) {
      if (symbol.startsWith('*')) aliases++
      marks += weightOf(symbol)
    }
    before = symbol
    const above = levels
    levels = levelsOf(parser)
    // A section or a list has begun.
    if (levels > above) marks += 2
    const excess = excessOf(levels, marks, aliases)
    if (excess !== undefined) {
      const document = firstOf(composed([], 0, lineCounter))
      const { offset } = parser
      const at: [number, number] = [offset - symbol.length, offset]
      document.errors.push(new YAMLParseError(at, 'RESOURCE_EXHAUSTION', excess))
      return document
    }
  }
  for (const token of parser.end()) tokens.push(token)
  const documents = composed(tokens, text.length, lineCounter)
  const document = firstOf(documents)
  const [, another] = documents
  document.errors = [...document.errors, ...withoutStacks(() => tieUp(document))]
  if (another) {
    const [start, end] = another.range
    document.errors.push(
      new YAMLParseError([start, end], 'MULTIPLE_DOCS', 'The text has several documents'),
    )
  }
  return document
}

function composed(
  tokens: readonly CST.Token[],
  end: number,
  lineCounter: LineCounter,
): Document.Parsed[] {
  const composer = new Composer({
    lineCounter,
    prettyErrors: false,
    logLevel: 'error',
    // The library compares each key with all before it.
    uniqueKeys: false,
  })
  return withoutStacks(() => [...composer.compose(tokens, true, end)])
}

/** How much memory a symbol takes, in marks: spaces and comments take little. */
function weightOf(symbol: string): number {
  if (symbol === '-' || symbol === '?') return 2
  return /^[\s#]/.test(symbol) ? 0 : 1
}

/** Whether sections and lists are inside of each other on more levels than may be. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}

function excessOf(levels: number, marks: number, aliases: number): string | undefined {
  if (levels > mostLevels) return tooDeep
  if (marks > mostMarks) return tooManyMarks
  return aliases > mostAliases ? tooManyAliases : undefined
}

/** The sections and lists that are open. Above them may be a single value, below them is the document. */
function levelsOf({ stack }: Parser): number {
  return stack.length - (collections.has(stack.at(-1)?.type ?? '') ? 1 : 2)
}

/** Does something that makes many errors. Their stacks take most of the time: 64 KB of commas 0.6 s. */
function withoutStacks<Result>(work: () => Result): Result {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return work()
  } finally {
    Error.stackTraceLimit = before
  }
}

function firstOf([document]: readonly Document.Parsed[]): Document.Parsed {
  if (!document) throw new Error('the library makes a document of every text')
  return document
}
