import { windows, type Window } from '../../../shared/windows.ts'
import { numberOf, type Counters } from '../../../gateway/front/limits/counters.ts'
import { limitOf, type Limits } from '../../../gateway/front/limits/limits.ts'
import type { Part } from '../../../gateway/front/limits/parts.ts'
import type { Ask } from '../../../gateway/front/limits/step.ts'
import type { Entry } from '../books/count.ts'
import { includedBy, roomOf } from '../books/purse-book.ts'
import type { QuotaBook } from '../books/quota-book.ts'

/** A limited window of a quota or a part by the books, with what it lets in. */
export type Bounded = Readonly<{ name: string; entry: Entry; limit: number }>

/** The windows that limit a request, as counters number them. */
export function boundedWindows(
  book: QuotaBook,
  limits: Limits,
  counters: Counters,
  parts: readonly Readonly<{ part: Part; counters: Counters }>[] = [],
  { prepaid, included }: Pick<Ask, 'prepaid' | 'included'> = {},
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
  const bought = prepaid ? [prepaidWindow(book, prepaid, included, counters)] : []
  return [...ofQuota, ...ofParts, ...bought].filter(({ limit }) => limit !== Infinity)
}

/** A prepaid window lets in what is left of the included points, and of those that were bought. */
function prepaidWindow(
  book: QuotaBook,
  window: Window,
  included: Limits | undefined,
  counters: Counters,
): Bounded {
  const number = numberOf(counters, window)
  const room = roomOf(book, window, number, includedBy(book, included, window, number))
  const { left } = book.purse
  return {
    name: `prepaid ${window.name}`,
    // The store may have more of what is left, as if it had fewer that were used.
    entry: { used: 0, fewer: room.more + left.more, more: room.fewer + left.fewer },
    limit: room.used + Math.max(0, left.used),
  }
}

/** How a window stands, for people. */
export function told(needed: number, { name, entry, limit }: Bounded): string {
  return `${needed} beside ${entry.used} of ${limit} in ${name}`
}
