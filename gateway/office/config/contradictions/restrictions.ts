import type { Path } from '../mistake.ts'
import { pathPattern } from '../settings/values.ts'
import { methodRemarks, pathFault, planSections, type KnownEntry } from './entries.ts'
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

const paths = new RegExp(pathPattern)

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
    const written = text(path)
    if (written === undefined || !paths.test(written)) continue
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
