import type { DecisiveTerms, Now } from './cached-refusals.ts'
import { areRunning, newCounters, usedOf } from './counters.ts'
import type { LastSeen } from './last-seen.ts'
import type { OpenQuestion, OwnPlaces } from './own-places.ts'
import { crowded, type LimitedPart } from './places.ts'
import { limitsIn, longestFull, neededBy, type Decision } from './step.ts'

/** A decision of the store with the place that was taken, or with what leaves no room. */
export function placed(places: OwnPlaces, decision: Decision, question: OpenQuestion): Decision {
  const place = places.end(question, decision.verdict === 'admitted')
  if (place) return { ...decision, place }
  if (decision.verdict !== 'crowded') return decision
  places.hear(crowded(decision.places)?.holders)
  return { ...decision, underWay: places.underWayIn(question.quota) }
}

/** A refusal without a question: this gateway's own requests fill the limit, and no window is full. */
export function crowdedHere(
  own: OwnPlaces,
  { quota, parts: limited }: Pick<OpenQuestion, 'quota' | 'parts'>,
  { limits, prepaid, parts: asked, least }: DecisiveTerms,
  cost: number,
  last: LastSeen | undefined,
  { nowMs, lagMs }: Now,
): Decision | undefined {
  const places = own.ownIn(quota, limited)
  // Whether a purse has points is the store's to say.
  const seen = prepaid === undefined && crowded(places) && last
  if (!seen || !areRunning(seen, nowMs + lagMs)) return undefined
  const parts = asked?.map((part) => {
    return { part, counters: seen.parts?.get(part.name) ?? newCounters() }
  })
  if (
    longestFull(
      seen,
      parts,
      neededBy({ cost, least }),
      limitsIn({ granted: seen.granted, used: [] }, limits),
    )
  )
    return undefined
  return {
    ...{ verdict: 'crowded', nowMs, cost, strikes: 0, bannedUntilMs: 0, bans: false },
    ...{ seen, used: usedOf(seen), parts, places, granted: seen.granted, decidedBy: 'memory' },
    underWay: own.underWayIn(quota),
  }
}

/** During an outage: the part of which this gateway has its share under way, at least one. Others have the rest. */
export function fullAlone(
  own: OwnPlaces,
  quota: string,
  limited: readonly LimitedPart[],
  gateways: number,
): LimitedPart | undefined {
  const shares = limited.map(({ part, limit }) => {
    return { part, limit: Math.max(1, Math.floor(limit / gateways)) }
  })
  const full = crowded(own.ownIn(quota, shares))
  return full && limited.find(({ part }) => part === full.part)
}
