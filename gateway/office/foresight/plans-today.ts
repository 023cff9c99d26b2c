import { dayMs } from '../../../shared/windows.ts'
import { placeOf, unrecorded } from '../../front/counts/peak-store.ts'
import { countsOn } from '../../front/counts/usage.ts'
import { ownLimits, quotaOf, type Key } from '../../front/keys/key.ts'
import { limitedIn, type Limits } from '../../front/limits/limits.ts'
import { effectiveLimits, type Plan } from '../../front/limits/plan.ts'
import type { Stores } from '../../front/stores/stores.ts'
import { nearPart } from './demand.ts'
import { leastLimits } from './planned-quotas.ts'
import { limitsView } from './views.ts'

/** A plan, and its keys today, in UTC. */
export type PlanToday = Awaited<ReturnType<typeof plansToday>>[number]

type Group = {
  readonly plan: Plan | undefined
  /** The lowest limits of its keys that share a quota, by the quota's name. */
  readonly quotas: Map<string, Limits>
  /** Those that aren't revoked, by the plan that is in force for each. */
  keys: number
  /** Quotas that came to 80 % of one of their limits. */
  near: number
  admittedToday: number
  refusedToday: number
}

/** The plans of a configuration, and others that keys have, in one look at all keys. */
export async function plansToday(
  { keys, tallies, peaks }: Pick<Stores, 'keys' | 'tallies' | 'peaks'>,
  plans: ReadonlyMap<string, Plan>,
  nowMs: number,
) {
  const groups = new Map([...plans].map(([name, plan]) => [name, groupOf(plan)]))
  const groupsByKey = new Map<string, Group>()
  for await (const key of keys.list()) {
    const { plan: name } = key
    let group = groups.get(name)
    if (!group && key.revokedAtMs !== undefined) continue
    if (!group) groups.set(name, (group = groupOf(undefined)))
    groupsByKey.set(key.id, group)
    if (key.revokedAtMs === undefined) addKey(group, key)
  }
  const today = Math.floor(nowMs / dayMs)
  for (const [key, { admitted, refused }] of await countsOn(tallies, today)) {
    const group = groupsByKey.get(key)
    if (!group) continue
    group.admittedToday += admitted
    group.refusedToday += refused
  }
  for await (const some of peaks.list(today, today)) {
    for (const { quota, numbers } of some) {
      for (const group of groups.values()) {
        const limits = group.quotas.get(quota)
        if (limits && isNear(numbers, limits)) group.near++
      }
    }
  }
  return [...groups].map(([name, { plan, keys, near, admittedToday, refusedToday }]) => {
    /** `null`: the configuration doesn't have the plan, and its keys are refused. */
    const limits = plan ? limitsView(plan) : null
    return { name, limits, keys, near, admittedToday, refusedToday }
  })
}

function groupOf(plan: Plan | undefined): Group {
  return { plan, quotas: new Map(), keys: 0, near: 0, admittedToday: 0, refusedToday: 0 }
}

function addKey(group: Group, key: Key): void {
  group.keys++
  const limits = group.plan && effectiveLimits(group.plan, ownLimits(key))
  if (!limits) return
  const [quota, { quotas }] = [quotaOf(key), group]
  const others = quotas.get(quota)
  quotas.set(quota, others && others !== limits ? leastLimits(others, limits) : limits)
}

function isNear(numbers: readonly number[], limits: Limits): boolean {
  return limitedIn(limits).some(({ window, limit }) => {
    return (numbers[placeOf(window)] ?? unrecorded) >= limit * nearPart
  })
}
