import { randomUUID } from 'node:crypto'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import { numberOf, usedIn, type Adjustment, type Counters } from './counters.ts'
import type { Included } from './beyond.ts'
import { raised, type Granted } from './grants.ts'
import { limitOf, type Limits } from './limits.ts'
import type { Part, PartState } from './parts.ts'
import type { Seen } from './quota-state.ts'
import { shareOfPurse, takenIn, takenPart } from './purse.ts'
import { includedIn, step, type Ask, type Decision } from './step.ts'
import { UnsettledUsage, type Reporter } from './unsettled-usage.ts'
import { byLimit, numberAt, windows, type Window } from '../../../shared/windows.ts'

/** A gateway's conduct during an outage: it decides for its own share, admits everything, or admits nothing. */
export type WhenUnreachable = 'local' | 'allow' | 'deny'

export type OfflineOptions = Readonly<{
  whenUnreachable: WhenUnreachable
  /** The least number of quotas that are remembered. */
  capacity: number
}>

/** The state that a decision without the store starts from. */
export type LastKnown = Readonly<{
  /** The counters of the quota in the store's last answer. */
  seen: Seen | undefined
  /** The points that operators had added to the limits of its windows. */
  granted: Granted | undefined
  nowMs: number
  /** The number of gateways that share the quota. */
  gateways: number
}>

/** Decides while the store can't be asked, and keeps what it admits until the store has counted it. */
export class OfflineLimiter {
  readonly #mode: WhenUnreachable
  readonly #usageByQuota: BoundedMap<UnsettledUsage>
  readonly #reporter: Reporter = { id: randomUUID(), reports: 0 }

  constructor({ whenUnreachable, capacity }: OfflineOptions) {
    this.#mode = whenUnreachable
    this.#usageByQuota = new BoundedMap(capacity)
  }

  /** The usage of a quota that the store hasn't counted yet; `undefined` if there is none. */
  usageOf(quota: string): UnsettledUsage | undefined {
    return this.#usageByQuota.get(quota)
  }

  /** Decides by the last known counters and the usage since. */
  decide(quota: string, asked: Ask, last: LastKnown): Decision {
    const { cost, limits } = asked
    let usage = this.#usageByQuota.get(quota)
    if (!usage) {
      usage = new UnsettledUsage(last.seen, this.#reporter)
      this.#usageByQuota.set(quota, usage)
    }
    const { base } = usage
    const denied = this.#mode === 'deny'
    const granted = grantedNow(last)
    const whole = granted ? raised(limits, granted) : limits
    const isAlone = this.#mode === 'local'
    const share = isAlone ? shareOf(whole, base, last) : whole
    const parts = isAlone ? partShares(asked.parts, base, last) : asked.parts
    const ask = {
      ...asked,
      cost: denied ? 0 : cost,
      limits: share,
      included: isAlone ? includedShare(asked, granted, base, last) : includedIn(asked, granted),
      parts,
      seen:
        isAlone && base?.purse ? { ...base, purse: shareOfPurse(base.purse, last.gateways) } : base,
      owed: undefined,
    }
    const counted = step(usage.state, ask, last.nowMs)
    // The headers tell what this gateway would admit, so the shares of the others count as used.
    const elsewhere = share === whole ? undefined : gaps(whole, share)
    const decision: Decision = {
      ...counted,
      parts: counted.parts?.map((state, i) => wholePart(state, asked.parts?.[i])),
      elsewhere,
      granted,
      decidedBy: 'alone',
    }
    if (denied) return { ...decision, verdict: 'unavailable' }
    if (counted.verdict === 'admitted' && cost > 0) usage.add(counted, cost)
    if (this.#mode !== 'allow') return decision
    const isUncounted = counted.verdict !== 'admitted'
    return { ...decision, verdict: 'admitted', bans: false, isUncounted }
  }

  /** Counts an adjustment that the store hasn't confirmed, and reports it unless it is repeated. */
  adjust(
    quota: string,
    base: Seen | undefined,
    decision: Decision,
    adjustment: Adjustment,
    isReported: boolean,
  ): void {
    const usage = this.#usageByQuota.get(quota) ?? new UnsettledUsage(base, this.#reporter)
    usage.adjust(decision, adjustment, isReported)
    this.#usageByQuota.set(quota, usage)
  }

  /** The quotas with usage that the store hasn't counted yet. */
  unsettled(): [quota: string, usage: UnsettledUsage][] {
    return [...this.#usageByQuota.entries()]
  }

  /** Forgets the usage of a quota if the store has counted all of it. Called after each answer. */
  forgetIfSettled(quota: string, usage: UnsettledUsage): void {
    // Another one may have begun since.
    if (usage.isSettled && this.usageOf(quota) === usage) this.#usageByQuota.delete(quota)
  }
}

/** The parts of a question with this gateway's shares of their limits. */
function partShares(
  parts: readonly Part[] | undefined,
  base: Seen | undefined,
  last: LastKnown,
): readonly Part[] | undefined {
  return parts?.map((part) => {
    const limits = shareOf(part.limits, base?.parts?.get(part.name), last)
    return { ...part, limits }
  })
}

/** A part as the question has it; the shares of other gateways count as used. */
function wholePart(state: PartState, part: Part | undefined): PartState {
  if (!part || part.limits === state.part.limits) return state
  return { ...state, part, elsewhere: gaps(part.limits, state.part.limits) }
}

/** The grants of the last known windows that still run. */
function grantedNow({ seen, granted, nowMs }: LastKnown): Granted | undefined {
  if (!seen || !granted) return undefined
  const running = windows.filter((window) => granted[window.limit] && runs(seen, window, nowMs))
  if (running.length === 0) return undefined
  return Object.fromEntries(running.map(({ limit }) => [limit, granted[limit]]))
}

function runs(seen: Counters, window: Window, nowMs: number): boolean {
  return numberOf(seen, window) === numberAt(window, nowMs, seen.monthFrom)
}

/** The included points of a prepaid window that one gateway may take during an outage; of others all, because they refuse nothing. */
function includedShare(
  asked: Ask,
  granted: Granted | undefined,
  base: Seen | undefined,
  last: LastKnown,
): Included | undefined {
  const included = includedIn(asked, granted)
  const { prepaid } = asked
  if (!included || !prepaid || last.gateways === 1) return included
  const isRunning = base && runs(base, prepaid, last.nowMs)
  const taken = isRunning ? takenIn(base.parts?.get(takenPart), base, prepaid) : 0
  const used = isRunning ? usedIn(base, prepaid) - taken : 0
  const left = Math.max(0, limitOf(included, prepaid) - used)
  return { ...included, [prepaid.limit]: used + Math.ceil(left / last.gateways) }
}

/** The limits of one gateway during an outage: its part of what all gateways together had left. */
function shareOf(
  limits: Limits,
  base: Counters | undefined,
  { nowMs, gateways }: LastKnown,
): Limits {
  if (gateways === 1) return limits
  return byLimit((window) => {
    const limit = limitOf(limits, window)
    const used = base && runs(base, window, nowMs) ? usedIn(base, window) : 0
    return limit === Infinity || used >= limit ? limit : used + Math.ceil((limit - used) / gateways)
  })
}

function gaps(whole: Limits, share: Limits): Granted {
  return Object.fromEntries(
    windows.flatMap((window) => {
      const limit = limitOf(whole, window)
      return limit === Infinity ? [] : [[window.limit, limit - limitOf(share, window)]]
    }),
  )
}
