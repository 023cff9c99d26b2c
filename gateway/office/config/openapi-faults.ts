import { nameOf } from './check.ts'
import type { Path } from './mistake.ts'

/** A mistake in an OpenAPI document. */
export type Fault = Readonly<{ path: Path; sentence: string }>

type Section = Readonly<Record<string, unknown>>

/** The methods of a path that OpenAPI knows. */
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** Members whose content is free: a `$ref` in them is a value like any other. */
const free = new Set(['example', 'examples', 'default', 'enum', 'const', 'value'])

/** The mistakes that keep a document from being shown: a page that leaves half of it out would be worse than none. */
export function openapiFaults(value: unknown): Fault[] {
  const document = sectionOf(value)
  if (!document) return [{ path: [], sentence: 'the document must be an object' }]
  return [...headFaults(document), ...pathFaults(document), ...referenceFaults(document, value, [])]
}

function* headFaults({ openapi, info, paths, webhooks, components }: Section): Generator<Fault> {
  if (typeof openapi !== 'string' || !/^3\.\d+(?:\.\d+)?/.test(openapi)) {
    const got = openapi === undefined ? 'nothing' : JSON.stringify(openapi)
    yield { path: ['openapi'], sentence: `openapi must be a version such as 3.1.0, got ${got}` }
  }
  if (typeof sectionOf(info)?.['title'] !== 'string') {
    yield { path: ['info'], sentence: 'info.title must be a text' }
  }
  if (!sectionOf(paths) && (paths !== undefined || webhooks === undefined)) {
    yield { path: ['paths'], sentence: 'paths must be an object of paths' }
  }
  if (components !== undefined && !sectionOf(components)) {
    yield { path: ['components'], sentence: 'components must be an object' }
  }
}

function* pathFaults({ paths }: Section): Generator<Fault> {
  for (const [path, item] of Object.entries(sectionOf(paths) ?? {})) {
    if (path.startsWith('x-')) continue
    const at = ['paths', path]
    if (!path.startsWith('/')) yield { path: at, sentence: `${nameOf(at)} must begin with /` }
    const members = sectionOf(item)
    if (!members) {
      yield { path: at, sentence: `${nameOf(at)} must be an object of operations` }
      continue
    }
    yield* parameterFaults([...at, 'parameters'], members['parameters'])
    for (const method of methods) {
      if (members[method] !== undefined) yield* operationFaults([...at, method], members[method])
    }
  }
}

function* operationFaults(at: Path, value: unknown): Generator<Fault> {
  const operation = sectionOf(value)
  if (!operation) {
    yield { path: at, sentence: `${nameOf(at)} must be an operation` }
    return
  }
  yield* parameterFaults([...at, 'parameters'], operation['parameters'])
  const { responses } = operation
  if (responses !== undefined && !sectionOf(responses)) {
    const path = [...at, 'responses']
    yield { path, sentence: `${nameOf(path)} must be an object of statuses` }
  }
  for (const [status, response] of Object.entries(sectionOf(responses) ?? {})) {
    const statusPath = [...at, 'responses', status]
    if (!sectionOf(response))
      yield { path: statusPath, sentence: `${nameOf(statusPath)} must be an object` }
  }
}

function* parameterFaults(at: Path, value: unknown): Generator<Fault> {
  if (value === undefined) return
  if (!Array.isArray(value)) {
    yield { path: at, sentence: `${nameOf(at)} must be a list` }
    return
  }
  for (const [i, parameter] of value.entries()) {
    const { $ref, name, in: place } = sectionOf(parameter) ?? {}
    if (typeof $ref === 'string' || (typeof name === 'string' && typeof place === 'string'))
      continue
    const path = [...at, i]
    yield { path, sentence: `${nameOf(path)} must be a parameter with name and in, or a $ref` }
  }
}

/**
 * References that lead nowhere. Only those within the document are followed: a page loads nothing else. A part for which
 * YAML's aliases stand is looked at once.
 */
function* referenceFaults(
  document: Section,
  value: unknown,
  path: Path,
  seen = new Set<object>(),
): Generator<Fault> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  seen.add(value)
  const { $ref } = value as Section
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

/** The part of the document that a reference leads to. */
function targetOf(document: Section, reference: string): unknown {
  const steps = reference.slice(2).split('/').map(stepOf)
  return steps.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step)
        ? Reflect.get(at, step)
        : undefined,
    document,
  )
}

function stepOf(text: string): string {
  const plain = text.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

function sectionOf(value: unknown): Section | undefined {
  const isSection = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isSection ? (value as Section) : undefined
}
