import { METHODS } from 'node:http'
import { decoded, pathExpression, plainTarget } from '../../http/paths.ts'
import { methodsOf } from '../methods.ts'
import { nearest } from '../near.ts'
import { list, section, text, type Section } from './saying.ts'

/** An entry of `routes` as far as it is known. */
export type KnownEntry = Readonly<{
  /** Empty if it isn't known. */
  path: string
  /** The methods that it names, as far as they are known. */
  methods?: readonly string[]
  /** The methods that it has. */
  own: readonly string[]
  /** Whether it names methods that aren't known. */
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

/** Which entries a request leads to; of one that isn't known, nobody can say that it doesn't lead there. */
export function leadsTo(
  entries: readonly KnownEntry[],
  method: string,
  path: string,
): readonly KnownEntry[] {
  return entries.filter(({ path: pattern, own, isOpen }) => {
    if (pattern === '') return true
    return (isOpen || own.includes(method)) && pathExpression(pattern).test(path)
  })
}

/** Why a method can't be asked with, if it can't; `told` is where it is written. */
export function methodFault(method: string, told: string): string | undefined {
  if (method === 'CONNECT' || method === 'TRACE') {
    return `names a method that is never forwarded, got "${told}"`
  }
  if (METHODS.includes(method)) return undefined
  // Of what the environment says, nothing is told that is made of it.
  const near = told.includes(method) ? nearest(method, METHODS) : undefined
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  return `names a method that Node.js doesn't know, got "${told}"${hint}`
}

/** Why a path can't be asked for, if it can't; `told` is where it is written. */
export function pathFault(path: string, told: string): string | undefined {
  if (plainTarget(path) === undefined) {
    return `can be read in two ways, and is always refused, got "${told}"`
  }
  // Escapes of a request are undone before its path is looked for.
  const plain = decoded(path)
  if (plain === path) return undefined
  const hint = told.includes(path) && !/\s/.test(plain) ? `; did you mean ${plain}?` : ''
  return `must be written without escapes, got "${told}"${hint}`
}
