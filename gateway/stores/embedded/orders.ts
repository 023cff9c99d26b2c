import { newConduct, type Conduct, type QuotaState } from '../../limits/step.ts'
import type { Order } from './quota-file.ts'

/** Does to a quota what an operator has ordered. Several processes may do the same, to the same end. */
export function obey(state: QuotaState, { what, key, untilMs }: Order, nowMs: number): void {
  // A generation that nobody can have seen: what was seen before counts no more.
  state.generation = Math.max(state.generation + 1, nowMs)
  if (what === 'reset') {
    state.minuteUsed = 0
    state.dayUsed = 0
    state.dayGivenBack = 0
  } else if (what === 'ban') {
    const conduct = state.conducts?.get(key) ?? newConduct()
    const banned = { ...conduct, bannedUntilMs: untilMs, refusedAtMs: 0, strikesMs: [] }
    state.conducts = (state.conducts ?? new Map<string, Conduct>()).set(key, banned)
  } else {
    state.conducts?.delete(key)
  }
}
