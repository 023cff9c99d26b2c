import {
  Composer,
  isMap,
  isSeq,
  Lexer,
  Parser,
  YAMLParseError,
  type CST,
  type Document,
  type LineCounter,
  type YAMLSeq,
} from 'yaml'
import type { Pieces } from '../../shared/pieces.ts'

/** The symbols that are read in one piece: 1 to 3 ms. */
const symbolsAtOnce = 1_000

/** The items of a section's list that become nodes in one piece. A thousand routes take 6 to 40 ms at once. */
const itemsAtOnce = 100

/** The beginning of a long list, which was cut off. */
type Beginning = Readonly<{ list: CST.BlockSequence; items: CST.BlockSequence['items'] }>

/** Reads a text as one YAML document, as the library's `parseDocument` does. Its mistakes are in its `errors`. */
export function* yamlDocument(text: string, lineCounter: LineCounter): Pieces<Document.Parsed> {
  const tokens: CST.Token[] = []
  const parser = new Parser(lineCounter.addNewLine)
  lineCounter.addNewLine(0)
  let read = 0
  for (const symbol of new Lexer().lex(text)) {
    tokens.push(...parser.next(symbol))
    if (++read % symbolsAtOnce === 0) yield
  }
  tokens.push(...parser.end())
  yield
  const compose = (tokens: readonly CST.Token[]): Document.Parsed[] => {
    const composer = new Composer({ lineCounter, prettyErrors: false, logLevel: 'error' })
    return [...composer.compose(tokens, true, text.length)]
  }
  // Directives hold for a whole document, and a part would be read without them.
  const isDirected = tokens.some(({ type }) => type === 'directive')
  const beginnings = isDirected ? [] : tokens.flatMap(cutLists)
  const [document, another] = compose(tokens)
  if (!document) throw new Error('the library makes a document of every text')
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
  if (another) {
    const [start, end] = another.range
    document.errors.push(
      new YAMLParseError([start, end], 'MULTIPLE_DOCS', 'The text has several documents'),
    )
  }
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
