import { isCollection, isMap, isScalar, isSeq, type LineCounter, type Node } from 'yaml'
import { entryOf } from '../../../shared/entry-of.ts'
import type { Path } from './mistake.ts'

type Tree = Readonly<{
  root: Node | null
  lines: LineCounter
  /** The node that an alias stands for; any other node is itself. */
  resolve: (node: Node | null) => Node | null
}>

/** A setting of a section, with its key, or an item of a list. */
type Member = Readonly<{ step: string | number; key?: Node; value: Node | null }>

/** The places of a file's settings. */
export class Places {
  readonly #tree: Tree
  /** The members of each section that was looked into: a search through 15,000 plans for each of them takes 10 s. */
  readonly #members = new Map<Node, ReadonlyMap<string | number, Member>>()

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
    for (let node = this.#tree.root; ;) {
      // They are in the order of the text.
      const member = membersIn(node).findLast((each) => startOf(each) <= offset)
      if (!member) return path
      path.push(member.step)
      node = member.value
    }
  }

  /** The offset of a setting; if it isn't written, that of the section around it. */
  offsetOf(path: Path): number {
    let offset = 0
    for (const { value } of this.#along(path)) offset = value?.range?.[0] ?? offset
    return offset
  }

  /** Whether a part of the file is missing, or contains one of these offsets. */
  hasOneIn(path: Path, offsets: readonly number[]): boolean {
    const [start, , end] = this.nodeAt(path)?.range ?? []
    if (start === undefined || end === undefined) return true
    return offsets.some((offset) => offset >= start && offset < end)
  }

  /** The node at a path, which may be an alias; `undefined` if none is there. */
  nodeAt(path: Path): Node | null | undefined {
    const members = [...this.#along(path)]
    return members.length < path.length ? undefined : members.at(-1)?.value
  }

  /** The members along a path, as far as they exist. */
  *#along(path: Path): Generator<Member> {
    let node = this.#tree.root
    for (const step of path) {
      const member = this.#membersOf(node)?.get(step)
      if (!member) return
      yield member
      node = this.#tree.resolve(member.value)
    }
  }

  #membersOf(node: Node | null): ReadonlyMap<string | number, Member> | undefined {
    if (!isCollection(node)) return undefined
    // Of two with one name, the first counts.
    const members = () => membersIn(node).reverse()
    return entryOf(this.#members, node, () => new Map(members().map((each) => [each.step, each])))
  }
}

/** The members of a section or a list, in the order of the text. */
function membersIn(node: Node | null): Member[] {
  if (isSeq<Node>(node)) return node.items.map((value, step) => ({ step, value }))
  if (!isMap<Node, Node | null>(node)) return []
  return node.items.flatMap(({ key, value }) =>
    isScalar(key) ? { step: String(key.value), key, value } : [],
  )
}

function startOf({ key, value }: Member): number {
  return (key ?? value)?.range?.[0] ?? 0
}
