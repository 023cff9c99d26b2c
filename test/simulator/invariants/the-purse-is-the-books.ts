import { leftIn, newPurse, type Purse } from '../../../gateway/front/limits/purse.ts'
import { agrees } from '../books/count.ts'
import type { QuotaBook } from '../books/quota-book.ts'
import type { Invariant } from '../moment.ts'

/**
 * A purse has what operators added and what came back, less what operators and requests took. Once every gateway has asked,
 * the store has again what any of them has seen.
 */
export const purseIsTheBooks: Invariant = {
  name: 'the purse is the books',
  mistakeAt(moment) {
    if (moment.what === 'stored') return differenceOf(moment.book, moment.stored.state.purse)
    if (moment.what !== 'quiet') return undefined
    const { world } = moment
    for (const { quota } of world.customers) {
      const book = world.bookOf(quota)
      const purse = world.redis.quotas.get(quota)?.state.purse
      const difference = differenceOf(book, purse)
      if (difference) return `${quota}: ${difference}`
      if (purse) book.purse.takeOver(purse)
    }
    return undefined
  },
}

function differenceOf(book: QuotaBook, purse: Purse = newPurse()): string | undefined {
  const { left } = book.purse
  if (!agrees(left, leftIn(purse))) return `${leftIn(purse)} points are left, not ${left.used}`
  return book.purse.agreesWith(purse) ? undefined : 'its totals are others'
}
