import type { Reason, Refusal, RefusalCode } from '../../../shared/refusal.ts'
import { loggable } from '../../../shared/log.ts'
import type { Caller } from '../keys/caller.ts'
import type { ShareTaken } from '../http/fair-share.ts'
import { numberOf } from '../limits/counters.ts'
import { decisiveWindow } from '../limits/headers.ts'
import { limitOf } from '../limits/limits.ts'
import { usedBy, type Decision } from '../limits/step.ts'
import { endsAtMs, numberAt, windows, type WindowName } from '../../../shared/windows.ts'
import { answeredCost } from '../answered-cost.ts'
import type { Ended } from './ended.ts'

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

/** One window of a kept answer; `used` is unknown if only a cached ban decided. */
export type KeptWindow = Readonly<{ limit: number; used: number | undefined; resetMs: number }>

/** One refused or failed answer, as it is kept. Times are milliseconds since 1970. */
export type KeptRefusal = Readonly<{
  id: string
  atMs: number
  method: string
  /** Without its query and without tokens; only the beginning if it ends with `…`. */
  path: string
  status: number
  code: RefusalCode | undefined
  reason: Reason | undefined
  /** The operation or the cap whose limit is used up. */
  of: Refusal['of']
  caller: Pick<Caller, 'id' | 'name' | 'plan' | 'account' | 'isTest'> | undefined
  route: string
  upstream: string
  target: string | undefined
  config: string
  /** `undefined` without a caller: the windows are those of its address then. */
  decidedBy: Decision['decidedBy'] | undefined
  cost: number
  /** What it was admitted with, where its answer tells the cost. */
  estimate: number | undefined
  /** The window of that operation or cap. */
  ofWindow: KeptWindow | undefined
  /** The windows that have a limit. */
  windows: Partial<Record<WindowName, KeptWindow>>
  strikes: number
  bannedUntilMs: number
  /** Of a request over its quota's share of an upstream. */
  shareTaken: ShareTaken
  ownMs: number
  upstreamMs: number | undefined
}>

/** The numbers of a slot, by their places in it. */
const at = {
  timeMs: 0,
  status: 1,
  idLength: 2,
  pathLength: 3,
  cost: 4,
  strikes: 5,
  bannedUntilMs: 6,
  ownMs: 7,
  upstreamMs: 8,
  underWay: 9,
  share: 10,
  /** Of the operation or cap whose limit is used up. */
  ofLimit: 11,
  ofUsed: 12,
  ofResetMs: 13,
  /** -1 for none. */
  estimate: 14,
  /** The limit, the use and the number of each window. */
  windows: 15,
} as const

const numbersOfWindow = 3
const numbersOfSlot = at.windows + windows.length * numbersOfWindow
const bytesOfSlot = idLength + pathLength

/** Slots that are made together. */
export const blockSize = 1_000

/** A thousand slots, each for a refused or failed answer. They refer only to texts and callers that live longer anyway. */
export class RefusalBlock {
  readonly #numbers = new Float64Array(blockSize * numbersOfSlot)
  readonly #texts = new Uint8Array(blockSize * bytesOfSlot)
  readonly #hashes = new Int32Array(blockSize)
  readonly #methods = listOf('')
  readonly #codes = listOf<RefusalCode | undefined>(undefined)
  readonly #reasons = listOf<Reason | undefined>(undefined)
  readonly #ofs = listOf<Refusal['of']>(undefined)
  readonly #callers = listOf<Caller | undefined>(undefined)
  readonly #routes = listOf('')
  readonly #upstreams = listOf('')
  readonly #targets = listOf<string | undefined>(undefined)
  readonly #configs = listOf('')
  readonly #deciders = listOf<Decision['decidedBy'] | undefined>(undefined)

  /** Writes an answer into a slot, over the one before. */
  write(slot: number, ended: EndedBadly, path: string): void {
    const { request, record, route, status, atMs, endedAtMs } = ended
    const { id, method } = request
    const numbers = this.#numbers
    const text = slot * bytesOfSlot
    this.#hashes[slot] = write(this.#texts, text, id, idLength)
    write(this.#texts, text + idLength, path, pathLength)
    const { refusal, standing, caller, turnedAway } = record
    this.#methods[slot] = method
    this.#codes[slot] = refusal?.code
    this.#reasons[slot] = refusal?.reason
    this.#ofs[slot] = refusal?.of
    this.#callers[slot] = caller ?? turnedAway
    this.#routes[slot] = record.route.label
    this.#upstreams[slot] = route.upstream
    this.#targets[slot] = record.target
    this.#configs[slot] = route.config
    // Without a caller the decision is about its address, and none of a store.
    this.#deciders[slot] = caller && standing?.decision.decidedBy
    const first = slot * numbersOfSlot
    numbers[first + at.timeMs] = atMs
    numbers[first + at.status] = status
    numbers[first + at.idLength] = Math.min(id.length, idLength)
    numbers[first + at.pathLength] = path.length
    const cost = standing?.decision.cost ?? 0
    const answered = answeredCost(record)
    numbers[first + at.cost] = answered?.cost ?? cost
    numbers[first + at.estimate] = answered ? cost : -1
    const full = refusal?.of && standing && decisiveWindow(standing.decision, standing.limits)
    if (full) {
      numbers[first + at.ofLimit] = full.limit
      numbers[first + at.ofUsed] = full.limit - full.remaining
      numbers[first + at.ofResetMs] = full.resetMs
    }
    for (const [i, window] of windows.entries()) {
      const place = first + at.windows + i * numbersOfWindow
      numbers[place] = standing ? limitOf(standing.limits, window) : Infinity
      numbers[place + 1] = standing ? usedBy(standing.decision, window) : 0
      numbers[place + 2] = standing ? numberOf(standing.decision.seen, window) : 0
    }
    numbers[first + at.strikes] = standing?.decision.strikes ?? 0
    numbers[first + at.bannedUntilMs] = standing?.decision.bannedUntilMs ?? 0
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
    const number = (place: number): number => this.#number(slot, place)
    const [upstreamMs, estimate] = [number(at.upstreamMs), number(at.estimate)]
    const [atMs, bannedUntilMs] = [number(at.timeMs), number(at.bannedUntilMs)]
    return {
      id: this.idAt(slot),
      atMs,
      method: this.#methods[slot] ?? '',
      path: shownPath(this.#text(slot, idLength, pathLength), number(at.pathLength)),
      status: number(at.status),
      code: this.#codes[slot],
      reason: this.#reasons[slot],
      of: this.#ofs[slot],
      caller: this.#callers[slot],
      route: this.#routes[slot] ?? '',
      upstream: this.#upstreams[slot] ?? '',
      target: this.#targets[slot],
      config: this.#configs[slot] ?? '',
      decidedBy: this.#deciders[slot],
      cost: number(at.cost),
      estimate: estimate < 0 ? undefined : estimate,
      ofWindow: this.#ofs[slot] && {
        limit: number(at.ofLimit),
        used: number(at.ofUsed),
        resetMs: number(at.ofResetMs),
      },
      windows: this.#windows(slot, atMs),
      strikes: number(at.strikes),
      bannedUntilMs,
      shareTaken: { underWay: number(at.underWay), share: number(at.share) },
      ownMs: number(at.ownMs),
      upstreamMs: upstreamMs < 0 ? undefined : upstreamMs,
    }
  }
  #windows(slot: number, atMs: number): KeptRefusal['windows'] {
    return Object.fromEntries(
      windows.flatMap((window, i) => {
        const [limit, used, number] = [0, 1, 2].map((place) =>
          this.#number(slot, at.windows + i * numbersOfWindow + place),
        )
        if (limit === undefined || limit === Infinity) return []
        // A cached ban knows no counters: its windows are those of the time.
        const resetMs = endsAtMs(window, number || numberAt(window, atMs))
        return [[window.name, { limit, used: number ? used : undefined, resetMs }]]
      }),
    )
  }

  #text(slot: number, offset: number, length: number): string {
    const first = slot * bytesOfSlot + offset
    return Buffer.from(this.#texts.subarray(first, first + length)).toString('latin1')
  }

  #number(slot: number, place: number): number {
    return this.#numbers[slot * numbersOfSlot + place] ?? 0
  }
}

/** A path of some length without tokens. Where it was cut, a part of one may be at its end. */
function shownPath(text: string, length: number): string {
  return length > text.length
    ? `${loggable(text.replace(/[\w%]*$/, ''))}…`
    : loggable(text.slice(0, length))
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
