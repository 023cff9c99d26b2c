import { neededBy } from '../../../gateway/front/limits/step.ts'
import type { Invariant } from '../moment.ts'
import { boundedWindows, told } from './room.ts'

/** The store admits nothing above a limit, but as far as it has lost writes. */
export const atMostTheLimit: Invariant = {
  name: 'at most the limit',
  mistakeAt(moment) {
    if (moment.what !== 'decided') return undefined
    const { book, ask, decision } = moment
    const needed = neededBy(ask)
    if (decision.verdict !== 'admitted' || needed === 0) return undefined
    const all = boundedWindows(book, ask.limits, decision.seen, decision.parts, ask)
    const over = all.find(({ entry, limit }) => entry.used - entry.fewer + needed > limit)
    return over && `${told(needed, over)} were admitted`
  },
}
