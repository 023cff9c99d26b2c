import type { AtOnce, Limit, LimitsByName, PageWindow } from '../../../front/http/page/windows.ts'

/** A limit as a field has it, such as `1000..300%` or `20, linger 2s`; empty without one. */
export function writtenLimit(limit: Limit | AtOnce | undefined): string {
  if (typeof limit !== 'object' || limit === null) return String(limit ?? '')
  if ('beyond' in limit) {
    return `${limit.limit}..${limit.beyond === 'prepaid' ? limit.beyond : limit.upTo}`
  }
  return limit.linger === undefined ? String(limit.limit) : `${limit.limit}, linger ${limit.linger}`
}

/** The limit of a window that a field says; `undefined` if it says none. */
export function limitFrom(text: string): NonNullable<Limit> | undefined {
  const [points = '', upTo] = text.split('..')
  if (text === 'unlimited') return text
  if (!/^\d{1,15}$/.test(points)) return undefined
  const limit = Number(points)
  if (upTo === undefined) return limit
  return upTo === 'prepaid' ? { limit, beyond: upTo } : { limit, beyond: 'meter', upTo }
}

/** The number of requests at once that a field says; `undefined` if it says none. */
export function atOnceFrom(text: string): AtOnce | undefined {
  const [, places, linger] = /^(\d{1,15}), *linger +(\w+)$/.exec(text) ?? []
  if (linger !== undefined) return { limit: Number(places), linger }
  return text.includes('..') ? undefined : limitFrom(text)
}

/** The points of a limit that are included: all of it, where nothing is metered. */
export function includedIn(limits: LimitsByName, { limit }: PageWindow): number | undefined {
  const value = limits[limit] ?? undefined
  const points = typeof value === 'object' ? value.limit : value
  return points === 'unlimited' ? undefined : points
}
