import type { Reason, RefusalCode } from '../../shared/refusal.ts'
import type { Caller } from '../keys/caller.ts'
import type { Decision } from '../limits/step.ts'
import type { RequestRecord } from '../request-record.ts'

/** The number of answers that are kept. */
export const keptRefusals = 20_000

/** The most answers with one id that are found: callers choose ids, so there may be many. */
export const mostFound = 20

/** The most characters of an id, as `requestIdFrom` takes them. */
const idLength = 128

/** The kept characters of a path. */
const pathLength = 128

/** What a request was, for the record of its refusal. */
export type Refused = Readonly<{
  id: string
  method: string
  /** Without its query. */
  path: string
  status: number
  /** Milliseconds since 1970, where no decision gives the store's time. */
  atMs: number
}>

/** One window of a kept answer; `used` is unknown if only a cached ban decided. */
export type KeptWindow = Readonly<{ limit: number; used: number | undefined; resetMs: number }>

/** One refused or failed answer, as it is kept. Times are milliseconds since 1970. */
export type KeptRefusal = Readonly<{
  id: string
  atMs: number
  method: string
  path: string
  /** Whether `path` is only the beginning. */
  isPathCut: boolean
  status: number
  code: RefusalCode | undefined
  reason: Reason | undefined
  caller: Caller | undefined
  route: string
  upstream: string
  target: string | undefined
  config: string
  /** `undefined` without a caller: the windows are those of its address then. */
  decidedBy: Decision['decidedBy'] | undefined
  cost: number
  minute: KeptWindow | undefined
  day: KeptWindow | undefined
  strikes: number
  bannedUntilMs: number
  ownMs: number
  upstreamMs: number | undefined
}>

/** The numbers of a slot, by their places in it. */
const at = {
  ...{ timeMs: 0, status: 1, idLength: 2, pathLength: 3, cost: 4 },
  ...{ perMinute: 5, minuteUsed: 6, minute: 7, perDay: 8, dayUsed: 9, day: 10 },
  ...{ strikes: 11, bannedUntilMs: 12, ownMs: 13, upstreamMs: 14 },
} as const

const numbersOfSlot = 15
const bytesOfSlot = idLength + pathLength
const minuteMs = 60_000
const dayMs = 86_400_000

/**
 * Keeps the latest refused and failed answers of this gateway, for `explain`. All slots are made once: objects made for
 * each refusal would outlive it, and be left to the full collections. A slot refers only to texts and callers that live
 * longer anyway.
 */
export class RecentRefusals {
  readonly #size: number
  readonly #numbers: Float64Array
  readonly #texts: Uint8Array
  readonly #hashes: Int32Array
  readonly #methods: string[]
  readonly #codes: (RefusalCode | undefined)[]
  readonly #reasons: (Reason | undefined)[]
  readonly #callers: (Caller | undefined)[]
  readonly #routes: string[]
  readonly #upstreams: string[]
  readonly #targets: (string | undefined)[]
  readonly #configs: string[]
  readonly #deciders: (Decision['decidedBy'] | undefined)[]
  #next = 0
  #count = 0
  #latest = 0

  constructor(size = keptRefusals) {
    this.#size = size
    this.#numbers = new Float64Array(size * numbersOfSlot)
    this.#texts = new Uint8Array(size * bytesOfSlot)
    this.#hashes = new Int32Array(size)
    const texts = (): string[] => new Array<string>(size).fill('')
    const nothing = (): undefined[] => new Array<undefined>(size).fill(undefined)
    this.#methods = texts()
    this.#codes = nothing()
    this.#reasons = nothing()
    this.#callers = nothing()
    this.#routes = texts()
    this.#upstreams = texts()
    this.#targets = nothing()
    this.#configs = texts()
    this.#deciders = nothing()
  }

  get count(): number {
    return this.#count
  }

  /** The number of the latest one, counted from 1 since the start. */
  get number(): number {
    return this.#latest
  }

  /** The time of the oldest one; `undefined` if there is none. */
  get sinceMs(): number | undefined {
    if (this.#count === 0) return undefined
    const oldest = this.#count < this.#size ? 0 : this.#next
    return this.#numbers[oldest * numbersOfSlot + at.timeMs]
  }

  /** Keeps one answer, in place of the oldest if all slots are taken. */
  keep({ id, method, path, status, atMs }: Refused, record: RequestRecord, from: Origin): void {
    const slot = this.#next
    this.#next = (slot + 1) % this.#size
    if (this.#count < this.#size) this.#count++
    this.#latest++
    const texts = slot * bytesOfSlot
    this.#hashes[slot] = this.#write(texts, id, idLength)
    this.#write(texts + idLength, path, pathLength)
    const { refusal, standing, caller, turnedAway } = record
    this.#methods[slot] = method
    this.#codes[slot] = refusal?.code
    this.#reasons[slot] = refusal?.reason
    this.#callers[slot] = caller ?? turnedAway
    this.#routes[slot] = record.route
    this.#upstreams[slot] = from.upstream
    this.#targets[slot] = record.target
    this.#configs[slot] = from.config
    // Without a caller the decision is about its address, and none of a store.
    this.#deciders[slot] = caller && standing?.decision.decidedBy
    const numbers = this.#numbers
    const first = slot * numbersOfSlot
    numbers[first + at.timeMs] = standing?.decision.nowMs ?? atMs
    numbers[first + at.status] = status
    numbers[first + at.idLength] = Math.min(id.length, idLength)
    numbers[first + at.pathLength] = path.length
    numbers[first + at.cost] = standing?.decision.cost ?? 0
    numbers[first + at.perMinute] = standing?.limits.perMinute ?? Infinity
    numbers[first + at.minuteUsed] = standing?.decision.minuteUsed ?? 0
    numbers[first + at.minute] = standing?.decision.seen.minute ?? 0
    numbers[first + at.perDay] = standing?.limits.perDay ?? Infinity
    numbers[first + at.dayUsed] = standing?.decision.dayUsed ?? 0
    numbers[first + at.day] = standing?.decision.seen.day ?? 0
    numbers[first + at.strikes] = standing?.decision.strikes ?? 0
    numbers[first + at.bannedUntilMs] = standing?.decision.bannedUntilMs ?? 0
    const { beganAtMs, sentAtMs, answeredAtMs } = record
    numbers[first + at.ownMs] = (sentAtMs || performance.now()) - beganAtMs
    numbers[first + at.upstreamMs] =
      sentAtMs > 0 ? (answeredAtMs || performance.now()) - sentAtMs : -1
  }

  /** The latest answers with an id, the newest first. */
  find(id: string): readonly KeptRefusal[] {
    const found: KeptRefusal[] = []
    if (id.length > idLength) return found
    const hash = hashOf(id)
    for (let back = 1; back <= this.#count && found.length < mostFound; back++) {
      const slot = (this.#next - back + this.#size) % this.#size
      if (this.#hashes[slot] === hash && this.#idAt(slot) === id) found.push(this.#read(slot))
    }
    return found
  }

  /** The latest answers after the one with a number, the oldest first. */
  after(number: number, most: number): readonly KeptRefusal[] {
    const count = Math.min(this.#latest - number, most, this.#count)
    const found: KeptRefusal[] = []
    for (let back = count; back >= 1; back--) {
      found.push(this.#read((this.#next - back + this.#size) % this.#size))
    }
    return found
  }

  /** Writes characters as bytes, which ids and paths of HTTP/1.1 are; returns the hash of the text. */
  #write(offset: number, text: string, longest: number): number {
    const texts = this.#texts
    const length = Math.min(text.length, longest)
    let hash = 0
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      texts[offset + i] = code
      hash = (Math.imul(hash, 31) + code) | 0
    }
    return hash
  }

  #idAt(slot: number): string {
    const offset = slot * bytesOfSlot
    const length = this.#number(slot, at.idLength)
    return Buffer.from(this.#texts.subarray(offset, offset + length)).toString('latin1')
  }

  #number(slot: number, place: number): number {
    return this.#numbers[slot * numbersOfSlot + place] ?? 0
  }

  #read(slot: number): KeptRefusal {
    const number = (place: number): number => this.#number(slot, place)
    const offset = slot * bytesOfSlot + idLength
    const end = offset + Math.min(number(at.pathLength), pathLength)
    const upstreamMs = number(at.upstreamMs)
    const [atMs, bannedUntilMs] = [number(at.timeMs), number(at.bannedUntilMs)]
    // A cached ban knows no counters: its windows are those of the time.
    const isUnknown = number(at.minute) === 0
    const window = (limit: number, used: number, number: number, length: number) =>
      limit === Infinity
        ? undefined
        : {
            limit,
            used: isUnknown ? undefined : used,
            resetMs: ((isUnknown ? Math.floor(atMs / length) : number) + 1) * length,
          }
    return {
      id: this.#idAt(slot),
      atMs,
      method: this.#methods[slot] ?? '',
      path: Buffer.from(this.#texts.subarray(offset, end)).toString('latin1'),
      isPathCut: number(at.pathLength) > pathLength,
      status: number(at.status),
      code: this.#codes[slot],
      reason: this.#reasons[slot],
      caller: this.#callers[slot],
      route: this.#routes[slot] ?? '',
      upstream: this.#upstreams[slot] ?? '',
      target: this.#targets[slot],
      config: this.#configs[slot] ?? '',
      decidedBy: this.#deciders[slot],
      cost: number(at.cost),
      minute: window(number(at.perMinute), number(at.minuteUsed), number(at.minute), minuteMs),
      day: window(number(at.perDay), number(at.dayUsed), number(at.day), dayMs),
      strikes: number(at.strikes),
      bannedUntilMs,
      ownMs: number(at.ownMs),
      upstreamMs: upstreamMs < 0 ? undefined : upstreamMs,
    }
  }
}

/** Where an answer came from: the upstream of its route, and the configuration in force. */
export type Origin = Readonly<{ upstream: string; config: string }>

function hashOf(text: string): number {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}
