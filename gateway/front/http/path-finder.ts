import { shapeOf } from './paths.ts'

/** Anything that has a path of the configuration. */
type Placed = Readonly<{ path: string }>

/** Puts together what has the same path, whatever the names of its parameters. */
export function byShape<Item extends Placed>(items: readonly Item[]): Item[][] {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const shape = shapeOf(item.path)
    const group = groups.get(shape)
    if (group) group.push(item)
    else groups.set(shape, [item])
  }
  return [...groups.values()]
}

/** The paths that begin with the same segments. */
class Branch<Item> {
  readonly byName = new Map<string, Branch<Item>>()
  parameter: Branch<Item> | undefined = undefined
  /** The item of the path that ends here. */
  item: Item | undefined = undefined
  /** The item of the path that ends here with a `*`. */
  rest: Item | undefined = undefined

  /** The branch of a segment; it begins with this one if there was none. */
  below(segment: string): Branch<Item> {
    if (segment.startsWith('{')) return (this.parameter ??= new Branch())
    const present = this.byName.get(segment)
    if (present) return present
    const branch = new Branch<Item>()
    this.byName.set(segment, branch)
    return branch
  }

  /** The item of the rest of a path, from a place behind a slash. The segment that is more exact goes first. */
  find(path: string, from: number): Item | undefined {
    if (from > path.length) return this.item
    const slash = path.indexOf('/', from)
    const end = slash < 0 ? path.length : slash
    const name = path.slice(from, end)
    const item = this.byName.get(name)?.find(path, end + 1)
    if (item !== undefined) return item
    // As in Fastify's router, a parameter at the end may be empty.
    const mayBe = name !== '' || slash < 0
    return (mayBe ? this.parameter?.find(path, end + 1) : undefined) ?? this.rest
  }
}

/** Finds the item whose path fits a reading of a path best. Each path has one item. */
export function pathFinder<Item extends Placed>(
  items: readonly Item[],
): (reading: string) => Item | undefined {
  const root = new Branch<Item>()
  for (const item of items) {
    const segments = item.path.split('/').slice(1)
    const hasRest = segments.at(-1) === '*'
    const named = hasRest ? segments.slice(0, -1) : segments
    const branch = named.reduce((branch, segment) => branch.below(segment), root)
    if (hasRest) branch.rest = item
    else branch.item = item
  }
  return (reading) => (reading.startsWith('/') ? root.find(reading, 1) : undefined)
}
