import { dayWindow } from '../../../shared/windows.ts'
import { numberOf } from '../../../gateway/front/limits/counters.ts'
import { pointsIn, usedOn } from '../../../gateway/front/limits/past-points.ts'
import { agrees } from '../books/count.ts'
import type { Invariant } from '../moment.ts'

/** Past points and counters together are the points of each day, and of them those beyond what is included. */
export const ledgerIsTheBooks: Invariant = {
  name: 'the ledger is the books',
  mistakeAt(moment) {
    if (moment.what !== 'stored') return undefined
    const { book, stored } = moment
    const today = numberOf(stored.state, dayWindow)
    if (today === 0) return undefined
    for (let day = today - 2; day <= today; day++) {
      const [{ points, beyond = 0 } = { points: 0 }] = usedOn('', stored.state, day)
      const entry = book.ledger.points.at(day)
      if (!agrees(entry, points)) return `${points} points of day ${day}, not ${entry.used}`
      const ofDay = book.ledger.beyond.at(day)
      const expected = { ...ofDay, used: Math.min(ofDay.used, entry.used) }
      // Points that came before their day, by a clock that was set back, count in none of its windows.
      const areInWindows = day < today || pointsIn(stored.state.past, day) === 0
      if (areInWindows && entry.fewer + entry.more === 0 && !agrees(expected, beyond)) {
        return `${beyond} points of day ${day} beyond what is included, not ${expected.used}`
      }
    }
    return undefined
  },
}
