/** When a question was sent and answered, by the clock of `performance`. */
export type Asked = Readonly<{ sentAtMs: number; answeredAtMs: number }>

/** How fast what was learnt is doubted: with each answer by a tenth. */
const doubt = 1.1

/** Another machine's clock as it can be known from its answers: exact to half of the shortest way there and back. */
export class RemoteClock {
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
