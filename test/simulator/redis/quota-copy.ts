import { copyOf } from '../../../gateway/front/limits/counters.ts'
import { newQuota, type QuotaState } from '../../../gateway/front/limits/quota-state.ts'
import type { MadeAdjustments } from './made-adjustments.ts'

/** A quota as a simulated Redis has it: its state, the adjustments that were made, and whether fields of keys may be there. */
export type StoredQuota = { state: QuotaState; made: MadeAdjustments; isMarked: boolean }

export function newStoredQuota(): StoredQuota {
  return { state: newQuota(), made: new Map(), isMarked: false }
}

/** A copy that shares nothing that changes. */
export function copyOfQuota({ state, made, isMarked }: StoredQuota): StoredQuota {
  return { state: copyOfState(state), made: new Map(made), isMarked }
}

export function copyOfState(state: QuotaState): QuotaState {
  const { conducts, parts, settled } = state
  return {
    ...state,
    ...copyOf(state),
    conducts: conducts && new Map([...conducts].map(([key, conduct]) => [key, { ...conduct }])),
    parts: parts && new Map([...parts].map(([name, counters]) => [name, copyOf(counters)])),
    ...(settled ? { settled: new Map(settled) } : {}),
  }
}
