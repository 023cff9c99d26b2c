import type { FastifyInstance } from 'fastify'
import { fixedPart, readingsOf, replacer } from './paths.ts'

/** The reading of paths by a router: patterns are held against what it takes a path for. */
export type Lenience = Readonly<{
  /** Whether readings, and so patterns, are in small letters. */
  ignoresCase: boolean
  /** All readings of a path that a server behind the router may have; the first one is the router's. */
  readingsOf: (path: string) => readonly [string, ...string[]]
}>

/** The router of the gateway's own process ignores no difference. */
export const strict: Lenience = { ignoresCase: false, readingsOf }

/** The lenience of the app that a scope belongs to, and the prefix of the scope itself. */
export function lenienceOf({ initialConfig, prefix }: FastifyInstance): Lenience {
  // Fastify shows these in one of two places, depending on where they were set.
  const settings = { ...initialConfig, ...initialConfig.routerOptions }
  const { caseSensitive = true, ignoreTrailingSlash, useSemicolonDelimiter } = settings
  const steps: ((path: string) => string)[] = []
  // As the router does: not by an expression, which knows of fewer letters.
  if (!caseSensitive) steps.push((path) => path.toLowerCase())
  if (ignoreTrailingSlash)
    steps.push((path) => (path.endsWith('/') && path !== '/' ? path.slice(0, -1) : path))
  const fixed = fixedPart(prefix)
  if (fixed !== '') steps.push(replacer(fixed, ''))
  const plain = (path: string): string => steps.reduce((rest, step) => step(rest), path)
  if (steps.length === 0 && !useSemicolonDelimiter) return strict
  return {
    ignoresCase: !caseSensitive,
    readingsOf(path) {
      const [asked = path] = useSemicolonDelimiter ? path.split(';', 1) : [path]
      const [first, ...others] = readingsOf(asked)
      return [plain(first), ...others.map(plain)]
    },
  }
}
