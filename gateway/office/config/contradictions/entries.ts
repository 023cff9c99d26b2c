import { METHODS } from '../../../../shared/node/http.ts'
import { decoded, pathExpression, plainTarget } from '../../../front/http/paths.ts'
import { methodsOf } from '../../../front/http/methods.ts'
import { nearest } from '../../../../shared/near.ts'
import type { Path } from '../mistake.ts'
import { pathPattern } from '../settings/values.ts'
import { list, mistake, section, text, type Quote, type Remark, type Section } from './remarks.ts'

/** The parts of an entry of `routes` that no variable decides. */
export type KnownEntry = Readonly<{
  /** Empty if it is unknown. */
  path: string
  /** The methods that it names, without unknown ones. */
  methods?: readonly string[]
  /** The methods that it forwards, named or left to it. */
  own: readonly string[]
  /** Whether it names unknown methods as well. */
  isOpen: boolean
  upstream: string | undefined
}>

export function entriesIn(file: Section): KnownEntry[] {
  const entries = list(file['routes']).map((route) => {
    const { path, methods, upstream } = section(route)
    const names = list(methods).flatMap((method) => text(method) ?? [])
    return {
      path: text(path) ?? '',
      ...(methods === undefined ? {} : { methods: names }),
      isOpen: names.length < list(methods).length,
      upstream: text(upstream),
    }
  })
  const methods = methodsOf(entries)
  return entries.map((entry, i) => ({ ...entry, own: methods[i] ?? [] }))
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
  methods: readonly unknown[],
  quote: Quote,
): Generator<Remark> {
  for (const [i, method] of methods.entries()) {
    const path = [...setting, i]
    const written = text(method)
    const isMethod = written !== undefined && /^[A-Z-]+$/.test(written)
    const fault = isMethod ? methodFault(written, () => quote(path)) : undefined
    if (fault !== undefined) yield mistake(path, fault)
  }
}

const paths = new RegExp(pathPattern)

/** A path that keeps the rule of its setting; `undefined` for what else a file says there, and what a variable decides. */
export function pathIn(value: unknown): string | undefined {
  const written = text(value)
  return written !== undefined && paths.test(written) ? written : undefined
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

/** The plans of a file, each with its operations behind it. */
export function planSections(file: Section): [Path, Section][] {
  return Object.entries(section(file['plans'])).flatMap(([name, plan]) => {
    const path = ['plans', name]
    const operations = Object.entries(section(section(plan)['operations']))
    return [
      [path, section(plan)] as [Path, Section],
      ...operations.map(([operation, limits]): [Path, Section] => [
        [...path, 'operations', operation],
        section(limits),
      ]),
    ]
  })
}
