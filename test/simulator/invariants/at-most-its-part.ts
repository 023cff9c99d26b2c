import { numberAt, steadyWindows, windows } from '../../../shared/windows.ts'
import { numberOf, usedIn, type Counters } from '../../../gateway/front/limits/counters.ts'
import { limitOf, type Limits } from '../../../gateway/front/limits/limits.ts'
import type { Granted } from '../../../gateway/front/limits/grants.ts'
import { neededBy, type Decision } from '../../../gateway/front/limits/step.ts'
import type { Alone } from '../books/alone-book.ts'
import type { Invariant, Served } from '../moment.ts'

/**
 * Without the store a gateway lets in its part of what was left when it was answered last, and refuses nothing of it. One
 * that admits everything refuses nothing, and one that admits nothing says that it can't.
 */
export const atMostItsPart: Invariant = {
  name: 'alone at most its part',
  mistakeAt(moment) {
    if (moment.what !== 'served' || moment.decision.decidedBy !== 'alone') return undefined
    const { world, decision, request } = moment
    const { verdict } = decision
    // Of requests under way there is a law of its own.
    if (verdict === 'crowded') return undefined
    const needed = neededBy({ cost: request.cost, least: request.terms.least })
    if (needed === 0) return undefined
    if (world.whenUnreachable !== 'local') {
      const expected = world.whenUnreachable === 'deny' ? 'unavailable' : 'admitted'
      return verdict === expected ? undefined : `it was ${verdict}`
    }
    return verdict === 'banned' && !decision.bans ? undefined : mistakeOf(moment, needed)
  },
}

function mistakeOf(moment: Served, needed: number): string | undefined {
  const { gateway, request, decision } = moment
  const { quota } = request.asker
  const usage = gateway.offline.usageOf(quota)
  if (!usage) return undefined
  const alone = gateway.alone.of(quota, usage)
  const bounds = boundsOf(moment, alone, usage.base)
  const isBack = isClockBack(alone, decision)
  const { more, fewer } = gateway.alone.adjustedOf(quota, alone)
  if (decision.verdict === 'admitted') {
    for (const { name } of bounds) alone.letIn.set(name, letIn(alone, name) + request.cost)
    if (isBack) return undefined
    const over = bounds.find(({ used, most }) => used - fewer + needed > most)
    return over && `${needed} beside ${over.used} of its part ${over.most} in ${over.name}`
  }
  if (isBack) return undefined
  const isFull = bounds.some(({ used, most }) => used + more + needed > most)
  const told = bounds.map(({ name, used, most }) => `${used} of ${most} in ${name}`).join(', ')
  return isFull ? undefined : `${needed} were refused beside ${told}`
}

/** How far an estimate of the store's time is set back at most, but by answers that were under way for long. */
const mostBackMs = 1_000

/** Whether the gateway's estimate of the store's time was set back: its windows may be others, or begin again. */
function isClockBack(alone: Alone, { seen, nowMs }: Decision): boolean {
  alone.isClockBack ||= nowMs < alone.latestMs - mostBackMs
  alone.latestMs = Math.max(alone.latestMs, nowMs)
  const isEarlier = steadyWindows.some(
    (window) => numberOf(seen, window) !== numberAt(window, nowMs, seen.monthFrom),
  )
  return isEarlier || alone.isClockBack
}

type Bound = Readonly<{ name: string; used: number; most: number }>

function letIn({ letIn }: Alone, name: string): number {
  return letIn.get(name) ?? 0
}

/** The gateway's part of each window. */
function boundsOf(
  { request, decision, world }: Served,
  alone: Alone,
  base: (Counters & { parts?: ReadonlyMap<string, Counters> | undefined }) | undefined,
): Bound[] {
  const { nowMs } = decision
  const boundsIn = (
    of: string,
    limits: Limits,
    before: Counters | undefined,
    now: Counters,
    granted: Granted,
  ): Bound[] =>
    windows.flatMap((window) => {
      const limit = limitOf(limits, window) + (granted[window.limit] ?? 0)
      const isRunning =
        before && numberOf(before, window) === numberAt(window, nowMs, before.monthFrom)
      const left = limit - (isRunning ? usedIn(before, window) : 0)
      const name = `${of}${window.name} ${numberOf(now, window)}`
      const most = left > 0 ? Math.ceil(left / world.fleetSize) : left
      return [{ name, used: letIn(alone, name), most }]
    })
  const ofParts = (decision.parts ?? []).flatMap(({ part, counters }) =>
    boundsIn(`${part.name} `, part.limits, base?.parts?.get(part.name), counters, {}),
  )
  const { limits } = request.terms
  return [...boundsIn('', limits, base, decision.seen, decision.granted ?? {}), ...ofParts]
}
