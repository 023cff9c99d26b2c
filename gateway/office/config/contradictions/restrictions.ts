import { limitSettings } from '../../../front/limits/limit-settings.ts'
import type { Path } from '../mistake.ts'
import { methodRemarks, pathFault, planSections, type PlanSection } from './entries.ts'
import { mistake, warning, type Checked, type Remark } from './remarks.ts'

/** The methods and paths that plans and their operations include. A path that no route covers is only a warning: it opens nothing. */
export function* restrictionRemarks(checked: Checked): Generator<Remark> {
  const { file, quote } = checked
  const routed = coveredPaths(checked)
  for (const [setting, { methods, paths = [] }] of planSections(file)) {
    yield* methodRemarks([...setting, 'methods'], methods, quote)
    for (const [i, path] of paths.entries()) {
      if (path === undefined) continue
      const at = [...setting, 'paths', i]
      const fault = pathFault(path, () => quote(at))
      if (fault !== undefined) yield mistake(at, fault)
      else if (routed && !routed.some((each) => canMeet(each, path))) {
        yield warning(at, `is covered by no route: ${quote(at)}`)
      }
    }
  }
}

/**
 * The paths that requests can have: those of the routes, and the quota path. `undefined` if one of them is unknown, as
 * in an app that has its own routes alone.
 */
function coveredPaths({ file, entries = [] }: Checked): readonly string[] | undefined {
  const routed = entries.map(({ path }) => path)
  const quota = typeof file.quota === 'object' ? file.quota.path : undefined
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
export function* operationRemarks({ file }: Checked): Generator<Remark> {
  for (const [plan, settings] of Object.entries(file.plans ?? {})) {
    const setting = ['plans', plan, 'operations'] as const
    const operations = Object.entries(settings?.operations ?? {})
    if (operations.length > mostOperations) {
      yield mistake(setting, `must be at most ${mostOperations}, got ${operations.length}`)
    }
    for (const [i, [name, operation = {}]] of operations.entries()) {
      const at = [...setting, name]
      yield* emptyRemarks(at, operation)
      const first = operations.slice(0, i).find(([, other = {}]) => covers(other, operation))
      if (first)
        yield mistake(
          at,
          `never counts: ${first[0]}, which comes before it, takes all of its requests`,
        )
    }
  }
}

function* emptyRemarks(at: Path, operation: PlanSection): Generator<Remark> {
  if (!('methods' in operation || 'paths' in operation)) {
    yield mistake(at, 'needs methods or paths: without any, it would count what the plan counts')
  }
  if (limitSettings.every((name) => !(name in operation) || operation[name] === 'unlimited')) {
    yield mistake(at, `needs a limit: one of ${limitSettings.join(', ')}`)
  }
}

/** Whether an operation takes all requests of another one. */
function covers(one: PlanSection, other: PlanSection): boolean {
  const { methods, paths } = one
  const coversMethods = other.methods?.every(
    (method) =>
      method !== undefined &&
      (methods?.includes(method) || (method === 'HEAD' && methods?.includes('GET'))),
  )
  const coversPaths = other.paths?.every((path) =>
    paths?.some((pattern = '') => path !== undefined && coversPath(pattern, path)),
  )
  return (
    (!('methods' in one) || coversMethods === true) && (!('paths' in one) || coversPaths === true)
  )
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
