import type { Difference } from '../../config/diff.ts'
import type { KeyStore } from '../../../front/keys/store.ts'
import type { Preview } from '../../config/preview.ts'
import { ownLimits } from '../../../front/keys/key.ts'
import { effectiveLimits, type Plan } from '../../../front/limits/plan.ts'
import type { LimitSettings } from '../../../front/limits/limit-settings.ts'

type Counts = Readonly<Record<string, number>>

/**
 * The number of keys of each changed plan, and how many of them would be refused because they have no limits then. Both
 * are absent if the store can't be asked.
 */
export type AffectedKeys = Readonly<{ keys?: Counts; refused?: Counts }>

/** Counts the keys of changed plans; `plans` are those of the new configuration. */
export async function affectedKeys(
  store: () => KeyStore,
  differences: readonly Difference[],
  plans: Preview['plans'],
): Promise<AffectedKeys> {
  const names = new Set(
    differences.flatMap(({ place }) => /^plans\.([^.]+)/.exec(place)?.slice(1) ?? []),
  )
  const none = (): Record<string, number> => Object.fromEntries([...names].map((name) => [name, 0]))
  const [keys, refused] = [none(), none()]
  if (names.size === 0) return { keys, refused }
  try {
    for await (const key of store().list()) {
      const { plan: name } = key
      if (!names.has(name)) continue
      keys[name] = (keys[name] ?? 0) + 1
      if (hasNoLimits(plans.get(name), ownLimits(key))) refused[name] = (refused[name] ?? 0) + 1
    }
  } catch {
    // The differences are useful during an outage of the store too.
    return {}
  }
  return { keys, refused }
}

/** Whether a key would be refused: its plan is gone, or leaves one of its limits open. */
function hasNoLimits(plan: Plan | 'variable' | undefined, own: LimitSettings | undefined): boolean {
  if (plan === 'variable') return false
  return plan === undefined || effectiveLimits(plan, own) === undefined
}
