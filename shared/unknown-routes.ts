import type { FastifyInstance } from 'fastify'
import { Refusal } from './refusal.ts'
import { pathOf } from './service.ts'

/**
 * Answers 404 for an unknown path, and 405 with `Allow` for a known path with other methods. Must be called before any
 * route is added.
 */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const methodsByUrl = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsByUrl.get(url) ?? new Set()
    for (const name of [method].flat()) methods.add(name)
    methodsByUrl.set(url, methods)
  })
  app.setNotFoundHandler((request) => {
    const segments = pathOf(request).split('/')
    const fitting = [...methodsByUrl].filter(([url]) => matches(url.split('/'), segments))
    if (fitting.length > 0) {
      const methods = new Set(fitting.flatMap(([, names]) => [...names]))
      const allow = [...methods].sort().join(', ')
      throw new Refusal('method_not_allowed', `This path supports only ${allow}.`, { allow })
    }
    throw nothingThere()
  })
}

export function nothingThere(): Refusal {
  return new Refusal('not_found', 'There is nothing at this path.')
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => part.startsWith(':') || part === segments[index])
  )
}
