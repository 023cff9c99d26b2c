import { numberAt, shortest } from '../../../shared/windows.ts'
import type { Invariant } from '../moment.ts'

/** In the end the store has heard of all that strangers sent in the minute that runs; twice, where an answer was lost. */
export const strangersAreTold: Invariant = {
  name: 'the store hears of all strangers',
  mistakeAt(moment) {
    if (moment.what !== 'quiet') return undefined
    const { gateways, timeline } = moment.world
    const minute = numberAt(shortest, timeline.nowMs)
    for (const { name, strangerBook } of gateways) {
      const { points, isSure } = strangerBook.untoldOf(minute)
      if (points > 0) return `${name} has told ${points} points too few`
      if (points < 0 && isSure) return `${name} has told ${-points} points too many`
    }
    return undefined
  },
}
