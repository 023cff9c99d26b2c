import { dayWindow, windows } from '../../../shared/windows.ts'
import { copyOf, numberOf, type Counters } from '../../../gateway/front/limits/counters.ts'
import { countIn } from '../../../gateway/front/limits/recount.ts'
import { purseText, takenPart } from '../../../gateway/front/limits/purse.ts'
import type { QuotaState } from '../../../gateway/front/limits/quota-state.ts'
import { neededBy, step, type Ask, type Decision } from '../../../gateway/front/limits/step.ts'
import { copyOfState, type StoredQuota } from './quota-copy.ts'

/**
 * One step on a quota of a simulated Redis. As in Redis, an outcome that counts and changes nothing isn't written: windows
 * that the step has begun are begun anew by the next one, which matters where the clock is set back.
 */
export function decideIn(stored: StoredQuota, ask: Ask, nowMs: number): Decision {
  const { state: before } = stored
  const state = copyOfState(before)
  const decision = step(state, asScriptsTakeIt(ask), nowMs)
  const isCounted = decision.verdict === 'admitted' && ask.cost > 0
  const isSettled =
    ask.owed !== undefined && ask.owed.number > (before.settled?.get(ask.owed.by) ?? 0)
  const isConductNew = !stored.isMarked && state.conducts?.has(ask.key) === true
  const isBriefNew = neededBy(ask) > 0 && hasNewBrief(before, state)
  stored.isMarked ||= isConductNew
  const isHealed = hasMore(before, state) || textOfPurse(before) !== textOfPurse(state)
  const isKept = isCounted || isSettled || isConductNew || isBriefNew || isHealed
  if (isCounted) {
    stored.state = state
    return decision
  }
  const parts = partsWith(
    isSettled ? state.parts : isKept ? state.parts && before.parts : before.parts,
    decision,
  )
  const { conducts, places, beyond } = state
  stored.state = isKept ? { ...state, parts } : { ...before, conducts, parts, places, beyond }
  return decision
}

/** Scripts are told of a purse where the window of a question is prepaid, or its report has bought points. */
function asScriptsTakeIt(ask: Ask): Ask {
  const { seen, prepaid, owed } = ask
  if (!seen || prepaid || owed?.parts?.has(takenPart)) return ask
  const parts = new Map(seen.parts)
  parts.delete(takenPart)
  return { ...ask, seen: { ...seen, purse: undefined, parts } }
}

function textOfPurse({ purse }: QuotaState): string | undefined {
  return purse && purseText(purse)
}

/** Whether counters have more than others beside windows that have begun: they were healed. */
function hasMore(before: Counters | undefined, after: Counters): boolean {
  if (before && before.generation !== after.generation) return true
  return windows.some((window) => {
    const { number, counted, givenBack } = countIn(after, window)
    const earlier = before && countIn(before, window)
    if (earlier?.number !== number) return counted > 0 || givenBack > 0
    return earlier.counted !== counted || earlier.givenBack !== givenBack
  })
}

function hasNewBrief(before: Counters, after: Counters): boolean {
  return windows.some(
    (window) => window.isBrief && numberOf(before, window) !== numberOf(after, window),
  )
}

/** The parts of a quota that wasn't counted: those that were healed are written, and others not even begun. */
function partsWith(
  before: QuotaState['parts'],
  { parts: asked = [], purse }: Decision,
): QuotaState['parts'] {
  const all = asked.map(({ part, counters }) => [part.name, counters] as const)
  if (purse) all.push([takenPart, purse.taken])
  let parts = before
  for (const [name, counters] of all) {
    if (numberOf(counters, dayWindow) > 0 && hasMore(parts?.get(name), counters)) {
      parts = new Map(parts).set(name, copyOf(counters))
    }
  }
  return parts
}
