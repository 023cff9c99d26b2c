import { targetOf } from '../../front/http/page/sections.ts'
import { nameOf } from './check.ts'
import type { Path } from './mistake.ts'

/** A mistake in an OpenAPI document. */
export type Fault = Readonly<{ path: Path; sentence: string }>

/** Members whose content is free: a `$ref` in them is a value like any other. */
const free = new Set(['example', 'examples', 'default', 'enum', 'const', 'value'])

/**
 * References that lead nowhere. Only those within the document are followed: a page loads nothing else. A part for which
 * YAML's aliases stand is looked at once.
 */
export function* referenceFaults(
  document: object,
  value: unknown,
  path: Path,
  seen = new Set<object>(),
): Generator<Fault> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  seen.add(value)
  const { $ref } = value as { $ref?: unknown }
  if (typeof $ref === 'string') {
    const at = [...path, '$ref']
    if (!$ref.startsWith('#/')) {
      yield { path: at, sentence: `${nameOf(at)} must lead within this document, got "${$ref}"` }
    } else if (targetOf(document, $ref) === undefined) {
      yield { path: at, sentence: `${nameOf(at)} leads nowhere: "${$ref}"` }
    }
  }
  for (const [name, member] of Object.entries(value)) {
    if (free.has(name) || name.startsWith('x-')) continue
    const step = Array.isArray(value) ? Number(name) : name
    yield* referenceFaults(document, member, [...path, step], seen)
  }
}
