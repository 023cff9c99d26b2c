import { takenPart, type Purse } from '../../../gateway/front/limits/purse.ts'
import { limitOf, type Limits } from '../../../gateway/front/limits/limits.ts'
import type { Window } from '../../../shared/windows.ts'
import { agrees, type Entry } from './count.ts'
import type { QuotaBook } from './quota-book.ts'

const newEntry = (): Entry => ({ used: 0, fewer: 0, more: 0 })

/** The points of a purse by the books: what operators added and took, and what requests took and brought back. */
export class PurseBook {
  #bought = newEntry()
  #spent = newEntry()

  /** The bought points that are left, and by how many fewer or more the store may have. */
  get left(): Entry {
    const [bought, spent] = [this.#bought, this.#spent]
    return {
      used: bought.used - spent.used,
      fewer: bought.fewer + spent.more,
      more: bought.more + spent.fewer,
    }
  }

  /** Points of an operator: below 0 they are a correction. */
  topUp(points: number): void {
    this.pay(-points)
  }

  /** Points of requests: those below 0 come back. */
  pay(points: number): void {
    this.#totalOf(points).used += Math.abs(points)
  }

  /** The same, where nobody can tell how many of some points were bought ones. */
  payUpTo(points: number): void {
    this.#totalOf(points).more += Math.abs(points)
  }

  /** The store has lost writes, which gateways may bring back. */
  lose(had: Purse, has: Purse): void {
    this.#bought.fewer += Math.max(0, had.bought - has.bought)
    this.#spent.fewer += Math.max(0, had.spent - has.spent)
  }

  #totalOf(points: number): Entry {
    return points < 0 ? this.#bought : this.#spent
  }

  agreesWith({ bought, spent }: Purse): boolean {
    return agrees(this.#bought, bought) && agrees(this.#spent, spent)
  }

  /** Every gateway has asked since the store lost writes: what it lacks now is lost. */
  takeOver({ bought, spent }: Purse): void {
    this.#bought = { ...newEntry(), used: bought }
    this.#spent = { ...newEntry(), used: spent }
  }
}

/** The included points of a prepaid window that are left, and by how many fewer or more the store may tell. */
export function roomOf(book: QuotaBook, window: Window, number: number, most: number): Entry {
  const used = book.whole.at(window, number)
  const taken = book.part(takenPart).at(window, number)
  return {
    used: Math.max(0, most - Math.max(0, used.used - taken.used)),
    fewer: used.more + taken.fewer,
    more: used.fewer + taken.more,
  }
}

/** The included points of a window with those that were granted to it. */
export function includedBy(
  book: QuotaBook,
  included: Limits | undefined,
  window: Window,
  number: number,
): number {
  const most = included ? limitOf(included, window) : 0
  return most + book.grants.in(window, number, book.monthFrom)
}
