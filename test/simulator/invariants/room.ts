import { windows } from '../../../shared/windows.ts'
import { numberOf, type Counters } from '../../../gateway/front/limits/counters.ts'
import { limitOf, type Limits } from '../../../gateway/front/limits/limits.ts'
import type { Part } from '../../../gateway/front/limits/parts.ts'
import type { Entry } from '../books/count.ts'
import type { QuotaBook } from '../books/quota-book.ts'

/** A limited window of a quota or a part by the books, with what it lets in. */
export type Bounded = Readonly<{ name: string; entry: Entry; limit: number }>

/** The windows that limit a request, as counters number them. */
export function boundedWindows(
  book: QuotaBook,
  limits: Limits,
  counters: Counters,
  parts: readonly Readonly<{ part: Part; counters: Counters }>[] = [],
): Bounded[] {
  const ofQuota = windows.map((window) => {
    const number = numberOf(counters, window)
    const limit = limitOf(limits, window) + book.grants.in(window, number, book.monthFrom)
    return { name: window.name, entry: book.whole.at(window, number), limit }
  })
  const ofParts = parts.flatMap(({ part, counters: own }) =>
    windows.map((window) => {
      const entry = book.part(part.name).at(window, numberOf(own, window))
      return { name: `${part.name} ${window.name}`, entry, limit: limitOf(part.limits, window) }
    }),
  )
  return [...ofQuota, ...ofParts].filter(({ limit }) => limit !== Infinity)
}

/** How a window stands, for people. */
export function told(needed: number, { name, entry, limit }: Bounded): string {
  return `${needed} beside ${entry.used} of ${limit} in ${name}`
}
