import { countersFrom } from '../../limits/counters-text.ts'
import {
  countedIn,
  copyOf,
  givenBackIn,
  numberOf,
  usedIn,
  type Counters,
} from '../../limits/counters.ts'
import { pointsByDay, type PastPoints } from '../../limits/past-points.ts'
import { countIn, recount } from '../../limits/recount.ts'
import { dayWindow, shortest } from '../../../../shared/windows.ts'

/**
 * The counters of a hash in which gateways of a former version count, too: of minute and day theirs, and of longer windows
 * the present version's, with what the former ones have counted since. beside.lua has the rules, too, and says why.
 */
export function withLonger(
  numbers: readonly number[],
  counters: Counters,
  past: PastPoints | undefined,
): Counters | undefined {
  const former = countersFrom(numbers, counters)
  if (!former) return undefined
  const days = pointsByDay(past)
  const [day, before] = [numberOf(former, dayWindow), numberOf(counters, dayWindow)]
  const isReset =
    former.generation > counters.generation && days.some(([pastDay]) => pastDay === day)
  if (isReset) return former
  let counted = countedIn(former, dayWindow)
  let givenBack = givenBackIn(former, dayWindow)
  if (day === before) {
    counted -= countedIn(counters, dayWindow)
    givenBack -= givenBackIn(counters, dayWindow)
  } else {
    counted -= usedIn(counters, dayWindow)
    for (const [each, points] of days) if (each >= before && each < day) counted += points
  }
  const joined = { ...copyOf(counters), generation: former.generation }
  recount(joined, (window) => {
    const [own, theirs] = [countIn(counters, window), countIn(former, window)]
    if (window.isBrief) return own
    if (window === shortest && own.number === theirs.number) {
      return { ...own, counted: theirs.counted + own.givenBack }
    }
    if (window === shortest || window === dayWindow || own.number < theirs.number) return theirs
    return {
      number: own.number,
      counted: own.counted + counted,
      givenBack: own.givenBack + givenBack,
    }
  })
  return joined
}
