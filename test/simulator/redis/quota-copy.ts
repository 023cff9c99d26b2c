import { copyOf } from '../../../gateway/front/limits/counters.ts'
import { newQuota, type QuotaState } from '../../../gateway/front/limits/quota-state.ts'
import type { Holder, Places } from '../../../gateway/front/limits/places.ts'
import type { MadeAdjustments } from './made-adjustments.ts'

/**
 * A quota as a simulated Redis has it: its state, the adjustments that were made, whether fields of keys may be there, and the
 * lines of its top-ups.
 */
export type StoredQuota = {
  state: QuotaState
  made: MadeAdjustments
  isMarked: boolean
  topUps: string
}

export function newStoredQuota(): StoredQuota {
  return { state: newQuota(), made: new Map(), isMarked: false, topUps: '' }
}

/** A copy that shares nothing that changes. */
export function copyOfQuota({ state, made, ...others }: StoredQuota): StoredQuota {
  return { state: copyOfState(state), made: new Map(made), ...others }
}

function copyOfPlaces(places: Places): Places {
  const copies = [...places].map(([part, holders]) => {
    const all = [...holders].map(([gateway, holder]) => {
      return [gateway, { ...holder, later: holder.later.slice() }] as [string, Holder]
    })
    return [part, new Map(all)] as const
  })
  return new Map(copies)
}

export function copyOfState(state: QuotaState): QuotaState {
  const { conducts, parts, settled, places, purse } = state
  return {
    ...state,
    ...copyOf(state),
    conducts: conducts && new Map([...conducts].map(([key, conduct]) => [key, { ...conduct }])),
    parts: parts && new Map([...parts].map(([name, counters]) => [name, copyOf(counters)])),
    ...(places ? { places: copyOfPlaces(places) } : {}),
    ...(purse ? { purse: { ...purse } } : {}),
    ...(settled ? { settled: new Map(settled) } : {}),
  }
}
