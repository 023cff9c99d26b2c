import {
  Composer,
  Lexer,
  Parser,
  YAMLParseError,
  type CST,
  type Document,
  type LineCounter,
} from 'yaml'
import type { Pieces } from '../../shared/pieces.ts'

/** The symbols that are read in one piece: some 2 ms. */
const symbolsAtOnce = 2_000

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
  const composer = new Composer({ lineCounter, prettyErrors: false, logLevel: 'error' })
  const [document, another] = composer.compose(tokens, true, text.length)
  if (!document) throw new Error('the library makes a document of every text')
  if (another) {
    const [start, end] = another.range
    document.errors.push(
      new YAMLParseError([start, end], 'MULTIPLE_DOCS', 'The text has several documents'),
    )
  }
  return document
}
