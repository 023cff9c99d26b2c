import type { Decision } from '../front/limits/step.ts'
import { numberAt, windowOf } from '../../shared/windows.ts'

const month = windowOf('month')

/** A request that was let in, and what a model knows of it. */
export type Admitted = Readonly<{
  month: number
  epoch: number
  took: number
  room: number
  cost: number
  decision: Decision
}>

/** A month of included points and a purse, told plainly. */
export class PurseModel {
  #used = 0
  #taken = 0
  #left = 0
  #epoch = 0
  #month = 0

  roll(nowMs: number): void {
    const number = numberAt(month, nowMs)
    if (number === this.#month) return
    this.#month = number
    this.#used = this.#taken = 0
  }

  reset(): void {
    this.#epoch++
    this.#used = this.#taken = 0
  }

  topUp(points: number): string {
    if (points < 0 && this.#left + points < 0) return 'short'
    this.#left += points
    return 'done'
  }

  ask(cost: number, needed: number): [string, Omit<Admitted, 'cost' | 'decision'> | undefined] {
    const isAdmitted = needed <= this.#room + Math.max(0, this.#left) || needed === 0
    const took = isAdmitted ? Math.max(0, cost - this.#room) : 0
    if (isAdmitted) this.#take(cost, took)
    const verdict = isAdmitted ? 'admitted' : 'refused'
    const limit = this.#used + this.#room + Math.max(0, this.#left)
    const admitted = { month: this.#month, epoch: this.#epoch, took, room: this.#room }
    return [
      [verdict, this.#room, this.#left, limit, took].join(' '),
      isAdmitted && cost > 0 ? admitted : undefined,
    ]
  }

  adjust(points: number, { month, epoch, took, room }: Admitted): void {
    const isRunning = month === this.#month && epoch === this.#epoch
    if (points < 0) {
      const back = Math.min(-points, isRunning ? this.#taken : took)
      this.#left += back
      if (!isRunning) return
      this.#taken -= back
      this.#used -= Math.min(-points, this.#used)
    } else {
      const more = Math.max(0, points - (isRunning ? this.#room : room))
      this.#left -= more
      if (!isRunning) return
      this.#taken += more
      this.#used += points
    }
  }

  get #room(): number {
    return Math.max(0, 10 - (this.#used - this.#taken))
  }

  #take(cost: number, took: number): void {
    this.#used += cost
    this.#taken += took
    this.#left -= took
  }
}
