import { steadyWindows } from '../../../shared/windows.ts'
import { countedIn, newCounters } from '../../../gateway/front/limits/counters.ts'
import { newPurse } from '../../../gateway/front/limits/purse.ts'
import type { Invariant } from '../moment.ts'

/** A gateway asks with the largest counters and totals that it was answered, brief windows apart, so that a store gets back what it has lost. */
export const tellsWhatItKnows: Invariant = {
  name: 'a gateway tells what it knows',
  mistakeAt(moment) {
    if (moment.what !== 'asked') return undefined
    const { gateway, quota, ask } = moment
    const seen = ask.seen ?? newCounters()
    if (gateway.book.knowsLater(quota, seen)) return 'it knows of a later generation'
    const { bought, spent } = gateway.book.purseOf(quota)
    const purse = ask.seen?.purse ?? newPurse()
    if (purse.bought < bought || purse.spent < spent) return 'it knows of a fuller purse'
    for (const window of steadyWindows) {
      const known = gateway.book.knownOf(quota, seen, window)
      const counted = countedIn(seen, window)
      if (counted < known) return `${counted} in ${window.name}, and it was answered ${known}`
    }
    return undefined
  },
}
