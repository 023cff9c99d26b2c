/** How often it is looked, within the time that a store has, whether its answers have come. */
const looks = 10

/** How late a timer may be by itself, and what part of its time a look counts that comes later. */
const timerMs = 1.5
const late = 0.2

/** How long a store is waited for beyond its time at most, by a loop that hardly comes to look. */
export const longestGraceMs = 5_000

/** Something that was asked, and is waited for. */
export type Wait = { isOver: boolean; readonly late: () => void }

type Waiting = Readonly<{ wait: Wait; askedAtMs: number; dueAtMs: number }>

/**
 * Gives a store its time to answer, by a clock that goes while the loop looks for answers punctually: a
 * gateway that is late itself takes no store for late.
 *
 * Between two looks all that lies ready is read, so each look says of the time since the last that nothing
 * has come in it. One that comes late says little: its loop was away, or processors are short, for the store
 * as well. One timer serves all who wait, and none runs while nobody does.
 */
export class Patience {
  readonly timeoutMs: number
  readonly #everyMs: number
  /** How much time a store that was asked all along would have had by the last look. */
  #givenMs = 0
  #lookedAtMs = 0
  #timer: NodeJS.Timeout | undefined
  /** In the order in which they have asked. */
  #waiting: Waiting[] = []

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs
    this.#everyMs = timeoutMs / looks
  }

  /** Tells who waits when it has been long enough, unless it is over by then. */
  add(wait: Wait, askedAtMs: number): void {
    if (this.#waiting.length === 0) {
      this.#lookedAtMs = askedAtMs
      if (this.#timer) this.#timer.refresh()
      else this.#timer = setTimeout(this.#look, this.#everyMs)
    }
    const dueAtMs = this.#givenMs + this.#sinceLook(askedAtMs) + this.timeoutMs
    this.#waiting.push({ wait, askedAtMs, dueAtMs })
  }

  /** What the time since the last look counts. A timer is up to a millisecond late by itself. */
  #sinceLook(nowMs: number): number {
    const sinceMs = nowMs - this.#lookedAtMs
    return sinceMs <= this.#everyMs + timerMs ? sinceMs : this.#everyMs * late
  }

  readonly #look = (): void => {
    const nowMs = performance.now()
    this.#givenMs += this.#sinceLook(nowMs)
    this.#lookedAtMs = nowMs
    let done = 0
    for (const { wait, askedAtMs, dueAtMs } of this.#waiting) {
      if (!wait.isOver) {
        if (this.#givenMs < dueAtMs && nowMs - askedAtMs < this.timeoutMs + longestGraceMs) break
        // What has come since the last look is read first.
        setImmediate(wait.late)
      }
      done++
    }
    if (done > 0) this.#waiting.splice(0, done)
    if (this.#waiting.length > 0) this.#timer?.refresh()
  }
}
