import { isMap, isPair, isScalar, isSeq, type Node, type YAMLMap, type YAMLSeq, parse } from 'yaml'
import type { Path } from '../mistake.ts'
import { WrongInput } from '../../wrong-input.ts'

/** The end of a place in a file, as far as it is written. */
export type Spot = Readonly<{
  node: Node | null
  path: Path
  /** The section or list around the node, and the node's index in it. */
  parent: Node | null
  index: number
  /** The steps that aren't written. */
  missing: Path
}>

/** A part of a text, and its new source. */
export type Splice = Readonly<{ start: number; end: number; source: string }>

type Collection = YAMLMap<Node, Node | null> | YAMLSeq<Node>

/** Writes another value in place of the one at a spot. */
export function replacement(spot: Spot, text: string, value: unknown, name: string): Splice {
  const { node, parent, index } = spot
  const [from = 0, to = from] = node?.range ?? []
  const isBlock = isCollection(node) && !node.flow
  if (!isBlock && !(isScalar(node) && /^BLOCK/.test(node.type ?? ''))) {
    requireBare(text.slice(from, to), node, name)
    const source = flowText(value, quotesOf(node))
    return {
      start: from,
      end: to,
      source: /[\s[{]/.test(text.charAt(from - 1)) ? source : ` ${source}`,
    }
  }
  const end = withoutLineEnd(text, endOf(node))
  const key = isMap<Node>(parent) ? parent.items[index]?.key : undefined
  const start = key ? text.indexOf(':', endOf(key)) + 1 : from
  requireBare(text.slice(start, end), node, name)
  return { start, end, source: `${key ? ' ' : ''}${flowText(value)}` }
}

/** Writes one more setting into a section, or one more entry into a list. */
export function insertion(
  { node }: Spot,
  text: string,
  step: string | number,
  value: unknown,
): Splice {
  const entry = typeof step === 'string' ? `${flowText(step)}: ${flowText(value)}` : flowText(value)
  const collection = node as Collection
  const [first, last] = [collection.items[0], collection.items.at(-1)]
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  if (first === undefined || last === undefined) {
    const at = startOf(collection) + 1
    const isSpaced = isMap(collection)
    const gap = isSpaced && !/\s/.test(text.charAt(at)) ? ' ' : ''
    return { start: at, end: at, source: `${isSpaced ? ' ' : ''}${entry}${gap}` }
  }
  const before = linePrefix(text, startOf(last))
  const end = endOf(last)
  if (collection.flow) {
    const isAlone = collection.items.length > 1 && /^\s*$/.test(before)
    return { start: end, end, source: isAlone ? `,${lineEnd}${before}${entry}` : `, ${entry}` }
  }
  const indent = isMap(collection)
    ? linePrefix(text, startOf(first)).replace(/\S/g, ' ')
    : `${/^\s*/.exec(before)?.[0] ?? ''}- `
  if (text.charAt(end - 1) === '\n') return { start: end, end, source: indent + entry + lineEnd }
  const at = lineEndAfter(text, end)
  return { start: at, end: at, source: lineEnd + indent + entry }
}

/** Takes a setting away: with its whole line, or with a comma. */
export function removal({ node, parent, index }: Spot, text: string, name: string): Splice {
  const collection = parent as Collection
  const [item, before, next] = [
    collection.items[index],
    collection.items[index - 1],
    collection.items[index + 1],
  ]
  if (!item) throw new WrongInput(`${name} can't be removed`)
  const [start, end] = [startOf(item), endOf(item)]
  requireBare(text.slice(start, end), node, name)
  if (collection.flow) {
    if (before) return { start: endOf(before), end, source: '' }
    return { start, end: next ? startOf(next) : end, source: '' }
  }
  const prefix = linePrefix(text, start)
  if (!/^\s*(?:-\s+)?$/.test(prefix) || (isMap(collection) && prefix.includes('-'))) {
    throw new WrongInput(`${name} begins an entry of a list: change it by hand`)
  }
  const at =
    withoutLineEnd(text, end) < end
      ? end
      : lineEndAfter(text, end) + lengthOfLineEnd(text, lineEndAfter(text, end))
  return { start: start - prefix.length, end: at, source: '' }
}

/** Throws if comments, variables or anchors would be lost with a source. */
function requireBare(source: string, node: Node | null, name: string): void {
  if (source.includes('${')) {
    throw new WrongInput(`${name} has values from the environment (\${…}): change it by hand`)
  }
  if (!isCollection(node)) return
  if (/(?:^|\s)#/.test(source))
    throw new WrongInput(`${name} has comments inside: change it by hand`)
  if (/(?:^|[\s[{,:])[&*]\w/.test(source))
    throw new WrongInput(`${name} has anchors or aliases inside: change it by hand`)
}

function quotesOf(node: Node | null): Quotes {
  if (!isScalar(node)) return 'none'
  if (node.type === 'QUOTE_DOUBLE') return 'double'
  return node.type === 'QUOTE_SINGLE' ? 'single' : 'none'
}

function isCollection(node: unknown): node is Collection {
  return isMap(node) || isSeq(node)
}

function startOf(item: Collection['items'][number] | Node): number {
  return (isPair(item) ? item.key : item).range?.[0] ?? 0
}

/** The end of a node or pair, without the comments and empty lines that come after it. */
function endOf(item: unknown): number {
  if (isPair<Node, Node | null>(item)) {
    return Math.max(endOf(item.key), item.value ? endOf(item.value) : 0)
  }
  if (isCollection(item) && !item.flow) return endOf(item.items.at(-1))
  return (item as Node | undefined)?.range?.[1] ?? 0
}

/** The text before an offset in its line. */
function linePrefix(text: string, offset: number): string {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
}

/** The offset of the first line end from an offset on. */
function lineEndAfter(text: string, offset: number): number {
  const at = text.slice(offset).search(/\r?\n/)
  return at < 0 ? text.length : offset + at
}

function lengthOfLineEnd(text: string, offset: number): number {
  return text.startsWith('\r\n', offset) ? 2 : text.startsWith('\n', offset) ? 1 : 0
}

/** An offset before the line end that comes before it, if one does. */
function withoutLineEnd(text: string, offset: number): number {
  if (text.charAt(offset - 1) !== '\n') return offset
  return text.charAt(offset - 2) === '\r' ? offset - 2 : offset - 1
}

/** The quotes that a text is written in if it needs none. */
type Quotes = 'none' | 'single' | 'double'

/** A value in one line of YAML that means the same everywhere, also inside of `{ }` and `[ ]`. */
function flowText(value: unknown, quotes: Quotes = 'none'): string {
  if (typeof value === 'string') return quoted(value, quotes)
  if (Array.isArray(value)) return `[${value.map((each) => flowText(each)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, each]) => `${flowText(name)}: ${flowText(each)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

function quoted(text: string, quotes: Quotes): string {
  // Between single quotes, a line can't be broken and no character escaped.
  if (quotes === 'double' || /[^\P{C}]|[\u2028\u2029]/u.test(text)) return JSON.stringify(text)
  const isPlain = /^[\w/][\w./*+-]*$/.test(text) && parse(text) === text
  return isPlain && quotes === 'none' ? text : `'${text.replaceAll("'", "''")}'`
}
