import { beginningOf, setMonthFrom } from '../../limits/counters.ts'
import { grantsOf, runsAt, withGrant, type NewGrant } from '../../limits/grants.ts'
import { forgive, newConduct, type Conduct } from '../../limits/conduct.ts'
import { newPurse, topped } from '../../limits/purse.ts'
import { reset, roll, type QuotaState } from '../../limits/quota-state.ts'
import type { OperatorCommand } from './quota-file.ts'

/** Applies an operator's command to a quota. Several processes may apply the same one, with the same result. */
export function applyCommand(
  state: QuotaState,
  { seq, what, key, untilMs }: OperatorCommand,
  nowMs: number,
): void {
  if (what === 'places') return void (state.places = undefined)
  if (what === 'top-up') return applyTopUp(state, seq, untilMs)
  if (what === 'grant') return applyGrant(state, seq, key, untilMs, nowMs)
  // A generation that no gateway can have seen: counters seen before don't count any more.
  state.generation = Math.max(state.generation + 1, nowMs)
  if (what === 'reset') {
    reset(state)
  } else if (what === 'month') {
    roll(state, nowMs)
    setMonthFrom(state, untilMs, nowMs)
    state.grants = state.grants && grantsOf(state.grants.each, untilMs)
  } else if (what === 'ban') {
    const conduct = state.conducts?.get(key) ?? newConduct()
    conduct.bannedUntilMs = untilMs
    forgive(conduct)
    state.conducts = (state.conducts ?? new Map<string, Conduct>()).set(key, conduct)
  } else {
    state.conducts?.delete(key)
  }
}

/** Applies a top-up: once, even if a crash makes its command come again. */
function applyTopUp(state: QuotaState, seq: number, points: number): void {
  if ((state.purse?.applied ?? 0) >= seq) return
  state.purse = { ...topped(state.purse ?? newPurse(), points), applied: seq }
}

/** Applies a grant, which was given at `atMs`: once, even if a crash makes its command come again. */
function applyGrant(
  state: QuotaState,
  id: number,
  text: string,
  atMs: number,
  nowMs: number,
): void {
  // A quota that nobody used would be forgotten with its earlier day.
  roll(state, nowMs)
  const begunMs = beginningOf(state)
  // A clock that is set back by less than a window is still in it.
  const givenAtMs = nowMs < begunMs ? begunMs : atMs
  const grant = { ...(JSON.parse(text) as NewGrant), atMs: givenAtMs, id }
  const isOver = !runsAt(grant, begunMs, state.monthFrom)
  if (isOver || state.grants?.each.some((other) => other.id === id)) return
  state.grants = withGrant(state.grants, grant, state.monthFrom)
}
