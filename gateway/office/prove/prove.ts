import { Asker, OutOfTime, type AskerOptions } from './asker.ts'
import { isWrong, rowsOf, sumOf, type Row, type Sample, type Samples } from './rows.ts'
import { headerFault, tellingOf, type Answer } from './told.ts'

export type ProveOptions = AskerOptions & Readonly<{ passes: number }>

/** The beginning of a window: its first request, and the last one that was refused before. */
type Began = Readonly<{ before: Answer; first: Answer }>

/**
 * Measures a gateway from outside. A window's beginning is told by the answers alone: it lies between the last refusal and
 * the first admission. Answers that may have come after the window's end are no proof, and the pass is repeated.
 */
export async function prove(options: ProveOptions): Promise<readonly Row[]> {
  const proof = new Proof(options)
  try {
    for (let passes = 0; passes < options.passes && !proof.isWrong;) {
      if (await proof.pass()) passes++
    }
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error
    proof.judgeFirst()
  } finally {
    await proof.asker.close()
  }
  return rowsOf(proof.samples, proof.slides)
}

class Proof {
  readonly asker: Asker
  readonly samples: Samples = { burst: [], edge: [], burnt: [], waiting: [], headers: [] }
  /** Whether windows slide. */
  slides = false
  readonly #options: ProveOptions
  readonly #stepMs: number
  /** The requests of a burst: half the limit is refused beyond it. */
  readonly #burst: number

  constructor(options: ProveOptions) {
    this.asker = new Asker(options)
    this.#options = options
    this.#stepMs = options.windowMs / 20
    this.#burst = Math.ceil(options.limit * 1.5)
  }

  get isWrong(): boolean {
    return Object.values(this.samples).some((each) => each.some(isWrong))
  }

  /** One after the other: a window is used up, the next one at its end, and the third at its beginning; gives whether all was told. */
  async pass(): Promise<boolean> {
    const { windowMs, limit } = this.#options
    const refused = await this.#waited(await this.#fill())
    const first = refused && (await this.#next(refused))
    if (!first) return false
    const filled = admittedIn(this.asker.answers)
    await this.asker.until(first.before.sentMs + windowMs / 2)
    const late = await this.asker.burst(this.#burst)
    const one = this.#sampleOf(first, late)
    if (!one || (one.admitted < limit && this.#maySlide(filled, late))) return false
    this.samples.burst.push(one)
    this.#checkHeaders([first.first, ...late])
    const last = late.find(({ isAdmitted }) => !isAdmitted)
    const second = last && (await this.#next(last, first.before.sentMs + windowMs - this.#stepMs))
    return second !== undefined && this.#passEdge(one, second, lastMs(late))
  }

  async #passEdge(one: Sample, second: Began, lateMs: number): Promise<boolean> {
    const { windowMs, limit } = this.#options
    const early = await this.asker.burst(this.#burst)
    const two = this.#sampleOf(second, early)
    if (!two) return false
    if (two.admitted >= limit) {
      this.samples.burnt.push(two)
      this.#checkHeaders([second.first, ...early])
    } else {
      // Where windows slide, all of its room has come when the late ones are that old.
      await this.asker.until(lateMs + windowMs)
      const whole = this.#sampleOf(second, [...early, ...(await this.asker.burst(this.#burst))])
      if (!whole) return false
      this.samples.burnt.push(whole)
      this.slides ||= whole.admitted === limit
    }
    this.samples.edge.push(sumOf([one, two]))
    return true
  }

  /** Judges the first burst where no other window comes in time, if it is known what fitted in. */
  judgeFirst(): void {
    const { limit, windowMs } = this.#options
    const { answers } = this.asker
    const [first] = answers
    const refused = answers.find(({ isAdmitted }) => !isAdmitted)
    if (!first?.isAdmitted || !refused || this.samples.burst.length > 0) return
    const { length: admitted } = admittedIn(answers)
    const told = first.told?.limit === limit ? first.told.remaining + 1 : undefined
    const due = told ?? limit
    // Else another window may have begun meanwhile, or this one have been used before.
    const isOne =
      (refused.waitMs ?? Infinity) < windowMs - (refused.answeredMs - first.sentMs) - 1_000
    if (admitted === due || (isOne && (told !== undefined || admitted > limit))) {
      this.samples.burst.push({ sent: answers.length, admitted, due })
    }
  }

  /** Uses a window up, and gives a refusal behind all that was let in; `undefined` if more than two windows let in don't give one. */
  async #fill(): Promise<Answer | undefined> {
    const { limit, connections, windowMs } = this.#options
    // Few at once, so that few are refused.
    const atOnce = Math.min(connections, Math.ceil(limit / 10))
    const all: Answer[] = []
    while (all.length <= 2 * limit) {
      all.push(...(await this.asker.burst(atOnce)))
      if (all.every(({ isAdmitted }) => isAdmitted)) continue
      const last = await this.asker.ask()
      if (!last.isAdmitted) return last
      all.push(last)
    }
    const sum = { sent: all.length, admitted: admittedIn(all).length, due: 2 * limit }
    const isTooMany = sum.admitted > sum.due && lastMs(all) < (all[0]?.sentMs ?? 0) + windowMs
    if (isTooMany) this.samples.burst.push(sum)
    return undefined
  }

  /** Whether windows that slide, and are exact, may have no room yet: for what was let in last while one was used up. */
  #maySlide(filled: readonly Answer[], late: readonly Answer[]): boolean {
    const { windowMs, limit } = this.#options
    const { answeredMs = 0 } = filled.at(-1) ?? {}
    const isTooMany = filled.filter((each) => each.sentMs > answeredMs - windowMs).length > limit
    const fillEndMs = lastMs(filled.slice(0, -1))
    return !isTooMany && late.some(({ sentMs }) => sentMs - windowMs <= fillEndMs)
  }

  /** Waits exactly as long as is told, where the end of a window is otherwise found before: then it is used up again. */
  async #waited(refused: Answer | undefined): Promise<Answer | undefined> {
    if (refused?.waitMs === undefined || this.#options.windowMs > 1_000) return refused
    await this.asker.until(refused.answeredMs + refused.waitMs)
    this.#judgeWait(await this.asker.ask())
    return this.#fill()
  }

  /** Asks until the next window has begun: now and then, or shortly before it is told to begin. */
  async #next(refused: Answer, earliestMs = 0): Promise<Began | undefined> {
    const { windowMs, limit } = this.#options
    const { answeredMs, waitMs } = refused
    const toldMs = waitMs === undefined ? undefined : answeredMs + waitMs
    const soonMs = (toldMs ?? 0) - Math.max(this.#stepMs, 1_000)
    let before = refused
    let atMs = Math.max(answeredMs, earliestMs, soonMs)
    while (before.sentMs < answeredMs + 2 * windowMs + 1_000) {
      await this.asker.until(atMs)
      const answer = await this.asker.ask()
      if (toldMs && before.sentMs < toldMs && answer.sentMs >= toldMs) this.#judgeWait(answer)
      if (answer.isAdmitted) return { before, first: answer }
      before = answer
      atMs = answer.sentMs + this.#stepMs
      if (toldMs && answer.sentMs < toldMs) atMs = Math.min(atMs, toldMs)
    }
    const fault = 'nothing is let in for two windows'
    this.samples.burnt.push({ sent: 1, admitted: 0, due: limit, fault })
    return undefined
  }

  /** What was let in of a window; `undefined` if some of it may have come behind its end. */
  #sampleOf({ before, first }: Began, burst: readonly Answer[]): Sample | undefined {
    const all = [first, ...burst]
    if (lastMs(all) >= before.sentMs + this.#options.windowMs) return undefined
    const admitted = admittedIn(all).length
    return { sent: all.length, admitted, due: this.#options.limit }
  }

  #checkHeaders(answers: readonly Answer[]): void {
    const telling = tellingOf(answers, this.#options.limit)
    const { length: due } = telling
    const fault = headerFault(telling, this.#options.limit)
    if (due > 0) this.samples.headers.push({ sent: answers.length, admitted: due, due, fault })
  }

  #judgeWait({ isAdmitted }: Answer): void {
    this.samples.waiting.push({ sent: 1, admitted: Number(isAdmitted), due: 1 })
  }
}

function admittedIn(answers: readonly Answer[]): Answer[] {
  return answers.filter(({ isAdmitted }) => isAdmitted)
}

function lastMs(answers: readonly Answer[]): number {
  return Math.max(...answers.map(({ answeredMs }) => answeredMs))
}
