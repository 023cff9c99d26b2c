import { isMap, isScalar, isSeq, type Node } from 'yaml'
import { nameOf } from './check.ts'
import type { ConfigDocument } from './document.ts'
import type { Mistake, Path } from './mistake.ts'
import { isMasked } from './mask.ts'

/** Values in a file that were copied from masked output: each has lost its secret. */
export function maskedIn(document: ConfigDocument): Iterable<Mistake> {
  return masked(document.root, [])
}

function* masked(node: Node | null, path: Path): Generator<Mistake> {
  if (isMap<Node, Node | null>(node)) {
    for (const { key, value } of node.items) {
      if (isScalar(key)) yield* masked(value, [...path, String(key.value)])
    }
  } else if (isSeq<Node>(node)) {
    for (const [i, item] of node.items.entries()) yield* masked(item, [...path, i])
  } else if (isScalar(node) && typeof node.value === 'string') {
    if (!isMasked(path, node.value)) return
    const sentence = () =>
      `${nameOf(path)} has … in place of a secret, as config show prints it: write the secret, or \${NAME}`
    yield { offset: node.range?.[0] ?? 0, path, sentence }
  }
}
