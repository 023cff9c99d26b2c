import type { Path } from '../mistake.ts'
import { methodRemarks, pathFault, pathIn, planSections, type KnownEntry } from './entries.ts'
import {
  list,
  mistake,
  section,
  text,
  warning,
  type Quote,
  type Remark,
  type Section,
} from './remarks.ts'
import { limitSettings } from '../../../front/limits/limit-settings.ts'

/** The methods and paths that a plan includes. A path that no route covers is only a warning: it opens nothing. */
export function* restrictionRemarks(
  file: Section,
  quote: Quote,
  entries: readonly KnownEntry[] | undefined,
): Generator<Remark> {
  const routed = entries && coveredPaths(file, entries)
  for (const [at, requests] of planSections(file))
    yield* requestRemarks(at, requests, quote, routed)
}

/** The methods and paths of a plan, or of one of its operations. */
function* requestRemarks(
  setting: Path,
  requests: Section,
  quote: Quote,
  routed: readonly string[] | undefined,
): Generator<Remark> {
  yield* methodRemarks([...setting, 'methods'], list(requests['methods']), quote)
  for (const [i, path] of list(requests['paths']).entries()) {
    const written = pathIn(path)
    if (written === undefined) continue
    const at = [...setting, 'paths', i]
    const fault = pathFault(written, () => quote(at))
    if (fault !== undefined) yield mistake(at, fault)
    else if (routed && !routed.some((each) => canMeet(each, written))) {
      yield warning(at, `is covered by no route: ${quote(at)}`)
    }
  }
}

/**
 * The paths that requests can have: those of the routes, and the quota path. `undefined` if one of them is unknown, as
 * in an app that has its own routes alone.
 */
function coveredPaths(
  file: Section,
  entries: readonly KnownEntry[],
): readonly string[] | undefined {
  const routed = entries.map(({ path }) => path)
  const quota = text(section(file['quota'])['path'])
  if (routed.length === 0 || routed.includes('') || quota === undefined) return undefined
  return [...routed, quota]
}

/** Whether a path can match both patterns. */
function canMeet(one: string, other: string): boolean {
  const [first, second] = [one.split('/'), other.split('/')]
  for (let i = 0; i < Math.max(first.length, second.length); i++) {
    const [a, b] = [first[i], second[i]]
    if (a === undefined || b === undefined) return false
    if (a === '*' || b === '*') return true
    if (a !== b && !a.startsWith('{') && !b.startsWith('{')) return false
  }
  return true
}

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
  const limits = limitSettings.map((name) => operation[name])
  if (limits.every((limit) => limit === undefined || limit === 'unlimited')) {
    yield mistake(at, `needs a limit: one of ${limitSettings.join(', ')}`)
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
