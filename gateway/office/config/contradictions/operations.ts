import { limitNames } from '../../../../shared/windows.ts'
import type { Path } from '../mistake.ts'
import { list, mistake, section, text, type Remark, type Section } from './remarks.ts'

/** The most operations of a plan. */
const mostOperations = 4

/** Operations of plans that would count nothing, or never. */
export function* operationRemarks(file: Section): Generator<Remark> {
  for (const [plan, settings] of Object.entries(section(file['plans']))) {
    const setting = ['plans', plan, 'operations'] as const
    const operations = Object.entries(section(section(settings)['operations']))
    if (operations.length > mostOperations) {
      yield mistake(setting, `must be at most ${mostOperations}, got ${operations.length}`)
    }
    for (const [i, [name, value]] of operations.entries()) {
      const [at, operation] = [[...setting, name], section(value)]
      yield* emptyRemarks(at, operation)
      const first = operations.slice(0, i).find(([, other]) => covers(section(other), operation))
      if (first)
        yield mistake(
          at,
          `never counts: ${first[0]}, which comes before it, takes all of its requests`,
        )
    }
  }
}

function* emptyRemarks(at: Path, operation: Section): Generator<Remark> {
  if (operation['methods'] === undefined && operation['paths'] === undefined) {
    yield mistake(at, 'needs methods or paths: without any, it would count what the plan counts')
  }
  const limits = limitNames.map((name) => operation[name])
  if (limits.every((limit) => limit === undefined || limit === 'unlimited')) {
    yield mistake(at, `needs a limit: one of ${limitNames.join(', ')}`)
  }
}

/** Whether an operation takes all requests of another one. */
function covers(one: Section, other: Section): boolean {
  return (
    coversMethods(one['methods'], other['methods']) && coversPaths(one['paths'], other['paths'])
  )
}

function coversMethods(one: unknown, other: unknown): boolean {
  if (one === undefined) return true
  const methods = list(one)
  const isTaken = (method: unknown): boolean =>
    methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
  return other !== undefined && list(other).every(isTaken)
}

function coversPaths(one: unknown, other: unknown): boolean {
  if (one === undefined) return true
  if (other === undefined) return false
  const patterns = list(one).flatMap((path) => text(path) ?? [])
  return list(other).every((path) => {
    const written = text(path)
    return written !== undefined && patterns.some((pattern) => coversPath(pattern, written))
  })
}

/** Whether a pattern matches all that another one does. */
function coversPath(pattern: string, other: string): boolean {
  const [parts, others] = [pattern.split('/'), other.split('/')]
  for (const [i, part] of parts.entries()) {
    const each = others[i]
    if (each === undefined) return false
    if (part === '*') return true
    if (each === '*' || (!part.startsWith('{') && part !== each)) return false
  }
  return parts.length === others.length
}
