import { numberAt, steadyWindows, windows } from '../../../shared/windows.ts'
import { numberOf, usedIn, type Counters } from '../../../gateway/front/limits/counters.ts'
import { limitOf, type Limits } from '../../../gateway/front/limits/limits.ts'
import type { Granted } from '../../../gateway/front/limits/grants.ts'
import { leftIn, takenPart } from '../../../gateway/front/limits/purse.ts'
import type { Seen } from '../../../gateway/front/limits/quota-state.ts'
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
  const ofPurse = partsOfPurse(moment, alone, usage.base)
  if (decision.verdict === 'admitted') {
    const { took = 0 } = decision.purse ?? {}
    note(alone, bounds, request.cost, took)
    if (isBack) return undefined
    const all = [
      ...bounds.map((bound) => ({ ...bound, needed })),
      ...(ofPurse ? [{ ...ofPurse.included, needed: request.cost - took }] : []),
      ...(ofPurse ? [{ ...ofPurse.bought, needed: took }] : []),
    ]
    const over = all.find(({ used, most, needed }) => needed > 0 && used - fewer + needed > most)
    return over && `${over.needed} beside ${over.used} of its part ${over.most} in ${over.name}`
  }
  if (isBack) return undefined
  const left = ofPurse ? leftOf(ofPurse.included) + leftOf(ofPurse.bought) : Infinity
  const isFull =
    bounds.some(({ used, most }) => used + more + needed > most) || more + needed > left
  const told = bounds.map(({ name, used, most }) => `${used} of ${most} in ${name}`).join(', ')
  return isFull
    ? undefined
    : `${needed} were refused beside ${told}, and ${left} bought or included`
}

function leftOf({ used, most }: Bound): number {
  return Math.max(0, most - used)
}

/** Notes points that were let in. Those that were bought don't come back with the next window. */
function note(alone: Alone, bounds: readonly Bound[], cost: number, took: number): void {
  const add = (name: string, points: number): void =>
    void alone.letIn.set(name, letIn(alone, name) + points)
  for (const { name } of bounds) add(name, cost)
  if (took === 0) return
  add(bought, took)
  for (const { name } of bounds) add(boughtIn(name), took)
}

const bought = 'bought'

function boughtIn(name: string): string {
  return `${bought} in ${name}`
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
function boundsOf(moment: Served, alone: Alone, base: Seen | undefined): Bound[] {
  const { request, decision, world } = moment
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

/** The gateway's part of the included points of a prepaid window that were left, and of those that were bought. */
function partsOfPurse(
  { request: { terms }, decision, world: { fleetSize } }: Served,
  alone: Alone,
  base: Seen | undefined,
): Readonly<{ included: Bound; bought: Bound }> | undefined {
  const { nowMs, granted = {}, seen } = decision
  const { prepaid: window } = terms
  if (!window || !terms.included) return undefined
  const isRunning = base && numberOf(base, window) === numberAt(window, nowMs, base.monthFrom)
  const taken = base?.parts?.get(takenPart)
  const isTaken = base && taken && numberOf(taken, window) === numberOf(base, window)
  const used = isRunning ? usedIn(base, window) - (isTaken ? usedIn(taken, window) : 0) : 0
  const limit = limitOf(terms.included, window) + (granted[window.limit] ?? 0)
  const room = Math.max(0, limit - Math.max(0, used))
  const left = base?.purse ? Math.max(0, leftIn(base.purse)) : 0
  // A part that was larger before is kept: other gateways may have come since.
  alone.fewestGateways = Math.min(alone.fewestGateways, fleetSize)
  const name = `${window.name} ${numberOf(seen, window)}`
  return {
    included: {
      name: `included ${name}`,
      used: letIn(alone, name) - letIn(alone, boughtIn(name)),
      most: Math.ceil(room / fleetSize),
    },
    bought: {
      name: bought,
      used: letIn(alone, bought),
      most: Math.ceil(left / alone.fewestGateways),
    },
  }
}
