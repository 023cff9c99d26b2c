import { withCommas } from '../../../shared/commas.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import { waitText } from '../../../shared/times.ts'
import { earnedText, isEarned } from './ban-ends.ts'
import { decisiveWindow, endOfWait, secondsToWait, type Standing } from './headers.ts'
import type { Part } from './parts.ts'
import type { BanRules } from './conduct.ts'
import { limitOf } from './limits.ts'
import { crowded } from './places.ts'
import { neededBy, type Decision } from './step.ts'
import type { Window } from '../../../shared/windows.ts'

type Code = 'rate_limit_exceeded' | 'key_banned' | 'too_many_failed_attempts'

/** The latest refusals. Most within one second are alike, and making one costs 2 µs. */
const refusalsByContent = new BoundedMap<Refusal>(1_000)

/** A 429 that says why, until when to wait, and what happens to a caller that doesn't wait. */
export function waitRefusal(code: Code, standing: Standing, bans?: BanRules): Refusal {
  const { decision, limits } = standing
  const decisive = decisiveWindow(decision, limits)
  const { limit = 0, window, part } = decisive ?? {}
  const name = window?.name
  const { nowMs, purse, included } = decision
  const isPrepaid = purse !== undefined && !part && purse.window === window
  const ofPlan = isPrepaid && included ? limitOf(included, purse.window) : limit
  // Nothing comes by itself.
  const isOnlyBought = isPrepaid && ofPlan === 0
  // The refusals of a longer window are no strikes, so nothing is said of them.
  const strikes = window?.strikes ? decision.strikes : 0
  const endMs = endOfWait(decision, decisive)
  const seconds = secondsToWait(endMs, nowMs)
  const isDear = bans?.share !== undefined && decision.cost > 1
  const needed = neededBy(decision)
  const content = `${code} ${needed} ${part?.name} ${ofPlan} ${isPrepaid} ${name} ${seconds} ${endMs} ${strikes} ${bans?.strikes} ${isDear}`
  const cached = refusalsByContent.get(content)
  if (cached) return cached
  const when = waitText(endMs, nowMs)
  // Of a share, dear requests have earned it with fewer.
  const why = isEarned(endMs)
    ? `${earnedText(bans?.share === undefined ? bans?.strikes : undefined)}. After a 429, wait as long as Retry-After says.`
    : "the API's operator has banned it."
  const sentence =
    code === 'key_banned'
      ? `Your key is banned until ${when}: ${why}`
      : code === 'rate_limit_exceeded'
        ? isOnlyBought
          ? 'No points that you bought are left.'
          : `${usedUpText(ofPlan, window, part, needed, isPrepaid)} Try again at ${when}.${strikeWarning(strikes, bans, isDear)}`
        : `Too many requests without a valid key came from your address. Try again at ${when}.`
  const refusal = new Refusal(code, sentence, {
    ...(!isOnlyBought && { 'retry-after': String(seconds) }),
    'cache-control': 'no-store',
  })
  if (code === 'rate_limit_exceeded')
    refusal.because(isPrepaid ? 'prepaid' : name, holderOf(part), name)
  else refusal.because(code === 'key_banned' ? 'ban' : 'strangers')
  refusalsByContent.set(content, refusal)
  return refusal
}

/** Whose limit it is, for operators. */
export function holderOf(part: Part | undefined): Refusal['of'] {
  if (!part) return undefined
  return part.operation === undefined ? 'cap' : `operation ${part.operation}`
}

function usedUpText(
  limit: number,
  window: Window | undefined,
  part: Part | undefined,
  needed: number,
  isPrepaid: boolean,
): string {
  const many = withCommas(limit)
  if (needed > 1) {
    const whose = part ? (part.operation ?? 'points of your key’s cap') : 'points'
    return `This request needs ${withCommas(needed)} points, and fewer are left of ${many} ${whose} ${window?.each}${isPrepaid ? ' and of those that you bought' : ''}.`
  }
  if (isPrepaid) {
    return `${many} requests ${window?.each} are used up, and no bought points are left.`
  }
  if (!part) return `${many} requests ${window?.each} are used up.`
  return part.operation === undefined
    ? `Your key’s cap of ${many} requests ${window?.each} is used up.`
    : `${many} ${part.operation} ${window?.each} are used up.`
}

/** A warning, from the first strike on. */
function strikeWarning(strikes: number, bans: BanRules | undefined, isDear: boolean): string {
  if (!bans || strikes === 0) return ''
  const fewer = isDear ? ', of requests that cost more fewer' : ''
  return ` Requests before then are strikes, ${bans.strikes} of which ban your key${fewer}; it has ${strikes}.`
}

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
