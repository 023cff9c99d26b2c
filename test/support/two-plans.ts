import type { Plan } from '../../gateway/front/limits/plan.ts'

/** A plan with limits, and one whose keys bring their own. */
export const plans = new Map<string, Plan>([
  ['free', { name: 'free', limits: { perMinute: 60, perDay: 1_000 }, bans: true }],
  ['enterprise', { name: 'enterprise', limits: 'custom', bans: true }],
])
