import { costText } from '../../http/page/format.ts'
import type { Terms } from '../terms.ts'

/** Points, with the most if the answer tells the cost, and the scopes that each method needs. */
export type Cost = Pick<Terms['routes'][number], 'cost' | 'atMost' | 'scopes'>

export type Deprecation = Terms['deprecations'][number]

/** What a request costs, as its route has it; `undefined` for a path without one, which the gateway answers itself. */
export function costOf(terms: Terms, method: string, path: string): Cost | undefined {
  const { quotaPath, usagePath, rotatePath, ticketPath } = terms
  if ([quotaPath, usagePath, rotatePath, ticketPath].includes(path)) return { cost: 0 }
  const fitting = terms.routes.filter(
    (route) => route.methods.includes(method) && isBelow(route.path, path),
  )
  return [...fitting].sort((one, other) => rank(other.path) - rank(one.path))[0]
}

/** The same in words. */
export function costIn({ cost, atMost }: Cost): string {
  return costText(cost, atMost === undefined ? undefined : { atMost })
}

/** The deprecation of an operation; HEAD goes with GET. */
export function deprecationOf(terms: Terms, method: string, path: string): Deprecation | undefined {
  const listed = method === 'HEAD' ? 'GET' : method
  return terms.deprecations.find(({ operation }) => {
    const [operationMethod = '', pattern = ''] = operation.split(' ')
    return operationMethod === listed && isBelow(pattern, path)
  })
}

/** Whether a path of the document fits a pattern of the configuration, segment by segment; names don't matter. */
function isBelow(pattern: string, path: string): boolean {
  const [wanted, segments] = [pattern.split('/'), path.split('/')]
  if (wanted.at(-1) === '*') {
    const fixed = wanted.slice(0, -1)
    return segments.length >= wanted.length && fixed.every((part, i) => fits(part, segments[i]))
  }
  return wanted.length === segments.length && wanted.every((part, i) => fits(part, segments[i]))
}

function fits(part: string, segment: string | undefined): boolean {
  return part.startsWith('{') || part === segment
}

/** An exact path before one with names, and that before everything below. */
function rank(path: string): number {
  return path.split('/').reduce((sum, part) => {
    return sum * 3 + (part === '*' ? 0 : part.startsWith('{') ? 1 : 2)
  }, 0)
}
