import { earnedEnd } from '../limits/ban-ends.ts'
import { isLimited, limitOf, noLimits } from '../limits/limits.ts'
import type { Standing } from '../limits/headers.ts'
import { pointsAt, type NearEnds } from '../limits/near.ts'
import { usedBy, type Decision } from '../limits/step.ts'
import { windows, type Window } from '../../../shared/windows.ts'

/** A standing as it would be if a window had no room for a request; `undefined` for a window without a limit. */
export function usedUp(standing: Standing, window: Window, cost: number): Standing | undefined {
  const { decision, limits } = standing
  if (!isLimited(limits, window)) return undefined
  const acted = withUse(standing, (each) => {
    const [limit, used] = [limitOf(limits, each), usedBy(decision, each)]
    if (each === window) return limit
    // If a longer window had no room either, it would be told first.
    const isLonger = windows.indexOf(each) > windows.indexOf(window)
    return Math.max(0, Math.min(used, isLonger ? limit - cost : limit))
  })
  return { decision: { ...acted, verdict: 'refused', cost }, limits }
}

/** A standing as it would be if as many requests were under way as may be; `undefined` where nothing limits them. */
export function crowdedAt({ decision, limits }: Standing): Standing | undefined {
  const places = decision.places?.slice(0, 1).map((place) => ({ ...place, used: place.limit }))
  if (!places?.length) return undefined
  return { decision: { ...decision, verdict: 'crowded', places }, limits }
}

/** A standing as it would be if nothing were left of a prepaid window, included or bought; `undefined` without one. */
export function emptied(standing: Standing, cost: number): Standing | undefined {
  const { purse, included = noLimits } = standing.decision
  if (!purse) return undefined
  const { window, spent } = purse
  const most = Math.max(usedBy(standing.decision, window), limitOf(included, window))
  const acted = withUse(standing, (each) =>
    each === window ? most : usedBy(standing.decision, each),
  )
  const empty = { ...purse, room: 0, bought: spent }
  return {
    decision: { ...acted, purse: empty, verdict: 'refused', cost },
    limits: { ...standing.limits, [window.limit]: most },
  }
}

/** A standing as it would be during an earned ban. */
export function banned({ decision, limits }: Standing, forMs: number): Standing {
  const bannedUntilMs = earnedEnd(decision.nowMs + forMs)
  return { decision: { ...decision, verdict: 'banned', bannedUntilMs }, limits }
}

/** A standing as it would be once a window is near its end; `undefined` for a caller that is never told. */
export function nearEnd(standing: Standing, near: NearEnds | undefined): Standing | undefined {
  const { decision, limits } = standing
  const [first] = near?.ends ?? []
  if (!near || !first) return undefined
  const acted = withUse(standing, (each) => {
    const used = usedBy(decision, each)
    if (each !== first.window) return used
    return Math.max(used, pointsAt(near.percent, limitOf(limits, each)))
  })
  return { decision: acted, limits }
}

/** A decision as if its windows had used other points. */
function withUse({ decision }: Standing, usedOf: (window: Window) => number): Decision {
  return { ...decision, used: windows.map(usedOf), elsewhere: undefined }
}
