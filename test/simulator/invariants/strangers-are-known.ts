import { shortest } from '../../../shared/windows.ts'
import { numberOf } from '../../../gateway/front/limits/counters.ts'
import { usedHere } from '../../../gateway/front/limits/step.ts'
import type { Invariant } from '../moment.ts'

/** A gateway counts for an address at least what the store has told it of all gateways. */
export const strangersAreKnown: Invariant = {
  name: 'a gateway knows the strangers of others',
  mistakeAt(moment) {
    if (moment.what !== 'learnt') return undefined
    const { gateway, points, sums } = moment
    for (const [i, { address, number }] of points.entries()) {
      const decision = gateway.strangers.standing(address).decision
      const used = usedHere(decision, shortest)
      const sum = sums[i] ?? 0
      if (numberOf(decision.seen, shortest) === number && used < sum) {
        return `${used} points of ${address}, and the store said ${sum}`
      }
    }
    return undefined
  },
}
