import { decoded, pathExpression, shapeOf } from './paths.ts'

/**
 * Finds the entries of a path as a router does: of the patterns that fit, the one with the first segment that is more
 * exact. All entries of that pattern, whatever the names of its parameters; none if no pattern fits.
 */
export function entryFinder<Entry extends Readonly<{ path: string }>>(
  entries: readonly Entry[],
): (path: string) => readonly Entry[] {
  const byShape = new Map<string, Entry[]>()
  for (const entry of entries) {
    const shape = shapeOf(entry.path)
    const others = byShape.get(shape)
    if (others) others.push(entry)
    else byShape.set(shape, [entry])
  }
  const patterns = [...byShape].map(([shape, entries]) => ({
    expression: routerExpression(entries[0]?.path ?? shape),
    order: exactness(shape),
    entries,
  }))
  patterns.sort((a, b) => (a.order < b.order ? -1 : 1))
  return (path) => {
    const plain = decoded(path)
    return patterns.find(({ expression }) => expression.test(plain))?.entries ?? []
  }
}

/** A pattern as the router reads it: its last parameter may be empty. */
function routerExpression(path: string): RegExp {
  return new RegExp(pathExpression(path).source.replace(/\+\$$/, '*$'))
}

/** A text for the order of patterns: of each segment whether it is fixed, a parameter or the rest. */
function exactness(shape: string): string {
  return shape
    .split('/')
    .map((segment) => (segment === '*' ? 2 : segment === '{}' ? 1 : 0))
    .join('')
}
