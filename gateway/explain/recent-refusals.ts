import type { Reason, RefusalCode } from '../../shared/refusal.ts'
import type { Caller } from '../keys/caller.ts'
import type { ShareTaken } from '../http/fair-share.ts'
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

/** A request and its answer, beside its record. */
export type Refused = Readonly<{
  id: string
  method: string
  /** Without its query. */
  path: string
  status: number
  /** Milliseconds since 1970, where no decision gives the store's time. */
  atMs: number
  /** The end of its answer, by `performance`. */
  endedAtMs: number
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
  /** Of a request over its quota's share of an upstream. */
  shareTaken: ShareTaken
  ownMs: number
  upstreamMs: number | undefined
}>

/** The numbers of a slot, by their places in it. */
const at = {
  ...{ timeMs: 0, status: 1, idLength: 2, pathLength: 3, cost: 4 },
  ...{ perMinute: 5, minuteUsed: 6, minute: 7, perDay: 8, dayUsed: 9, day: 10 },
  ...{ strikes: 11, bannedUntilMs: 12, ownMs: 13, upstreamMs: 14 },
  ...{ underWay: 15, share: 16 },
} as const

const numbersOfSlot = 17
const bytesOfSlot = idLength + pathLength
const minuteMs = 60_000
const dayMs = 86_400_000

/** Slots that are made together. */
const blockSize = 1_000

/** The slots of a thousand answers. They refer only to texts and callers that live longer anyway. */
class Block {
  readonly numbers = new Float64Array(blockSize * numbersOfSlot)
  readonly texts = new Uint8Array(blockSize * bytesOfSlot)
  readonly hashes = new Int32Array(blockSize)
  readonly methods = listOf('')
  readonly codes = listOf<RefusalCode | undefined>(undefined)
  readonly reasons = listOf<Reason | undefined>(undefined)
  readonly callers = listOf<Caller | undefined>(undefined)
  readonly routes = listOf('')
  readonly upstreams = listOf('')
  readonly targets = listOf<string | undefined>(undefined)
  readonly configs = listOf('')
  readonly deciders = listOf<Decision['decidedBy'] | undefined>(undefined)
}

function listOf<Value>(value: Value): Value[] {
  return new Array<Value>(blockSize).fill(value)
}

/**
 * Keeps the latest refused and failed answers of this gateway, for `explain`. Slots are made once: objects made for each
 * refusal would outlive it, and be left to the full collections. They are made when they are needed: 20,000 at once, at
 * the start, cause a collection in the middle of the first requests, and V8 then takes 3 µs more for each request ever
 * after (in `process.nextTick`).
 */
export class RecentRefusals {
  readonly #size: number
  readonly #blocks: Block[] = []
  #next = 0
  #count = 0
  #latest = 0

  readonly #beganAtMs: number

  /** `size` is a multiple of a thousand; `beganAtMs` the time from which on all are kept. */
  constructor(beganAtMs: number, size = keptRefusals) {
    this.#beganAtMs = beganAtMs
    this.#size = size
  }

  get count(): number {
    return this.#count
  }

  /** The number of the latest one, counted from 1 since the start. */
  get number(): number {
    return this.#latest
  }

  /** The time since which all refused and failed answers are kept. */
  get sinceMs(): number {
    return this.#count < this.#size ? this.#beganAtMs : this.#number(this.#next, at.timeMs)
  }

  /** Keeps one answer, in place of the oldest if all slots are taken. */
  keep(
    { id, method, path, status, atMs, endedAtMs }: Refused,
    record: RequestRecord,
    from: Origin,
  ): void {
    const index = this.#next
    this.#next = (index + 1) % this.#size
    if (this.#count < this.#size) this.#count++
    this.#latest++
    const block = (this.#blocks[Math.floor(index / blockSize)] ??= new Block())
    const slot = index % blockSize
    const { numbers, texts } = block
    const text = slot * bytesOfSlot
    block.hashes[slot] = write(texts, text, id, idLength)
    write(texts, text + idLength, path, pathLength)
    const { refusal, standing, caller, turnedAway } = record
    block.methods[slot] = method
    block.codes[slot] = refusal?.code
    block.reasons[slot] = refusal?.reason
    block.callers[slot] = caller ?? turnedAway
    block.routes[slot] = record.route.label
    block.upstreams[slot] = from.upstream
    block.targets[slot] = record.target
    block.configs[slot] = from.config
    // Without a caller the decision is about its address, and none of a store.
    block.deciders[slot] = caller && standing?.decision.decidedBy
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
    const { beganAtMs, sentAtMs, answeredAtMs, shareTaken } = record
    numbers[first + at.underWay] = shareTaken?.underWay ?? 0
    numbers[first + at.share] = shareTaken?.share ?? 0
    numbers[first + at.ownMs] = (sentAtMs || endedAtMs) - beganAtMs
    numbers[first + at.upstreamMs] = sentAtMs > 0 ? (answeredAtMs || endedAtMs) - sentAtMs : -1
  }

  /** The latest answers with an id, the newest first. */
  find(id: string): readonly KeptRefusal[] {
    return this.findLike(hashOf(id), (each) => each === id)
  }

  /** The latest answers whose ids have a hash and pass a check, the newest first. */
  findLike(hash: number, isWanted: (id: string) => boolean): readonly KeptRefusal[] {
    const found: KeptRefusal[] = []
    for (let back = 1; back <= this.#count && found.length < mostFound; back++) {
      const index = (this.#next - back + this.#size) % this.#size
      const isLike = this.#blockOf(index).hashes[index % blockSize] === hash
      if (isLike && isWanted(this.#idAt(index))) found.push(this.#read(index))
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

  #blockOf(index: number): Block {
    const block = this.#blocks[Math.floor(index / blockSize)]
    if (block) return block
    throw new Error('nothing is kept in this slot yet')
  }

  #idAt(index: number): string {
    return this.#text(index, 0, this.#number(index, at.idLength))
  }

  #text(index: number, offset: number, length: number): string {
    const first = (index % blockSize) * bytesOfSlot + offset
    return Buffer.from(this.#blockOf(index).texts.subarray(first, first + length)).toString(
      'latin1',
    )
  }

  #number(index: number, place: number): number {
    return this.#blockOf(index).numbers[(index % blockSize) * numbersOfSlot + place] ?? 0
  }

  #read(index: number): KeptRefusal {
    const block = this.#blockOf(index)
    const slot = index % blockSize
    const number = (place: number): number => this.#number(index, place)
    const pathEnd = Math.min(number(at.pathLength), pathLength)
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
      id: this.#idAt(index),
      atMs,
      method: block.methods[slot] ?? '',
      path: this.#text(index, idLength, pathEnd),
      isPathCut: number(at.pathLength) > pathLength,
      status: number(at.status),
      code: block.codes[slot],
      reason: block.reasons[slot],
      caller: block.callers[slot],
      route: block.routes[slot] ?? '',
      upstream: block.upstreams[slot] ?? '',
      target: block.targets[slot],
      config: block.configs[slot] ?? '',
      decidedBy: block.deciders[slot],
      cost: number(at.cost),
      minute: window(number(at.perMinute), number(at.minuteUsed), number(at.minute), minuteMs),
      day: window(number(at.perDay), number(at.dayUsed), number(at.day), dayMs),
      strikes: number(at.strikes),
      bannedUntilMs,
      shareTaken: { underWay: number(at.underWay), share: number(at.share) },
      ownMs: number(at.ownMs),
      upstreamMs: upstreamMs < 0 ? undefined : upstreamMs,
    }
  }
}

/** Where an answer came from: the upstream of its route, and the configuration in force. */
export type Origin = Readonly<{ upstream: string; config: string }>

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
