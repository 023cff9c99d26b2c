import type { Invariant } from '../moment.ts'

/** When everything works again, the store has heard of all that gateways let in without it, and of all costs: once. */
export const toldInTheEnd: Invariant = {
  name: 'in the end the store has heard all, once',
  mistakeAt(moment) {
    if (moment.what !== 'quiet') return undefined
    for (const { name, untold, quotas } of moment.world.gateways) {
      if (!quotas.isReachable) return `${name} still takes the store for out of reach`
      const { difference } = untold
      if (difference) return `${name}: ${difference}`
    }
    return undefined
  },
}
