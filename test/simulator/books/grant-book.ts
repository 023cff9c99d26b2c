import { numberAt, windows, type Window } from '../../../shared/windows.ts'
import { beginningOf, type Counters } from '../../../gateway/front/limits/counters.ts'
import type { Grant, Granted } from '../../../gateway/front/limits/grants.ts'

type Given = Granted & Pick<Grant, 'atMs'>

/** The grants to a quota: each adds points to the windows in which it was given. */
export class GrantBook {
  #grants: readonly Given[] = []

  /** A grant that was given while the clock was set back is one of the windows that run. */
  add(grant: Granted, counters: Counters, nowMs: number): void {
    const atMs = Math.max(nowMs, beginningOf(counters))
    const { monthFrom } = counters
    // Those whose windows have ended are forgotten, also if a month begins on another day afterwards.
    const running = this.#grants.filter((each) =>
      windows.some(
        (window) =>
          (each[window.limit] ?? 0) > 0 &&
          numberAt(window, each.atMs, monthFrom) >= numberAt(window, atMs, monthFrom),
      ),
    )
    this.#grants = [...running, { ...grant, atMs }]
  }

  /** Takes over those that a store has left. */
  takeOver(grants: readonly Given[]): void {
    this.#grants = grants
  }

  /** The points that were granted to a window. */
  in(window: Window, number: number, monthFrom: number): number {
    let sum = 0
    for (const grant of this.#grants) {
      const points = grant[window.limit] ?? 0
      if (points > 0 && numberAt(window, grant.atMs, monthFrom) === number) sum += points
    }
    return sum
  }
}
