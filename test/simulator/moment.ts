import type { Ask, Decision } from '../../gateway/front/limits/step.ts'
import type { Asker, DecisiveTerms } from '../../gateway/front/limits/cached-refusals.ts'
import type { StrangerPoints } from '../../gateway/front/limits/stranger-store.ts'
import type { QuotaBook } from './books/quota-book.ts'
import type { SimulatedGateway } from './gateway/gateway.ts'
import type { StoredQuota } from './redis/quota-copy.ts'
import type { World } from './world.ts'

/** A request of a caller. */
export type Request = Readonly<{ asker: Asker; terms: DecisiveTerms; cost: number }>

/** The store has decided, and the books don't have it yet. */
export type Decided = Readonly<{
  what: 'decided'
  book: QuotaBook
  ask: Ask
  decision: Decision
  nowMs: number
}>

/** The store has written a quota, and the books have it. */
export type Stored = Readonly<{
  what: 'stored'
  book: QuotaBook
  stored: StoredQuota
  nowMs: number
  /** Those that live. */
  gateways?: readonly SimulatedGateway[]
}>

/** A gateway asks the store. */
export type Asked = Readonly<{ what: 'asked'; gateway: SimulatedGateway; quota: string; ask: Ask }>

/** A caller is answered. */
export type Served = Readonly<{
  what: 'served'
  world: World
  gateway: SimulatedGateway
  book: QuotaBook
  request: Request
  decision: Decision
}>

/** Everything works, and every gateway had the time to tell the store what it has to tell. */
export type Quiet = Readonly<{ what: 'quiet'; world: World }>

/** A gateway has been told how much strangers send to all gateways. */
export type Learnt = Readonly<{
  what: 'learnt'
  gateway: SimulatedGateway
  points: readonly StrangerPoints[]
  sums: readonly number[]
}>

/** A moment of a simulation, at which its invariants are looked at. */
export type Moment = Learnt | Decided | Stored | Asked | Served | Quiet

/** A law of the protocol. */
export type Invariant = Readonly<{
  name: string
  /** The mistake at a moment; `undefined` without one, and at moments that the law isn't about. */
  mistakeAt: (moment: Moment) => string | undefined
}>
