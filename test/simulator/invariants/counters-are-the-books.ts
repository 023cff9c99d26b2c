import { longest, windows } from '../../../shared/windows.ts'
import { numberOf, usedIn, type Counters } from '../../../gateway/front/limits/counters.ts'
import { agrees, type Count } from '../books/count.ts'
import type { Invariant } from '../moment.ts'

/** The counters of a quota and its parts are what its requests add up to. */
export const countersAreTheBooks: Invariant = {
  name: 'counters are the books',
  mistakeAt(moment) {
    if (moment.what !== 'stored') return undefined
    const { book, stored } = moment
    const { state } = stored
    if (state.monthFrom !== book.monthFrom) return `months begin on ${state.monthFrom}`
    const ofQuota = differenceOf(book.whole, state, state.monthFrom)
    if (ofQuota) return ofQuota
    for (const [name, counters] of state.parts ?? []) {
      const ofPart = differenceOf(book.part(name), counters, state.monthFrom)
      if (ofPart) return `${name}: ${ofPart}`
    }
    return undefined
  },
}

function differenceOf(count: Count, counters: Counters, monthFrom: number): string | undefined {
  for (const window of windows) {
    const number = numberOf(counters, window)
    // A part learns with its next request on which day months begin.
    if (number === 0 || (window === longest && counters.monthFrom !== monthFrom)) continue
    const entry = count.at(window, number)
    const used = usedIn(counters, window)
    if (!agrees(entry, used)) return `${used} in ${window.name} ${number}, not ${entry.used}`
  }
  return undefined
}
