import type { StrangerPoints } from '../../../gateway/front/limits/stranger-store.ts'

/** The points that strangers have sent to a gateway, and those of them that the store has heard of, by minute. */
export class StrangerBook {
  readonly #noted = new Map<number, number>()
  readonly #heard = new Map<number, number>()
  #lostAnswers = 0
  /** The last minute of which some answer was lost. */
  #unsureMinute = 0

  note(minute: number): void {
    add(this.#noted, minute, 1)
  }

  hear(all: readonly StrangerPoints[]): void {
    this.#lostAnswers++
    for (const { number, points } of all) add(this.#heard, number, points)
  }

  /** The gateway has taken an answer. */
  answered(): void {
    this.#lostAnswers--
  }

  /** The points of a minute that the store hasn't heard of; below 0 if it has heard of some twice, for lack of an answer. */
  untoldOf(minute: number): Readonly<{ points: number; isSure: boolean }> {
    const points = (this.#noted.get(minute) ?? 0) - (this.#heard.get(minute) ?? 0)
    if (this.#lostAnswers !== 0) this.#unsureMinute = minute
    const isSure = minute > this.#unsureMinute
    // Earlier minutes are never looked at again.
    for (const sums of [this.#noted, this.#heard]) {
      for (const number of sums.keys()) if (number < minute - 1) sums.delete(number)
    }
    this.#lostAnswers = 0
    return { points, isSure }
  }
}

function add(sums: Map<number, number>, minute: number, points: number): void {
  sums.set(minute, (sums.get(minute) ?? 0) + points)
}
