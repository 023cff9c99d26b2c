import { neededBy } from '../../../gateway/front/limits/step.ts'
import type { Invariant } from '../moment.ts'
import { boundedWindows } from './room.ts'

/** The store refuses nothing that has room in all windows, but as far as it has lost what came back. */
export const roomIsGiven: Invariant = {
  name: 'room is given',
  mistakeAt(moment) {
    if (moment.what !== 'decided') return undefined
    const { book, ask, decision } = moment
    if (decision.verdict !== 'refused' && !decision.bans) return undefined
    const all = boundedWindows(book, ask.limits, decision.seen, decision.parts, ask)
    const needed = neededBy(ask)
    const isFull = all.some(({ entry, limit }) => entry.used + entry.more + needed > limit)
    return isFull ? undefined : `${needed} were refused, and all windows had room`
  },
}
