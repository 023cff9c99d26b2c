import { StoreUnavailable } from '../../shared/store-errors.ts'
import type { Draws } from './draws.ts'
import type { Answer, Message } from './messages.ts'
import type { StoreDoor } from './store-door.ts'
import type { Timeline } from './timeline.ts'

/** The way between one gateway and the store. Numbers say how seldom something happens; 0 is never. */
export type Way = {
  losesQuestions: number
  losesAnswers: number
  doublesAnswers: number
  /** The longest time of one direction. */
  longestMs: number
  isCut: boolean
}

export function goodWay(): Way {
  return { losesQuestions: 0, losesAnswers: 0, doublesAnswers: 0, longestMs: 2, isCut: false }
}

/** Brings questions to the store and answers back: late, in another order, twice, or never. */
export class Network {
  readonly #timeline: Timeline
  readonly #draws: Draws
  readonly #door: StoreDoor

  constructor(timeline: Timeline, draws: Draws, door: StoreDoor) {
    this.#timeline = timeline
    this.#draws = draws
    this.#door = door
  }

  send(
    message: Message,
    { name, way }: Readonly<{ name: string; way: Way }>,
    answered: (answer: Answer) => void,
    failed: (error: Error) => void,
  ): void {
    if (way.isCut) return this.#after(way, () => failed(new StoreUnavailable('it is cut off')))
    if (this.#happens(way.losesQuestions)) return
    const answer = (answer: Answer): void => {
      if (this.#happens(way.losesAnswers)) return
      this.#after(way, () => answered(answer))
      if (this.#happens(way.doublesAnswers)) this.#after(way, () => answered(answer))
    }
    this.#after(way, () => this.#door.ask(message, name, answer, failed))
  }

  #happens(onceIn: number): boolean {
    return onceIn > 0 && this.#draws.onceIn(onceIn)
  }

  #after({ longestMs }: Way, run: () => void): void {
    this.#timeline.later(run, this.#draws.below(longestMs + 1))
  }
}
