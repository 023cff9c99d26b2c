import type { FastifyInstance } from 'fastify'

/** Differences between paths that an app's router ignores. */
export type Lenience = Readonly<{
  ignoresCase: boolean
  /** A path in the form of the configuration's patterns. */
  pathOf: (path: string) => string
}>

/** The router of the gateway's own process ignores no difference. */
export const strict: Lenience = { ignoresCase: false, pathOf: (path) => path }

/** The lenience of the app that a scope belongs to, and the prefix of the scope itself. */
export function lenienceOf({ initialConfig, prefix }: FastifyInstance): Lenience {
  // Fastify shows these in one of two places, depending on where they were set.
  const settings = { ...initialConfig, ...initialConfig.routerOptions }
  const { caseSensitive = true, ignoreTrailingSlash, useSemicolonDelimiter } = settings
  const steps: ((path: string) => string)[] = []
  if (useSemicolonDelimiter) steps.push((path) => path.split(';', 1)[0] ?? path)
  if (ignoreTrailingSlash) steps.push((path) => path.replace(/(?<=.)\/$/, ''))
  if (prefix !== '') steps.push((path) => path.slice(prefix.length))
  if (steps.length === 0) return caseSensitive ? strict : { ...strict, ignoresCase: true }
  return {
    ignoresCase: !caseSensitive,
    pathOf: (path) => steps.reduce((rest, step) => step(rest), path),
  }
}
