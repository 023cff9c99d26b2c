import {
  Composer,
  CST,
  isMap,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  YAMLParseError,
  type Document,
  type YAMLSeq,
} from 'yaml'
import type { Pieces } from '../../../shared/pieces.ts'
import { tieUp } from './yaml-nodes.ts'

/** The symbols that are read in one piece: 1 to 3 ms. */
const symbolsAtOnce = 1_000

/** The items of a section's list that become nodes in one piece. A thousand routes take 6 to 40 ms at once. */
const itemsAtOnce = 100

/** The most sections and lists inside of each other. Composing is recursive, and deep levels fill its stack. */
export const mostLevels = 64

/** The most aliases of a document. */
const mostAliases = 10_000

const tooDeep = `sections and lists are more than ${mostLevels} levels deep here: write them flatter`
const tooManyAliases = `more than ${mostAliases} aliases are used here: write some of their values out`

const collections = new Set(['block-map', 'block-seq', 'flow-collection'])

/** The beginning of a long list, which was cut off. */
type Beginning = Readonly<{ list: CST.BlockSequence; items: CST.BlockSequence['items'] }>

/**
 * Reads a text as one YAML document, as the library's `parseDocument` does, but in a time that grows as the text does. Its
 * mistakes are in its `errors`; one that is too deep or has too many aliases has nothing else.
 */
export function* yamlDocument(
  text: string,
  lineCounter = new LineCounter(),
): Pieces<Document.Parsed> {
  const tokens: CST.Token[] = []
  const parser = new Parser(lineCounter.addNewLine)
  lineCounter.addNewLine(0)
  const compose = (tokens: readonly CST.Token[]): Document.Parsed[] =>
    withoutStacks(() => {
      const composer = new Composer({
        lineCounter,
        prettyErrors: false,
        logLevel: 'error',
        // The library compares each key with all before it.
        uniqueKeys: false,
      })
      return [...composer.compose(tokens, true, text.length)]
    })
  let [read, aliases, before] = [0, 0, '']
  for (const symbol of new Lexer().lex(text)) {
    for (const token of parser.next(symbol)) tokens.push(token)
    // The text of a value comes behind a mark.
    if (symbol.startsWith('*') && before !== CST.SCALAR) aliases++
    before = symbol
    const excess = aliases > mostAliases ? tooManyAliases : levelsOf(parser) > mostLevels && tooDeep
    if (excess) {
      const document = firstOf(compose([]))
      const { offset } = parser
      const at: [number, number] = [offset - symbol.length, offset]
      document.errors.push(new YAMLParseError(at, 'RESOURCE_EXHAUSTION', excess))
      return document
    }
    if (++read % symbolsAtOnce === 0) yield
  }
  for (const token of parser.end()) tokens.push(token)
  yield
  // Directives hold for a whole document, and a part would be read without them.
  const isDirected = tokens.some(({ type }) => type === 'directive')
  const beginnings = isDirected ? [] : tokens.flatMap(cutLists)
  const composed = compose(tokens)
  const document = firstOf(composed)
  const [, another] = composed
  for (const { list, items } of beginnings) {
    const nodes: unknown[] = []
    while (items.length > 0) {
      yield
      const value = { ...list, items: items.splice(0, itemsAtOnce) }
      const [part] = compose([{ type: 'document', offset: list.offset, start: [], value }])
      for (const error of part?.errors ?? []) document.errors.push(error)
      if (isSeq(part?.contents)) nodes.push(...part.contents.items)
    }
    const whole = listAt(document, list.offset)
    if (whole) whole.items = [...nodes, ...whole.items]
  }
  yield
  document.errors = [...document.errors, ...withoutStacks(() => tieUp(document))]
  if (another) {
    const [start, end] = another.range
    document.errors.push(
      new YAMLParseError([start, end], 'MULTIPLE_DOCS', 'The text has several documents'),
    )
  }
  return document
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

/**
 * Cuts the long lists of a document's sections down to their last items, so that each still ends where it did; gives the
 * items before.
 */
function cutLists(token: CST.Token): Beginning[] {
  if (token.type !== 'document' || token.value?.type !== 'block-map') return []
  return token.value.items.flatMap(({ sep = [], value: list }) => {
    if (list?.type !== 'block-seq' || list.items.length <= itemsAtOnce) return []
    // A tag is about the whole list, and a line that is no item is told at the end of the item before.
    const isPlain = !sep.some(({ type }) => type === 'tag') && list.items.every(isItem)
    return isPlain ? [{ list, items: list.items.splice(0, list.items.length - itemsAtOnce) }] : []
  })
}

function isItem({ start, value }: CST.BlockSequence['items'][number]): boolean {
  return value === undefined || start.some(({ type }) => type === 'seq-item-ind')
}

/** The list of a section that begins at an offset; `undefined` if mistakes have made something else of it. */
function listAt({ contents }: Document.Parsed, offset: number): YAMLSeq | undefined {
  if (!isMap<unknown, unknown>(contents)) return undefined
  for (const { value } of contents.items) {
    if (isSeq(value) && value.range?.[0] === offset) return value
  }
  return undefined
}
