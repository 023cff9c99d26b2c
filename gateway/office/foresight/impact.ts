import { windows } from '../../../shared/windows.ts'
import { limitOf } from '../../front/limits/limits.ts'
import type { Plan } from '../../front/limits/plan.ts'
import { previewPlan, type PlanPreview, type PreviewAsk, type PreviewStores } from './preview.ts'

/** The plans of a configuration, by name; `variable` for one that the environment of a gateway elsewhere decides. */
export type Plans = ReadonlyMap<string, Plan | 'variable'>

type Range = Pick<PreviewAsk, 'fromDay' | 'toDay' | 'nowMs' | 'limit'>

/** Previews of each plan that has other limits in another configuration, or is taken away there. */
export async function impactOf(
  stores: PreviewStores,
  now: Plans,
  then: Plans,
  range: Range,
): Promise<PlanPreview[]> {
  const previews: PlanPreview[] = []
  for (const [name, plan] of now) {
    const later = then.get(name)
    if (later !== undefined && isSame(plan, later)) continue
    previews.push(await previewPlan(stores, { name, now: plan, then: later, ...range }))
  }
  return previews
}

function isSame(one: Plan | 'variable', other: Plan | 'variable'): boolean {
  if (one === 'variable' || other === 'variable') return false
  const [a, b] = [one.limits, other.limits]
  if (a === 'custom' || b === 'custom') return a === b
  return windows.every((window) => limitOf(a, window) === limitOf(b, window))
}
