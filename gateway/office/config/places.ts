import { isMap, isScalar, isSeq, type LineCounter, type Node, type YAMLMap } from 'yaml'
import type { Path } from './mistake.ts'

type Tree = Readonly<{
  root: Node | null
  lines: LineCounter
  /** The node that an alias stands for; any other node is itself. */
  resolve: (node: Node | null) => Node | null
}>

/** The places of a file's settings. */
export class Places {
  readonly #tree: Tree
  readonly #steps = new Map<Node | null, readonly Step[]>()
  /** The members of each section that was looked into: a search through 15,000 plans for each of them takes 10 s. */
  readonly #members = new Map<Section, ReadonlyMap<string, Member>>()

  constructor(tree: Tree) {
    this.#tree = tree
  }

  /** The line and column of an offset, from 1. */
  position(offset: number): Readonly<{ line: number; column: number }> {
    const { line, col: column } = this.#tree.lines.linePos(offset)
    return { line, column }
  }

  /** The path of the innermost setting around an offset. */
  pathAt(offset: number): Path {
    const path: (string | number)[] = []
    let node = this.#tree.root
    for (;;) {
      const [step, , value] = lastBefore(this.#stepsOf(node), offset) ?? []
      if (step === undefined) return path
      path.push(step)
      node = value ?? null
    }
  }

  /** Listed once: a text may have thousands of mistakes in one section. */
  #stepsOf(node: Node | null): readonly Step[] {
    const listed = this.#steps.get(node)
    if (listed) return listed
    const steps = stepsIn(node)
    this.#steps.set(node, steps)
    return steps
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
      const { key, value } = this.#member(node, step)
      const anchor = key ?? value
      if (!anchor?.range) return undefined
      offset = anchor.range[0]
      node = resolve(value ?? null)
    }
    return offset === undefined ? undefined : lines.linePos(offset).line
  }

  /** Whether a part of the file is missing, or contains one of these offsets. */
  hasOneIn(path: Path, offsets: readonly number[]): boolean {
    const [start, , end] = this.nodeAt(path)?.range ?? []
    if (start === undefined || end === undefined) return true
    return offsets.some((offset) => offset >= start && offset < end)
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
      const { value } = this.#member(node, step)
      if (value === undefined) return
      yield value
      node = this.#tree.resolve(value)
    }
  }

  #member(node: Node | null, step: string | number): Member {
    if (isSeq<Node>(node) && typeof step === 'number') return { value: node.items[step] }
    if (!isMap<Node, Node | null>(node)) return {}
    let members = this.#members.get(node)
    if (!members) this.#members.set(node, (members = membersOf(node)))
    return members.get(String(step)) ?? {}
  }
}

type Section = YAMLMap<Node, Node | null>

/** A setting of a section, or an item of a list. */
type Member = Readonly<{ key?: Node; value?: Node | null | undefined }>

/** A member of a section or a list, with the offset of its beginning. */
type Step = readonly [step: string | number, start: number, value: Node | null]

/** The last of the members, which are in the order of the text, that begins at an offset or before it. */
function lastBefore(steps: readonly Step[], offset: number): Step | undefined {
  let [low, high] = [0, steps.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((steps[middle]?.[1] ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return steps[low - 1]
}

/** The members of a section or a list, in the order of the text. */
function stepsIn(node: Node | null): Step[] {
  if (isSeq<Node>(node)) return node.items.map((item, i) => [i, item.range?.[0] ?? 0, item])
  if (!isMap<Node, Node | null>(node)) return []
  return node.items.flatMap(({ key, value }) =>
    isScalar(key) ? [[String(key.value), key.range?.[0] ?? 0, value]] : [],
  )
}

/** The members of a section by their names; of two with one name, the first. */
function membersOf({ items }: Section): Map<string, Member> {
  const members = new Map<string, Member>()
  for (const pair of items) {
    if (!isScalar(pair.key)) continue
    const name = String(pair.key.value)
    if (!members.has(name)) members.set(name, pair)
  }
  return members
}
