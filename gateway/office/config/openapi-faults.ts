import { targetOf } from '../../front/http/page/sections.ts'
import { nearest } from '../../../shared/near.ts'
import { nameOf } from './check.ts'
import type { Path } from './mistake.ts'

/** A mistake in an OpenAPI document. */
export type Fault = Readonly<{ path: Path; sentence: string }>

type Section = Readonly<Record<string, unknown>>

/** The methods of a path that OpenAPI knows, and the member that holds all others. */
const methods = 'get put post delete options head patch trace query'.split(' ')
const others = 'additionalOperations'
const aboutPaths = ['$ref', 'summary', 'description', 'servers', 'parameters']
const itemMembers = [...methods, others, ...aboutPaths]

/** The places of parameters. */
const places = ['path', 'query', 'querystring', 'header', 'cookie']

/** The mistakes that keep a document from being shown: a page that leaves half of it out would be worse than none. */
export function openapiFaults(value: unknown): Fault[] {
  const document = sectionOf(value)
  if (!document) return [{ path: [], sentence: 'the document must be an object' }]
  return [...headFaults(document), ...pathFaults(document), ...referenceFaults(document, value, [])]
}

function* headFaults({ openapi, info, paths, webhooks, components }: Section): Generator<Fault> {
  if (typeof openapi !== 'string' || !/^3\.[0-2](?!\d)/.test(openapi)) {
    const got = openapi === undefined ? 'nothing' : JSON.stringify(openapi)
    yield fault(['openapi'], `must be a version from 3.0 to 3.2, such as 3.1.0, got ${got}`)
  }
  if (typeof sectionOf(info)?.['title'] !== 'string') {
    yield { path: ['info'], sentence: 'info.title must be a text' }
  }
  if (paths !== undefined || webhooks === undefined) {
    yield* sectionAt(['paths'], paths, 'an object of paths')
  }
  if (components !== undefined) yield* sectionAt(['components'], components, 'an object')
}

function* pathFaults({ paths }: Section): Generator<Fault> {
  for (const [path, item] of Object.entries(sectionOf(paths) ?? {})) {
    if (path.startsWith('x-')) continue
    const at = ['paths', path]
    if (!path.startsWith('/')) yield fault(at, 'must begin with /')
    yield* itemFaults(at, yield* sectionAt(at, item, 'an object of operations'))
  }
}

function* itemFaults(at: Path, members: Section): Generator<Fault> {
  yield* parameterFaults([...at, 'parameters'], members['parameters'])
  for (const [name, member] of Object.entries(members)) {
    const path = [...at, name]
    if (methods.includes(name)) yield* operationFaults(path, member)
    else if (name === others) yield* otherOperationFaults(path, member)
    else if (!itemMembers.includes(name) && !name.startsWith('x-')) {
      const near = nearest(name.toLowerCase(), itemMembers)
      const hint = near ? `did you mean ${near}?` : `methods of your own belong into ${others}`
      yield fault(path, `isn’t a member of a path in OpenAPI: ${hint}`)
    }
  }
}

/** The operations of methods that have no member of their own, as they are sent. */
function* otherOperationFaults(at: Path, value: unknown): Generator<Fault> {
  const operations = yield* sectionAt(at, value, 'an object of operations')
  for (const [method, operation] of Object.entries(operations)) {
    const path = [...at, method]
    const own = method.toLowerCase()
    if (methods.includes(own)) yield fault(path, `must be ${own}, a member of the path itself`)
    else if (!/^[\w!#$%&'*+.^`|~-]+$/.test(method))
      yield fault(path, 'must be a method such as PURGE')
    else yield* operationFaults(path, operation)
  }
}

function* operationFaults(at: Path, value: unknown): Generator<Fault> {
  const { parameters, responses = {} } = yield* sectionAt(at, value, 'an operation')
  yield* parameterFaults([...at, 'parameters'], parameters)
  const path = [...at, 'responses']
  const byStatus = yield* sectionAt(path, responses, 'an object of statuses')
  for (const [status, response] of Object.entries(byStatus)) {
    yield* sectionAt([...path, status], response, 'an object')
  }
}

function* parameterFaults(at: Path, value: unknown = []): Generator<Fault> {
  if (!Array.isArray(value)) {
    yield fault(at, 'must be a list')
    return
  }
  for (const [i, parameter] of value.entries()) {
    const { $ref, name, in: place } = sectionOf(parameter) ?? {}
    const path = [...at, i]
    if (typeof $ref === 'string') continue
    if (typeof name !== 'string' || typeof place !== 'string') {
      yield fault(path, 'must be a parameter with name and in, or a $ref')
    } else if (!places.includes(place)) {
      yield fault([...path, 'in'], `must be ${places.join(', ')}, got ${JSON.stringify(place)}`)
    }
  }
}

function fault(path: Path, sentence: string): Fault {
  return { path, sentence: `${nameOf(path)} ${sentence}` }
}

/** A section of a document; an empty one in place of something else, which is a mistake. */
function* sectionAt(at: Path, value: unknown, expected: string): Generator<Fault, Section> {
  const section = sectionOf(value)
  if (!section) yield fault(at, `must be ${expected}`)
  return section ?? {}
}

function sectionOf(value: unknown): Section | undefined {
  const isSection = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isSection ? (value as Section) : undefined
}

/** Members whose content is free: a `$ref` in them is a value like any other. */
const free = new Set(['example', 'examples', 'default', 'enum', 'const', 'value'])

/**
 * References that lead nowhere. Only those within the document are followed: a page loads nothing else. A part for which
 * YAML's aliases stand is looked at once.
 */
function* referenceFaults(
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
    if (!$ref.startsWith('#/')) yield fault(at, `must lead within this document, got "${$ref}"`)
    else if (targetOf(document, $ref) === undefined) yield fault(at, `leads nowhere: "${$ref}"`)
  }
  for (const [name, member] of Object.entries(value)) {
    if (free.has(name) || name.startsWith('x-')) continue
    const step = Array.isArray(value) ? Number(name) : name
    yield* referenceFaults(document, member, [...path, step], seen)
  }
}
