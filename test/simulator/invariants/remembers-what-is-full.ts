import { newCounters, roll } from '../../../gateway/front/limits/counters.ts'
import { neededBy } from '../../../gateway/front/limits/step.ts'
import type { Invariant } from '../moment.ts'
import { boundedWindows } from './room.ts'

/** How long a gateway may refuse without asking, and what its estimate of the store's time may be off. */
const rememberedMs = 1_000 + 300

/** What a gateway refuses by itself is full, or has had no room for up to a second. */
export const remembersWhatIsFull: Invariant = {
  name: 'only what is full is refused from memory',
  mistakeAt(moment) {
    if (moment.what !== 'served' || moment.decision.decidedBy !== 'memory') return undefined
    const { world, book, decision, request } = moment
    if (decision.verdict !== 'refused') return undefined
    const { nowMs } = world.redis
    if (nowMs - book.roomAtMs <= rememberedMs) return undefined
    const now = { ...newCounters(), monthFrom: book.monthFrom }
    roll(now, nowMs, true)
    const { limits, parts } = request.terms
    const asked = (parts ?? []).map((part) => ({ part, counters: now }))
    const needed = neededBy({ cost: request.cost, least: request.terms.least })
    const all = boundedWindows(book, limits, now, asked, request.terms)
    const isFull = all.some(({ entry, limit }) => entry.used + entry.more + needed > limit)
    return isFull ? undefined : `${needed} were refused, and all windows had room for a second`
  },
}
