import { newConduct, type Conduct, type QuotaState } from '../../limits/step.ts'
import type { OperatorCommand } from './quota-file.ts'

/** Applies an operator's command to a quota. Several processes may apply the same one, with the same result. */
export function applyCommand(
  state: QuotaState,
  { what, key, untilMs }: OperatorCommand,
  nowMs: number,
): void {
  // A generation that no gateway can have seen: counters seen before don't count any more.
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
