import { loggable } from '../../../shared/log.ts'
import { windows } from '../../../shared/windows.ts'
import { answeredCost } from '../answered-cost.ts'
import { numberOf } from '../limits/counters.ts'
import { decisiveWindow } from '../limits/headers.ts'
import { limitOf } from '../limits/limits.ts'
import { usedBy } from '../limits/step.ts'
import { scopesText } from '../keys/caller-scopes.ts'
import type { Ended } from './ended.ts'
import {
  at,
  keptRefusal,
  numberNames,
  placeOfWindow,
  type KeptRefusal,
  type Said,
} from './kept-refusal.ts'

/** The most characters of an id, as `requestIdFrom` takes them. */
const idLength = 128

/** The kept characters of a path. */
const pathLength = 128

/** The part of an ended request that is kept. */
export type EndedBadly = Pick<Ended, 'record' | 'status' | 'atMs' | 'endedAtMs'> &
  Readonly<{
    request: Pick<Ended['request'], 'id' | 'method'>
    route: Pick<Ended['route'], 'upstream' | 'config'>
  }>

const numbersOfSlot = numberNames.length
const bytesOfSlot = idLength + pathLength

/** Slots that are made together. */
export const blockSize = 1_000

/** Slots of a block, column by column; numbers in the order of `numberNames`. */
export type RefusalColumns = Readonly<{
  hashes: Int32Array
  ids: readonly string[]
  paths: readonly string[]
  numbers: readonly (number | readonly number[])[]
  said: Readonly<Record<string, readonly unknown[]>>
}>

/** A thousand slots, each for a refused or failed answer. They refer only to texts and callers that live longer anyway. */
export class RefusalBlock {
  readonly #numbers = new Float64Array(blockSize * numbersOfSlot)
  readonly #texts = Buffer.alloc(blockSize * bytesOfSlot)
  readonly #hashes = new Int32Array(blockSize)
  readonly #said: { readonly [Name in keyof Said]: Said[Name][] } = {
    method: listOf(''),
    code: listOf(undefined),
    reason: listOf(undefined),
    of: listOf(undefined),
    caller: listOf(undefined),
    route: listOf(''),
    needs: listOf(undefined),
    has: listOf(undefined),
    upstream: listOf(''),
    target: listOf(undefined),
    config: listOf(''),
    decidedBy: listOf(undefined),
  }

  /** Writes an answer into a slot, over the one before. */
  write(slot: number, ended: EndedBadly): void {
    const { request, record, route, status, atMs, endedAtMs } = ended
    const { id, method } = request
    const numbers = this.#numbers
    const text = slot * bytesOfSlot
    this.#hashes[slot] = write(this.#texts, text, id, idLength)
    write(this.#texts, text + idLength, record.path, pathLength)
    const { refusal, stand, caller, turnedAway } = record
    const said = this.#said
    said.method[slot] = method
    said.code[slot] = refusal?.code
    said.reason[slot] = refusal?.reason
    said.of[slot] = refusal?.of
    said.caller[slot] = caller ?? turnedAway
    said.route[slot] = record.route.label
    const { needs } = record.route
    said.needs[slot] = needs
    said.has[slot] = needs && caller && scopesText(caller)
    said.upstream[slot] = route.upstream
    said.target[slot] = record.target
    said.config[slot] = route.config
    // Without a caller the decision is about its address, and none of a store.
    said.decidedBy[slot] = caller && stand?.decision.decidedBy
    const first = slot * numbersOfSlot
    numbers[first + at.timeMs] = atMs
    numbers[first + at.status] = status
    numbers[first + at.idLength] = Math.min(id.length, idLength)
    numbers[first + at.pathLength] = record.path.length
    const cost = stand?.decision.cost ?? 0
    const answered = answeredCost(record)
    numbers[first + at.cost] = answered?.cost ?? cost
    numbers[first + at.estimate] = answered ? cost : -1
    const full = refusal?.of && stand && decisiveWindow(stand.decision, stand.limits)
    if (full) {
      numbers[first + at.ofLimit] = full.limit
      numbers[first + at.ofUsed] = full.limit - full.remaining
      numbers[first + at.ofResetMs] = full.resetMs
    }
    for (const [i, window] of windows.entries()) {
      const place = first + placeOfWindow(i)
      const limit = stand ? limitOf(stand.limits, window) : Infinity
      const limited = limit === Infinity ? undefined : stand
      numbers[place] = limit
      numbers[place + 1] = limited ? usedBy(limited.decision, window) : 0
      numbers[place + 2] = limited ? numberOf(limited.decision.seen, window) : 0
    }
    numbers[first + at.strikes] = stand?.decision.strikes ?? 0
    numbers[first + at.strikesToBan] = record.terms?.bans?.strikes ?? 0
    numbers[first + at.bannedUntilMs] = stand?.decision.bannedUntilMs ?? 0
    const { beganAtMs, sentAtMs, answeredAtMs, shareTaken } = record
    numbers[first + at.underWay] = shareTaken?.underWay ?? 0
    numbers[first + at.share] = shareTaken?.share ?? 0
    numbers[first + at.ownMs] = (sentAtMs || endedAtMs) - beganAtMs
    numbers[first + at.upstreamMs] = sentAtMs > 0 ? (answeredAtMs || endedAtMs) - sentAtMs : -1
  }

  /** The short hash of a slot's id. */
  hashAt(slot: number): number {
    return this.#hashes[slot] ?? 0
  }

  idAt(slot: number): string {
    return this.#text(slot, 0, this.#number(slot, at.idLength))
  }

  timeAt(slot: number): number {
    return this.#number(slot, at.timeMs)
  }

  read(slot: number): KeptRefusal {
    const said = this.#said
    return keptRefusal(
      this.idAt(slot),
      this.#pathAt(slot),
      {
        method: said.method[slot] ?? '',
        code: said.code[slot],
        reason: said.reason[slot],
        of: said.of[slot],
        caller: said.caller[slot],
        route: said.route[slot] ?? '',
        needs: said.needs[slot],
        has: said.has[slot],
        upstream: said.upstream[slot] ?? '',
        target: said.target[slot],
        config: said.config[slot] ?? '',
        decidedBy: said.decidedBy[slot],
      },
      (place) => this.#number(slot, place),
    )
  }

  /** Slots from one up to another, column by column. */
  columns(first: number, end: number): RefusalColumns {
    const slots = Array.from({ length: end - first }, (_, i) => first + i)
    const said = Object.entries(this.#said)
    return {
      hashes: this.#hashes.slice(first, end),
      ids: slots.map((slot) => this.idAt(slot)),
      paths: slots.map((slot) => this.#pathAt(slot)),
      numbers: numberNames.map((_, place) => this.#column(place, first, end)),
      said: Object.fromEntries(said.map(([name, values]) => [name, values.slice(first, end)])),
    }
  }

  /** A number of each slot; the one number alone if all have the same, as most do. */
  #column(place: number, first: number, end: number): number | readonly number[] {
    const number = this.#number(first, place)
    let slot = first + 1
    while (slot < end && this.#number(slot, place) === number) slot++
    if (slot >= end) return number
    const numbers: number[] = []
    for (slot = first; slot < end; slot++) numbers.push(this.#number(slot, place))
    return numbers
  }

  /** The path of a slot, without tokens. */
  #pathAt(slot: number): string {
    const length = this.#number(slot, at.pathLength)
    const text = this.#text(slot, idLength, Math.min(length, pathLength))
    // Where it was cut, a part of a token may be at its end.
    return length > pathLength
      ? `${loggable(text.replace(/(?<![\w%])[\w%]+$/, ''))}…`
      : loggable(text)
  }

  #text(slot: number, offset: number, length: number): string {
    const first = slot * bytesOfSlot + offset
    return this.#texts.toString('latin1', first, first + length)
  }

  #number(slot: number, place: number): number {
    return this.#numbers[slot * numbersOfSlot + place] ?? 0
  }
}

function listOf<Value>(value: Value): Value[] {
  return new Array<Value>(blockSize).fill(value)
}

/** Writes characters as bytes, which ids and paths of HTTP/1.1 are; returns the hash of what was written. */
function write(bytes: Uint8Array, offset: number, text: string, longest: number): number {
  const length = Math.min(text.length, longest)
  let hash = 0
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    bytes[offset + i] = code
    hash = (Math.imul(hash, 31) + code) | 0
  }
  return hash
}

/** The short hash of an id, by which slots are found. */
export function hashOf(text: string): number {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}
