/** The number of checks within one time limit. */
const checks = 10

/** How late a timer may be on an idle loop. */
const timerMs = 1.5

/** The part of its interval that a later check counts. */
const lateShare = 0.2

/** The longest wait beyond the time limit, on a loop that is hardly ever idle. */
export const longestGraceMs = 5_000

/** A question that waits for its answer. */
export type Wait = { isOver: boolean; readonly late: () => void }

type Waiting = Readonly<{ wait: Wait; askedAtMs: number; dueAtMs: number }>

/**
 * The time limits of questions to a store. Their clock runs only while the loop checks for answers on time,
 * so that a gateway that is late itself doesn't take the store for late.
 *
 * Between two checks the loop reads all answers that have arrived, so a check proves that none arrived since
 * the last one. A late check proves little: the loop was busy, or processors are short, for the store as
 * well. One timer serves all questions, and none runs without a question.
 */
export class AnswerTimeouts {
  readonly timeoutMs: number
  readonly #everyMs: number
  /** The time that a store would have had until the last check, if it had been asked all along. */
  #givenMs = 0
  #checkedAtMs = 0
  #timer: NodeJS.Timeout | undefined
  /** In the order of their questions. */
  #waiting: Waiting[] = []

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs
    this.#everyMs = timeoutMs / checks
  }

  /** Calls `wait.late` when the time limit is over, unless the wait is over by then. */
  add(wait: Wait, askedAtMs: number): void {
    if (this.#waiting.length === 0) {
      this.#checkedAtMs = askedAtMs
      if (this.#timer) this.#timer.refresh()
      else this.#timer = setTimeout(this.#check, this.#everyMs)
    }
    const dueAtMs = this.#givenMs + this.#sinceCheck(askedAtMs) + this.timeoutMs
    this.#waiting.push({ wait, askedAtMs, dueAtMs })
  }

  /** The part of the time since the last check that counts. */
  #sinceCheck(nowMs: number): number {
    const sinceMs = nowMs - this.#checkedAtMs
    return sinceMs <= this.#everyMs + timerMs ? sinceMs : this.#everyMs * lateShare
  }

  readonly #check = (): void => {
    const nowMs = performance.now()
    this.#givenMs += this.#sinceCheck(nowMs)
    this.#checkedAtMs = nowMs
    let done = 0
    for (const { wait, askedAtMs, dueAtMs } of this.#waiting) {
      if (!wait.isOver) {
        if (this.#givenMs < dueAtMs && nowMs - askedAtMs < this.timeoutMs + longestGraceMs) break
        // Answers that have arrived since the last check are read first.
        setImmediate(wait.late)
      }
      done++
    }
    if (done > 0) this.#waiting.splice(0, done)
    if (this.#waiting.length > 0) this.#timer?.refresh()
  }
}
