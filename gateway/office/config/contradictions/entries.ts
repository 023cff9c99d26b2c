import { METHODS } from '../../../../shared/node/http.ts'
import { decoded, pathExpression, plainTarget } from '../../../front/http/paths.ts'
import { methodsOf } from '../../../front/http/methods.ts'
import { nearest } from '../../../../shared/near.ts'
import type { Path } from '../mistake.ts'
import type { CompleteFile, KnownFile } from '../defaults.ts'
import type { Known } from '../settings/setting.ts'
import { mistake, type KnownEntry, type Quote, type Remark } from './remarks.ts'

export function entriesIn({ routes = [] }: KnownFile): KnownEntry[] {
  const entries = routes.map((route = {}) => {
    const { path = '', methods, upstream } = route
    const names = methods?.filter((method) => method !== undefined)
    const isOpen = names?.length !== methods?.length
    return { path, methods: names ?? ('methods' in route ? [] : undefined), isOpen, upstream }
  })
  const methods = methodsOf(entries)
  return entries.map(({ methods: named, ...entry }, i) => {
    return { ...entry, hasMethods: named !== undefined, own: methods[i] ?? [] }
  })
}

/** The entries that may forward a request. An entry with an unknown path may forward any. */
export function leadsTo(
  entries: readonly KnownEntry[],
  method: string,
  path: string,
): readonly KnownEntry[] {
  return entries.filter(({ path: pattern, own, isOpen }) => {
    if (pattern === '') return true
    if (!isOpen && !own.includes(method)) return false
    // Most differ at their beginning already, and need no expression: it takes 7 µs.
    const [beginning = ''] = pattern.split(/[{*]/, 1)
    return path.startsWith(beginning) && pathExpression(pattern).test(path)
  })
}

/** Why no request can have a method; `undefined` if it can. `quoted` gives the text that messages quote. */
export function methodFault(method: string, quoted: () => string): string | undefined {
  if (method === 'CONNECT' || method === 'TRACE') {
    return `names a method that is never forwarded, got "${quoted()}"`
  }
  if (METHODS.includes(method)) return undefined
  const shown = quoted()
  // The value of a variable is never shown, so nothing made of it is.
  const near = shown.includes(method) ? nearest(method, METHODS) : undefined
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  return `names a method that Node.js doesn't know, got "${shown}"${hint}`
}

/** Each of a list of methods is one that is forwarded. */
export function* methodRemarks(
  setting: Path,
  methods: readonly (string | undefined)[] = [],
  quote: Quote,
): Generator<Remark> {
  for (const [i, method] of methods.entries()) {
    const path = [...setting, i]
    const fault = method === undefined ? undefined : methodFault(method, () => quote(path))
    if (fault !== undefined) yield mistake(path, fault)
  }
}

/** Why no request can have a path; `undefined` if it can. `quoted` gives the text that messages quote. */
export function pathFault(path: string, quoted: () => string): string | undefined {
  if (plainTarget(path) === undefined) {
    return `can be read in two ways, and is always refused, got "${quoted()}"`
  }
  // The path of a request is decoded before it is matched.
  const plain = decoded(path)
  if (plain === path) return undefined
  const shown = quoted()
  const hint = shown.includes(path) && !/\s/.test(plain) ? `; did you mean ${plain}?` : ''
  return `must be written without escapes, got "${shown}"${hint}`
}

/** The limits and requests of a plan, of one of its operations, or of strangers: a plan has all settings of the others. */
export type PlanSection = Known<CompleteFile['plans'][string]>

/** The plans of a file, each with its operations behind it. */
export function planSections({ plans = {} }: KnownFile): [Path, PlanSection][] {
  return Object.entries(plans).flatMap(([name, plan = {}]) => [
    [['plans', name], plan],
    ...Object.entries(plan.operations ?? {}).map(
      ([operation, limits = {}]): [Path, PlanSection] => [
        ['plans', name, 'operations', operation],
        limits,
      ],
    ),
  ])
}
