import type { FastifyInstance } from 'fastify'

/** Differences between paths that the router of an app overlooks when it matches them. */
export type Lenience = Readonly<{
  ignoresCase: boolean
  /** A path as the configuration's patterns mean it. */
  pathOf: (path: string) => string
}>

/** The router of the gateway's own process overlooks nothing. */
export const strict: Lenience = { ignoresCase: false, pathOf: (path) => path }

/** The lenience of the app that a scope belongs to, and the prefix of the scope itself. */
export function lenienceOf({ initialConfig, prefix }: FastifyInstance): Lenience {
  // Fastify tells of these at either place, wherever they were set.
  const settings = { ...initialConfig, ...initialConfig.routerOptions }
  const { caseSensitive = true, ignoreTrailingSlash, useSemicolonDelimiter } = settings
  const overlooked: ((path: string) => string)[] = []
  if (useSemicolonDelimiter) overlooked.push((path) => path.split(';', 1)[0] ?? path)
  if (ignoreTrailingSlash) overlooked.push((path) => path.replace(/(?<=.)\/$/, ''))
  if (prefix !== '') overlooked.push((path) => path.slice(prefix.length))
  if (overlooked.length === 0) return caseSensitive ? strict : { ...strict, ignoresCase: true }
  return {
    ignoresCase: !caseSensitive,
    pathOf: (path) => overlooked.reduce((rest, overlook) => overlook(rest), path),
  }
}
