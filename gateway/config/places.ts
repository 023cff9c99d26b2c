import { isMap, isScalar, isSeq, type LineCounter, type Node } from 'yaml'
import type { Mistake, Path } from './mistake.ts'

type Tree = Readonly<{
  root: Node | null
  lines: LineCounter
  /** The node that an alias stands for; any other node is itself. */
  resolve: (node: Node | null) => Node | null
}>

/** The places of a file's settings. */
export class Places {
  readonly #tree: Tree

  constructor(tree: Tree) {
    this.#tree = tree
  }

  /** The line and column of an offset, from 1. */
  position(offset: number): string {
    const { line, col } = this.#tree.lines.linePos(offset)
    return `${line}:${col}`
  }

  /** The offset of a setting; if it isn't written, that of the section around it. */
  offsetOf(path: Path): number {
    let offset = 0
    for (const node of this.#along(path)) offset = node?.range?.[0] ?? offset
    return offset
  }

  /**
   * The line of a setting, from 1: that of its name, or of the short form in which it is written, such as `custom` for a
   * plan. `undefined` for a setting that isn't written.
   */
  lineOf(path: Path): number | undefined {
    const { root, lines, resolve } = this.#tree
    let node = root
    let offset: number | undefined
    for (const step of path) {
      if (isScalar(node) && offset !== undefined) break
      const { name, value } = member(node, step)
      const place = name ?? value
      if (!place?.range) return undefined
      offset = place.range[0]
      node = resolve(value ?? null)
    }
    return offset === undefined ? undefined : lines.linePos(offset).line
  }

  /** Whether a part of the file is missing, or contains one of these mistakes. */
  hasOneIn(path: Path, mistakes: readonly Mistake[]): boolean {
    const [start, , end] = this.nodeAt(path)?.range ?? []
    if (start === undefined || end === undefined) return true
    return mistakes.some(({ offset }) => offset >= start && offset < end)
  }

  /** The node at a path, which may be an alias; `undefined` if none is there. */
  nodeAt(path: Path): Node | null | undefined {
    const nodes = [...this.#along(path)]
    return nodes.length < path.length ? undefined : nodes.at(-1)
  }

  /** The nodes along a path, as far as they exist. */
  *#along(path: Path): Generator<Node | null> {
    let node = this.#tree.root
    for (const step of path) {
      const { value } = member(node, step)
      if (value === undefined) return
      yield value
      node = this.#tree.resolve(value)
    }
  }
}

/** A setting of a section, or an item of a list. */
type Member = Readonly<{ name?: Node; value?: Node | null | undefined }>

function member(node: Node | null, step: string | number): Member {
  if (isSeq<Node>(node) && typeof step === 'number') return { value: node.items[step] }
  if (!isMap<Node, Node | null>(node)) return {}
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
  return pair ? { name: pair.key, value: pair.value } : {}
}
