import { withCommas } from '../../../shared/commas.ts'
import {
  Composer,
  CST,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  Lexer,
  LineCounter,
  Parser,
  visit,
  YAMLParseError,
  type Alias,
  type Document,
  type Node,
} from 'yaml'
import { baredText } from './variables.ts'

/** The most sections and lists inside of each other. Composing is recursive, and deep levels fill its stack. */
export const mostLevels = 64

/** The most aliases of a document. */
const mostAliases = 10_000

/** The most marks of a document: names, values, and signs between them. All are in memory at once, at up to 0.5 KB each. */
const mostMarks = 400_000

/** The most values that all aliases of a document may stand for. */
const mostUnfolded = 200_000

/** Most likely, an alias of nothing is a text that begins with `*`. It isn't quoted: it may be a secret. */
const unquoted = 'a text that begins with * must be in quotes'

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

/**
 * Ties each alias to the node that it stands for, and gives a mistake for each name that is twice in its section, and for
 * an alias of nothing or inside of its own node. The library looks through the whole document for each alias, and through the section for each name: 64 KB took 5 s.
 */
function tieUp(document: Document): YAMLParseError[] {
  const nodeByAnchor = new Map<string, Node>()
  const mistakes: YAMLParseError[] = []
  visit(document, {
    Value: (_key, node) => {
      if (node.anchor !== undefined) nodeByAnchor.set(node.anchor, node)
      if (!isMap<Node | null>(node)) return
      for (const mistake of twiceIn(node.items.map(({ key }) => key))) mistakes.push(mistake)
    },
    Alias: (_key, alias, above) => {
      const node = nodeByAnchor.get(alias.source)
      tie(alias, node)
      if (!node) mistakes.push(errorAt(alias, 'BAD_ALIAS', unquoted))
      else if (above.includes(node))
        mistakes.push(errorAt(alias, 'RESOURCE_EXHAUSTION', endless(alias)))
    },
  })
  return mistakes
}

/** Whether the aliases of a document stand for so much that nobody should read it. */
export function isHuge(document: Document): boolean {
  const sizes = new Map<unknown, number>()
  let unfolded = 0
  // The node of an alias is before it, and isn't around it.
  const sizeOf = (node: unknown): number => {
    if (isPair(node)) return sizeOf(node.key) + sizeOf(node.value)
    let size = 1
    if (isAlias(node)) {
      size = sizes.get(node.resolve(document)) ?? 1
      unfolded += size
    } else if (isCollection(node)) for (const item of node.items) size += sizeOf(item)
    if (isNode(node) && 'anchor' in node) sizes.set(node, size)
    return size
  }
  sizeOf(document.contents)
  return unfolded > mostUnfolded
}

function tie(alias: Alias, node: Node | undefined): void {
  const resolve = alias.resolve.bind(alias)
  const nodes = node ? [node, alias] : [alias]
  alias.resolve = (document, context) => {
    if (!context) return node as ReturnType<Alias['resolve']>
    // The library counts the uses of a node, and refuses those that multiply.
    context.aliasResolveCache = nodes
    return resolve(document, context)
  }
}

function endless({ source }: Alias): string {
  return `*${source} is inside of what it stands for, which would never end: write its value out`
}

function* twiceIn(keys: readonly (Node | null)[]): Generator<YAMLParseError> {
  const names = new Set<unknown>()
  for (const key of keys) {
    if (!isScalar(key)) continue
    if (names.has(key.value)) yield errorAt(key, 'DUPLICATE_KEY', 'Map keys must be unique')
    names.add(key.value)
  }
}

function errorAt({ range }: Node, code: YAMLParseError['code'], message: string): YAMLParseError {
  const [start = 0, end = start] = range ?? []
  return new YAMLParseError([start, end], code, message)
}

/** A message about invalid YAML: our own where the library's doesn't say what to do. */
export function yamlSentence({ code, message, pos }: YAMLParseError, text: string): string {
  if (code === 'MULTIPLE_DOCS') {
    return 'another YAML document begins here, but a configuration is one document: remove the line ---'
  }
  if (code === 'RESOURCE_EXHAUSTION') return message
  if (code === 'BAD_ALIAS' && text.charAt(pos[0]) === '*') return unquoted
  const line = text.slice(text.lastIndexOf('\n', pos[0] - 1) + 1).split('\n', 1)[0] ?? ''
  const hint = line.includes('${')
    ? '; write a variable as ${NAME} or ${NAME:-default}, and in quotes if it contains quotes'
    : ''
  return `this isn't valid YAML: ${baredText(message)}${hint}`
}
