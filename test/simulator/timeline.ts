import type { Later } from '../../shared/clock.ts'

type Planned = {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
  isOver: boolean
}

/**
 * The simulated time, and all that is planned in it. What is planned for one millisecond runs in the order in which it was
 * planned. The clock may leap: what was due meanwhile is late then, as after a pause of the whole machine.
 */
export class Timeline {
  nowMs: number
  #order = 0
  /** A heap: the next one is the first. */
  readonly #planned: Planned[] = []

  constructor(nowMs: number) {
    this.nowMs = nowMs
  }

  readonly clock = (): number => this.nowMs

  /** Times are whole milliseconds. */
  readonly later: Later = (run, afterMs) => {
    const planned = {
      atMs: this.nowMs + Math.floor(afterMs),
      order: this.#order++,
      run,
      isOver: false,
    }
    this.#planned.push(planned)
    this.#rise(this.#planned.length - 1)
    return () => void (planned.isOver = true)
  }

  /** Runs what is next; `false` if nothing is planned. */
  next(): boolean {
    for (;;) {
      const [first] = this.#planned
      if (!first) return false
      const last = this.#planned.pop()
      if (last && last !== first) {
        this.#planned[0] = last
        this.#sink()
      }
      if (first.isOver) continue
      this.nowMs = Math.max(this.nowMs, first.atMs)
      first.run()
      return true
    }
  }

  #rise(at: number): void {
    let place = at
    while (place > 0) {
      const above = (place - 1) >> 1
      if (!this.#isBefore(place, above)) return
      this.#swap(place, above)
      place = above
    }
  }

  #sink(): void {
    let place = 0
    for (;;) {
      const [left, right] = [2 * place + 1, 2 * place + 2]
      let first = place
      if (this.#isBefore(left, first)) first = left
      if (this.#isBefore(right, first)) first = right
      if (first === place) return
      this.#swap(place, first)
      place = first
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [first, second] = [this.#planned[one], this.#planned[other]]
    if (!first || !second) return false
    return first.atMs < second.atMs || (first.atMs === second.atMs && first.order < second.order)
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#planned[one], this.#planned[other]]
    if (!first || !second) return
    this.#planned[one] = second
    this.#planned[other] = first
  }
}
