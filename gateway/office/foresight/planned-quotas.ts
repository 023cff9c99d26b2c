import { accountOf, ownLimits as limitsOf, quotaOf, type Key } from '../../front/keys/key.ts'
import type { KeyStore } from '../../front/keys/store.ts'
import { stateOf } from '../../front/keys/view.ts'
import { limitOf, recordedWith, type Limits } from '../../front/limits/limits.ts'
import { effectiveLimits, type Plan } from '../../front/limits/plan.ts'
import { byLimit, byWindow, type Window, type WindowName } from '../../../shared/windows.ts'

/** A quota whose keys have a plan that would change. */
export type PlannedQuota = {
  readonly quota: string
  /** Its key with the lowest id, and the number of its keys with this plan. */
  key: string
  name: string
  /** The account of the quota. A test key has a quota of its own. */
  readonly account: string | undefined
  keys: number
  /** The limits of the plan that changes, as far as they hold for its keys: without those of the keys' own. */
  now: Limits
  then: Limits
  /** Whether the plan's limit holds in each window for any of its keys. */
  holds: Readonly<Record<WindowName, boolean>>
  /** Whether its keys would have no limits, and get 403. */
  isShutOut: boolean
}

/** The quotas of the keys with some plan, and what is left out of it. */
export type PlannedQuotas = Readonly<{
  quotas: ReadonlyMap<string, PlannedQuota>
  /** Keys with limits of their own in all windows that the plan limits, so that the plan's don't matter. */
  ownLimits: number
  /** Accounts that also have keys to which other limits apply. */
  mixedAccounts: number
}>

/**
 * The quotas of the active keys of a plan, with its limits now and then. A window in which a key has a limit of its own
 * counts as unlimited both times, because the plan's limit doesn't hold for it.
 */
export async function plannedQuotas(
  store: KeyStore,
  now: Plan,
  then: Plan | undefined,
  nowMs: number,
): Promise<PlannedQuotas> {
  const quotas = new Map<string, PlannedQuota>()
  const others = new Set<string>()
  // Most keys have no limits of their own, and share one object.
  const usual = changeFor({}, now, then)
  let ownLimits = 0
  for await (const key of store.list()) {
    if (stateOf(key, nowMs) !== 'active') continue
    const limits = limitsOf(key)
    const change =
      key.plan !== now.name ? undefined : limits ? changeFor({ limits }, now, then) : usual
    if (!change) {
      if (key.account !== undefined) others.add(quotaOf(key))
      if (key.plan === now.name) ownLimits++
      continue
    }
    const quota = quotaOf(key)
    const present = quotas.get(quota)
    if (!present) {
      const { id, name } = key
      quotas.set(quota, { quota, key: id, name, account: accountOf(quota), keys: 1, ...change })
      continue
    }
    present.keys++
    if (key.id < present.key) Object.assign(present, { key: key.id, name: key.name })
    Object.assign(present, strictest(present, change))
  }
  const mixedAccounts = [...others].filter((quota) => quotas.has(quota)).length
  return { quotas, ownLimits, mixedAccounts }
}

type Change = Pick<PlannedQuota, 'now' | 'then' | 'holds' | 'isShutOut'>

const everywhere: PlannedQuota['holds'] = byWindow(() => true)

/** The limits of a key's plan now and then; `undefined` if the key's own take their place, or if it has none now. */
function changeFor(
  key: Pick<Key, 'limits'>,
  now: Plan,
  then: Plan | undefined,
): Change | undefined {
  const limits = effectiveLimits(now, key.limits)
  if (!limits) return undefined
  const later = then && effectiveLimits(then, key.limits)
  if (!later) return { now: limits, then: limits, holds: everywhere, isShutOut: true }
  const isOwn = ({ limit }: Window): boolean => key.limits?.[limit] !== undefined
  if (recordedWith(limits, later).every(isOwn)) return undefined
  const ofPlan = (planLimits: Limits): Limits =>
    byLimit((window) => (isOwn(window) ? Infinity : limitOf(planLimits, window)))
  const holds = byWindow((window) => !isOwn(window))
  return { now: ofPlan(limits), then: ofPlan(later), holds, isShutOut: false }
}

/** The lower limits of two keys of one account. */
function strictest(one: Change, other: Change): Change {
  return {
    now: leastLimits(one.now, other.now),
    then: leastLimits(one.then, other.then),
    holds: byWindow(({ name }) => one.holds[name] || other.holds[name]),
    isShutOut: one.isShutOut || other.isShutOut,
  }
}

/** In each window the lower limit. */
export function leastLimits(one: Limits, other: Limits): Limits {
  return byLimit((window) => Math.min(limitOf(one, window), limitOf(other, window)))
}
