import { copyOf, type Adjustment } from '../../gateway/front/limits/counters.ts'
import type { NewGrant } from '../../gateway/front/limits/grants.ts'
import type { PartCounters } from '../../gateway/front/limits/parts.ts'
import type { Admission, Seen } from '../../gateway/front/limits/quota-state.ts'
import type { Ask, Decision } from '../../gateway/front/limits/step.ts'
import type { Adjusted, PlaceReport } from '../../gateway/front/limits/store.ts'
import type { NewTopUp } from '../../gateway/front/limits/top-ups.ts'
import type { StrangerPoints } from '../../gateway/front/limits/stranger-store.ts'

/** A question about a quota, as it is on its way: nothing in it changes any more. */
export type Question =
  | Readonly<{ kind: 'decide'; quota: string; ask: Ask }>
  | Readonly<{ kind: 'adjust'; quota: string; adjustment: Adjustment; admission: Admission }>

/** A change of a quota by an operator. */
export type Edit =
  | Readonly<{ kind: 'reset'; quota: string }>
  | Readonly<{ kind: 'month'; quota: string; monthFrom: number }>
  | Readonly<{ kind: 'grant'; quota: string; grant: NewGrant }>
  | Readonly<{ kind: 'top-up'; quota: string; topUp: NewTopUp }>
  | Readonly<{ kind: 'ban'; quota: string; key: string; untilMs: number }>
  | Readonly<{ kind: 'lift'; quota: string; key: string }>

/** All that a gateway may send. */
export type Message =
  | Question
  | Readonly<{ kind: 'places'; reports: readonly PlaceReport[] }>
  | Readonly<{ kind: 'strangers'; points: readonly StrangerPoints[] }>
  | Readonly<{ kind: 'lifts' }>
  | Readonly<{ kind: 'probe' }>

export type Answer = Decision | Adjusted | number | readonly number[]

/** A question as it leaves: a gateway goes on to write into what it has seen. */
export function sent(ask: Ask): Ask {
  return { ...ask, seen: copyOfSeen(ask.seen), slot: undefined }
}

/** The same of an adjustment. */
export function sentAdmission(admission: Admission): Admission {
  const { counters, parts, seen, purse } = admission
  return {
    ...admission,
    counters: copyOf(counters),
    parts: copiesOf(parts),
    seen: copyOfSeen(seen),
    purse: purse && { ...purse, taken: copyOf(purse.taken) },
  }
}

function copyOfSeen(seen: Seen | undefined): Seen | undefined {
  if (!seen) return undefined
  const { bannedUntilMs, parts, purse } = seen
  return { ...copyOf(seen), bannedUntilMs, parts: copiesOf(parts), purse: purse && { ...purse } }
}

function copiesOf(parts: PartCounters | undefined): PartCounters | undefined {
  return parts && new Map([...parts].map(([name, counters]) => [name, copyOf(counters)]))
}
