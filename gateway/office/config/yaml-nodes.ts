import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  visit,
  YAMLParseError,
  type Alias,
  type Document,
  type Node,
} from 'yaml'

/** The most values that all aliases of a document may stand for. */
const mostUnfolded = 200_000

/**
 * Ties each alias to the node that it stands for, and gives a mistake for each name that is twice in its section, and for
 * an alias inside of its own node. The library looks through the whole document for each alias, and through the section for each name: 64 KB took 5 s.
 */
export function tieUp(document: Document): YAMLParseError[] {
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
      if (node && above.includes(node)) mistakes.push(endless(alias))
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

function endless({ source, range }: Alias): YAMLParseError {
  const [start = 0, end = start] = range ?? []
  const sentence = `*${source} is inside of what it stands for, which would never end: write its value out`
  return new YAMLParseError([start, end], 'RESOURCE_EXHAUSTION', sentence)
}

function* twiceIn(keys: readonly (Node | null)[]): Generator<YAMLParseError> {
  const names = new Set<unknown>()
  for (const key of keys) {
    if (!isScalar(key)) continue
    const [start = 0, end = start] = key.range ?? []
    if (names.has(key.value)) {
      yield new YAMLParseError([start, end], 'DUPLICATE_KEY', 'Map keys must be unique')
    }
    names.add(key.value)
  }
}
