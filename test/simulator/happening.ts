import type { QuotaPoints } from '../../gateway/front/limits/past-points.ts'
import type { Answer, Edit, Message } from './messages.ts'
import type { Invariant } from './moment.ts'

/** What happened at the store, for who repeats it elsewhere. */
export type Happening =
  | Readonly<{ what: 'message'; message: Message; answer: Answer; nowMs: number }>
  | Readonly<{ what: 'edit'; edit: Edit; outcome: boolean | string; nowMs: number }>
  | Readonly<{ what: 'ledger'; day: number; points: readonly QuotaPoints[] }>
  | Readonly<{ what: 'behind' | 'caughtUp' | 'failOver' | 'emptied' }>

export type WorldOptions = Readonly<{
  /** Hears what happens at the store. */
  happened?: ((happening: Happening) => void) | undefined
  /** All of them by default. */
  invariants?: readonly Invariant[]
}>

/** A law that doesn't hold. */
export type Violation = Readonly<{ name: string; mistake: string }>
