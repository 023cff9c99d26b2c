import type { Limits } from './limits.ts'
import type { Part } from './parts.ts'

/** How long a gateway whose requests are over is remembered: no message of it is later than that. */
const idleMs = 60_000

/** The places that one gateway's requests under way take in one part of a quota, as it told last. */
export type Holder = {
  /** The number of its last message. */
  number: number
  /** The number up to which its questions are settled, and the places that requests of those still take. */
  settled: number
  held: number
  /** Its later questions that were let in. */
  later: number[]
  /** Since when it has taken any place, or none. */
  sinceMs: number
}

/** The places that a gateway's requests take in a part of a quota, '' for the quota itself. */
export type TakenPlaces = Readonly<{
  gateway: string
  part: string
  taken: number
  sinceMs: number
}>

/** By gateway. */
export type Holders = Map<string, Holder>

/** The requests under way of a quota: by the name of the part that limits them, '' for the quota itself. */
export type Places = Map<string, Holders>

/**
 * What a gateway tells of its own requests under way: absolute numbers, so that a message that is repeated or late changes
 * nothing, and no place needs to be renewed.
 */
export type PlacesTold = Readonly<{
  by: string
  /** The number of the message: each of a gateway has a larger one than those before. */
  number: number
  settled: number
  /** By the names of parts; 0 where it isn't named. */
  held: ReadonlyMap<string, number>
}>

/** A question for a place in each part that limits requests under way. */
export type PlaceAsk = PlacesTold &
  Readonly<{
    /** Gateways that the asker's fleet holds for gone. */
    gone: readonly string[]
    /** Whether it only looks. */
    isLook?: boolean
  }>

/** Asks how many requests are under way, and takes no place. */
export const lookAtPlaces: PlaceAsk = {
  ...{ by: '', number: 0, settled: 0, held: new Map<string, number>(), gone: [], isLook: true },
}

/** A part that limits requests under way; `undefined` for the quota itself. */
export type LimitedPart = Readonly<{
  part: Part | undefined
  limit: number
  lingerMs?: number | undefined
}>

/** How many requests of a part are under way, after a decision. */
export type PlaceState = LimitedPart &
  Readonly<{
    used: number
    /** The gateways whose they are, where there was no room. */
    holders?: readonly string[] | undefined
  }>

/** A part of a question, and whose requests are under way in it. */
export type PlaceRoom = LimitedPart & Readonly<{ holders: Holders; used: number }>

export function nameOfPart(part: Part | undefined): string {
  return part?.name ?? ''
}

/** The parts that limit how many requests are under way: the quota itself first. */
export function partsWithPlaces(
  limits: Limits,
  parts: readonly Part[] = [],
): readonly LimitedPart[] {
  const limited: LimitedPart[] = []
  for (const part of [undefined, ...parts]) {
    const { atOnce, lingerMs } = part?.limits ?? limits
    if (atOnce !== undefined) limited.push({ part, limit: atOnce, lingerMs })
  }
  return limited
}

/** Notes what a gateway tells, and says how many places of each limited part of its question are taken. */
export function roomsFor(
  state: { places?: Places | undefined },
  limited: readonly LimitedPart[],
  ask: PlaceAsk,
  nowMs: number,
): PlaceRoom[] {
  return limited.map(({ part, limit }) => {
    const holders = holdersIn(state, nameOfPart(part), !ask.isLook)
    for (const gateway of ask.gone) if (gateway !== ask.by) holders.delete(gateway)
    for (const [gateway, holder] of holders) {
      if (takenBy(holder) === 0 && nowMs - holder.sinceMs > idleMs) holders.delete(gateway)
    }
    if (!ask.isLook) note(holders, nameOfPart(part), ask, nowMs)
    return { part, limit, holders, used: placesIn(holders) }
  })
}

/** The room that has none left; of several, the quota's. */
export function crowded<Room extends Pick<PlaceState, 'used' | 'limit'>>(
  rooms: readonly Room[] | undefined,
): Room | undefined {
  return rooms?.find(({ used, limit }) => used >= limit)
}

/** Takes a place in each room. A question that its gateway has given up takes none. */
export function takePlaces(
  rooms: readonly PlaceRoom[],
  { by, number, isLook }: PlaceAsk,
  nowMs: number,
): PlaceRoom[] {
  if (isLook) return [...rooms]
  return rooms.map((room) => {
    const { holders } = room
    const own = holderIn(holders, by, nowMs)
    if (number > own.settled && !own.later.includes(number)) {
      change(own, nowMs, () => own.later.push(number))
    }
    return { ...room, used: placesIn(holders) }
  })
}

/** Notes a report of places that were given back, or are told anew. */
export function tellPlaces(
  state: { places?: Places | undefined },
  told: PlacesTold,
  nowMs: number,
): void {
  for (const name of told.held.keys()) note(holdersIn(state, name, true), name, told, nowMs)
}

function holdersIn(state: { places?: Places | undefined }, name: string, isKept: boolean): Holders {
  const holders = state.places?.get(name) ?? new Map<string, Holder>()
  if (isKept) (state.places ??= new Map<string, Holders>()).set(name, holders)
  return holders
}

/** The states of rooms, as a decision tells them; `full` is the one that has refused it. */
export function placeStates(
  rooms: readonly PlaceRoom[],
  full: PlaceRoom | undefined,
): readonly PlaceState[] {
  return rooms.map((room) => {
    const { part, limit, used, holders } = room
    return { part, limit, used, holders: room === full ? busyIn(holders) : undefined }
  })
}

/** The gateways that have taken places. */
export function busyIn(holders: Holders): string[] {
  return [...holders].filter(([, holder]) => takenBy(holder) > 0).map(([gateway]) => gateway)
}

export function takenBy({ held, later }: Holder): number {
  return held + later.length
}

/** Whose requests are under way in a quota, and in its parts. */
export function takenIn(places: Places | undefined): TakenPlaces[] {
  const all = [...(places ?? [])].flatMap(([part, holders]) =>
    [...holders].map(([gateway, holder]) => {
      return { gateway, part, taken: takenBy(holder), sinceMs: holder.sinceMs }
    }),
  )
  return all.filter(({ taken }) => taken > 0)
}

function placesIn(holders: Holders): number {
  let sum = 0
  for (const holder of holders.values()) sum += takenBy(holder)
  return sum
}

function note(holders: Holders, name: string, told: PlacesTold, nowMs: number): void {
  const { by, number, settled, held } = told
  const own = holderIn(holders, by, nowMs)
  if (number <= own.number) return
  change(own, nowMs, () => {
    Object.assign(own, { number, settled, held: held.get(name) ?? 0 })
    own.later = own.later.filter((each) => each > settled)
  })
}

function holderIn(holders: Holders, gateway: string, nowMs: number): Holder {
  const holder = holders.get(gateway) ?? {
    number: 0,
    settled: 0,
    held: 0,
    later: [],
    sinceMs: nowMs,
  }
  holders.set(gateway, holder)
  return holder
}

function change(holder: Holder, nowMs: number, make: () => void): void {
  const wasBusy = takenBy(holder) > 0
  make()
  if (takenBy(holder) > 0 !== wasBusy) holder.sinceMs = nowMs
}
