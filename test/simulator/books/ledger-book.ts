import { dayWindow } from '../../../shared/windows.ts'
import { limitOf, type Limits } from '../../../gateway/front/limits/limits.ts'
import { add, blur, Entries } from './count.ts'

/** The days that are kept; the ledger looks at three. */
const mostDays = 10

/** The books of the ledger: the points of each day, whatever was reset since, and those that weren't included. */
export class LedgerBook {
  readonly points = new Entries(mostDays)
  readonly beyond = new Entries(mostDays)
  #isPrepaid = false
  /** By day. With several, or with one that a grant raised, nobody can tell by the sum what was beyond. */
  readonly #included = new Map<number, number>()

  add(day: number, points: number, included: Limits | undefined): void {
    const ofDay = this.points.at(day)
    add(ofDay, points)
    const limit = included ? limitOf(included, dayWindow) : Infinity
    if (this.#included.has(day) && this.#included.get(day) !== limit) this.blurBeyond(day)
    this.#included.set(day, limit)
    if (this.#included.size > mostDays) this.#included.delete(Math.min(...this.#included.keys()))
    this.beyond.at(day).used = Math.max(0, ofDay.used - limit)
  }

  /** Of a quota with a prepaid window, whose bought points are known one by one. */
  addBought(day: number, points: number, bought: number): void {
    this.#isPrepaid = true
    add(this.points.at(day), points)
    add(this.beyond.at(day), bought)
  }

  /** Something has changed by which nobody can tell what was metered. */
  blurMetered(today: number): void {
    if (!this.#isPrepaid) this.blurBeyond(today)
  }

  blurBeyond(today: number): void {
    for (const day of [today, today + 1]) this.beyond.at(day)
    for (const entry of this.beyond.all) blur(entry)
  }
}
