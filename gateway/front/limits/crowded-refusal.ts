import { withCommas } from '../../../shared/commas.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { holderOf } from './wait-refusal.ts'
import { crowded } from './places.ts'
import type { Part } from './parts.ts'
import type { Decision } from './step.ts'

/** The seconds after which a place may be free: of streams and WebSockets later. */
const soonS = 1
const laterS = 5

/** A 429 of a caller that has as many requests under way as it may. */
export function crowdedRefusal({
  places,
  underWay,
}: Pick<Decision, 'places' | 'underWay'>): Refusal {
  const { part, limit = 0 } = crowded(places) ?? {}
  const many = withCommas(limit)
  const sentence =
    limit === 1
      ? `1 of 1 requests${whose(part)} is under way. Wait until it is answered.`
      : `${many} of ${many} requests${whose(part)} are under way. Wait until one of them is answered.`
  return new Refusal('too_many_at_once', sentence, {
    'retry-after': String(underWay?.allLast ? laterS : soonS),
    'cache-control': 'no-store',
  }).because('at_once', holderOf(part))
}

function whose(part: Part | undefined): string {
  if (!part) return ''
  return part.operation === undefined ? ' of this key' : ` of "${part.operation}"`
}
