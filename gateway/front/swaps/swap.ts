import { hash } from 'node:crypto'
import type { SwapSettings, UpstreamSettings } from '../config/config.ts'
import { measureOf, reasonToGoBack } from './judge.ts'
import type { SwapProgress } from './progress.ts'
import { RoundCounts, sumOf } from './side-counts.ts'
import type { SeenSwap, SwapName } from './store.ts'

/** All callers, in thousandths of a percent: the unit of a step's share. */
const everybody = 100_000

/** How fast what was learnt is doubted: with each answer by a tenth. */
const doubt = 1.1

/** When a question was sent and answered, by the clock of `performance`. */
type Asked = Readonly<{ sentAtMs: number; answeredAtMs: number }>

/** An upstream whose swap is described in the configuration. */
export type SwappedUpstream = UpstreamSettings & Readonly<{ swap: SwapSettings }>

export function isSwapped(upstream: UpstreamSettings): upstream is SwappedUpstream {
  return upstream.swap !== undefined
}

export function swapNameOf({ name, swap }: SwappedUpstream): SwapName {
  return { upstream: name, id: hash('sha256', JSON.stringify(swap)).slice(0, 12) }
}

/**
 * A swap as one process knows it: which callers go to the new side, and what came of it. Each process follows the progress
 * in the store, and counts its own requests.
 */
export class Swap {
  readonly name: SwapName
  readonly settings: SwapSettings
  /** As it was seen last; `undefined` before the first look. */
  seen: SeenSwap | undefined
  /** The counts of this process in the present round. */
  #counts = new RoundCounts()
  #round = -1
  /** Why this process goes back, before the store knows of it. */
  #alarm: string | undefined
  /** The callers that go to the new side, of `everybody`. */
  #share = 0
  /** Whether all requests go to the new side: after the last step. */
  #isAll = false
  #inForce = -1
  /** The moment at which the present step begins, by the clock of `performance`; 0 once it has. */
  #dueAtMs = 0
  /** The store's clock less that of `performance`. */
  #clock = new RemoteClock()

  constructor(name: SwapName, settings: SwapSettings) {
    this.name = name
    this.settings = settings
  }

  get progress(): SwapProgress | undefined {
    return this.seen?.progress
  }

  /** The counts of this process, with the round that they belong to. */
  get counts(): Readonly<{ round: number; counts: string }> {
    return { round: this.#round, counts: this.#counts.toText() }
  }

  /** Whether a request goes to the new side. The answer depends on the caller, so that none sees both by turns. */
  leads(method: string, caller: string): boolean {
    this.#beginIfDue()
    if (this.#isAll) return true
    if (this.#share === 0) return false
    return this.isMeasured(method) && placeOf(this.name.upstream, caller) < this.#share
  }

  /** The step by which callers are led; -1 for none. */
  get stepInForce(): number {
    this.#beginIfDue()
    return this.#inForce
  }

  /** Whether requests of a method can go to either side in a step, so that the sides can be compared by them. */
  isMeasured(method: string): boolean {
    const { methods } = this.settings
    return methods === undefined || methods.includes(method) || this.#isAll
  }

  /** Notes the end of a request at a side; without a duration if it took a second attempt. */
  note(isNew: boolean, caller: string, isFailure: boolean, ms: number | undefined): void {
    const { callers } = this.settings.back
    const side = isNew ? this.#counts.new : this.#counts.old
    side.add(caller, isFailure, ms, callers)
  }

  /**
   * Takes over what the store says. A new round begins with empty counts. A step begins at its moment by the store's
   * clock, so that no caller meets both sides because two gateways differ.
   */
  follow(seen: SeenSwap, asked?: Asked): void {
    this.seen = seen
    if (asked) this.#clock.learn(seen.nowMs, asked)
    const round = seen.progress?.round ?? -1
    if (round !== this.#round) {
      this.#round = round
      this.#counts = new RoundCounts()
      this.#alarm = undefined
    }
    const { sinceMs = 0, from = -1 } = this.progress ?? {}
    const dueAtMs = this.#clock.localOf(sinceMs)
    if (performance.now() >= dueAtMs) return this.#begin()
    this.#goBy(from)
    this.#dueAtMs = dueAtMs
  }

  #beginIfDue(): void {
    if (this.#dueAtMs > 0 && performance.now() >= this.#dueAtMs) this.#begin()
  }

  #begin(): void {
    this.#dueAtMs = 0
    this.#goBy(this.progress?.step ?? 0)
  }

  #goBy(step: number): void {
    const { steps } = this.settings
    const isMoving = this.progress?.state === 'moving' && this.#alarm === undefined
    this.#inForce = isMoving ? step : -1
    this.#isAll = isMoving && step >= steps.length
    this.#share = isMoving ? Math.round((steps[step] ?? 0) * (everybody / 100)) : 0
  }

  /** The sums of all processes, as far as they were told. */
  get sums(): RoundCounts {
    return sumOf(this.seen?.counts ?? [])
  }

  /** Why this swap must go back, if it must: by the fleet's counts, or by this process' own if the store doesn't answer. */
  reason(counts: RoundCounts = this.sums): string | undefined {
    const { progress } = this
    if (progress?.state !== 'moving') return undefined
    return this.#alarm ?? reasonToGoBack(counts, progress.before, this.settings.back)
  }

  /** Sends this process' callers back at once, while the store can't be asked. */
  alarm(): void {
    const why = this.reason(this.#counts)
    if (why === undefined) return
    this.#alarm = why
    this.#begin()
  }

  /** The old side as the next step is measured by. */
  measure(counts: RoundCounts) {
    return measureOf(counts.old.measure, this.progress?.before, this.settings.back)
  }
}

/** Another machine's clock as it can be known from its answers: exact to half of the shortest way there and back. */
class RemoteClock {
  #offsetMs = 0
  #bestMs = Infinity

  learn(nowMs: number, { sentAtMs, answeredAtMs }: Asked): void {
    const wayMs = answeredAtMs - sentAtMs
    this.#bestMs *= doubt
    if (wayMs > this.#bestMs) return
    this.#bestMs = wayMs
    this.#offsetMs = nowMs - (sentAtMs + wayMs / 2)
  }

  /** A moment of that clock, by the clock of `performance`. */
  localOf(ms: number): number {
    return ms - this.#offsetMs
  }
}

/** The place of a caller among `everybody`: the same on each gateway, and another one for each upstream. */
function placeOf(upstream: string, caller: string): number {
  let hash = 0x811c9dc5
  for (const text of [upstream, caller]) {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  // FNV's last letters hardly reach its upper bits: mixed once more, neighbours are far apart.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % everybody
}
