import { dayWindow, numberAt, windows } from '../../../shared/windows.ts'
import { newCounters, numberOf, type Counters } from '../../../gateway/front/limits/counters.ts'
import { pointsIn, usedOn } from '../../../gateway/front/limits/past-points.ts'
import { newPurse } from '../../../gateway/front/limits/purse.ts'
import { countIn } from '../../../gateway/front/limits/recount.ts'
import type { Loss } from '../redis/redis.ts'
import { blur, type Count, type Entry } from './count.ts'
import { presentNumbers, setBackMs } from './present-windows.ts'
import type { QuotaBook } from './quota-book.ts'

/**
 * Notes that a store has lost writes of a quota: until gateways that saw them have asked, and where others have counted
 * meanwhile, it has fewer points than the books, by those that it has lost at most.
 */
export function noteLoss(book: QuotaBook, { before, after }: Loss, nowMs: number): void {
  const [had, has] = [before.state, after.state]
  book.takeOver(has, nowMs)
  book.purse.lose(had.purse ?? newPurse(), has.purse ?? newPurse())
  const isWhole = had.generation === has.generation && had.monthFrom === has.monthFrom
  const note = (count: Count, before: Counters, after: Counters): void => {
    blurEnded(count, had, nowMs)
    if (isWhole) noteLostCounts(count, before, after)
    else blurAll(count, [before, after], nowMs)
  }
  note(book.whole, had, has)
  const parts = [had.parts, has.parts, book.parts].flatMap((each) => [...(each?.keys() ?? [])])
  for (const name of new Set(parts)) {
    const [before, after] = [had, has].map((state) => state.parts?.get(name) ?? newCounters())
    if (before && after) note(book.part(name), before, after)
  }
  const [today, former] = [numberOf(had, dayWindow), numberOf(has, dayWindow)]
  // The ledger of a replica that is behind goes on with days that are over.
  for (let day = former - 2; former !== today && day <= former; day++) {
    blur(book.ledger.points.at(day))
  }
  // The next master's clock may be in the day before.
  for (let day = today - 3; day <= today + 1; day++) {
    const entry = book.ledger.points.at(day)
    const [points = 0, left = 0] = [had, has].map((state) => usedOn('', state, day)[0]?.points)
    if (isWhole && day === today && pointsIn(had.past, day) === pointsIn(has.past, day)) {
      addLoss(entry, ...lossOf(had, has))
    } else if (!isWhole || points !== left) blur(entry)
  }
}

/** Windows that have just ended may begin again: their counts are lost, and the next master's clock may be late. */
function blurEnded(count: Count, had: Counters, nowMs: number): void {
  for (const window of windows) {
    for (let ms = nowMs - setBackMs; ms <= nowMs + setBackMs; ms += 1_000) {
      const number = numberAt(window, ms, had.monthFrom)
      if (number < numberOf(had, window)) blur(count.at(window, number))
    }
  }
}

/** The former generation may come back with a gateway, and end again. */
function blurAll(count: Count, both: readonly Counters[], nowMs: number): void {
  for (const window of windows) {
    for (const counters of both) {
      for (const number of presentNumbers(window, counters, nowMs)) blur(count.at(window, number))
    }
  }
}

function noteLostCounts(count: Count, had: Counters, has: Counters): void {
  for (const window of windows) {
    const { number, counted, givenBack } = countIn(had, window)
    const left = countIn(has, window)
    const entry = count.at(window, number)
    if (left.number !== number) {
      addLoss(entry, counted, givenBack)
      blur(count.at(window, left.number))
    } else addLoss(entry, counted - left.counted, givenBack - left.givenBack)
  }
}

function lossOf(had: Counters, has: Counters): [counted: number, givenBack: number] {
  const [before, after] = [countIn(had, dayWindow), countIn(has, dayWindow)]
  if (before.number !== after.number) return [before.counted, before.givenBack]
  return [before.counted - after.counted, before.givenBack - after.givenBack]
}

function addLoss(entry: Entry, counted: number, givenBack: number): void {
  entry.fewer += Math.max(0, counted)
  entry.more += Math.max(0, givenBack)
}
