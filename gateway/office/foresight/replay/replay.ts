import { banRules } from '../../../front/limits/conduct.ts'
import type { Config, OwnPaths } from '../../../front/config/config.ts'
import type { Key } from '../../../front/keys/key.ts'
import { settingsAt } from '../../../front/keys/temporary.ts'
import { unanswered, type Adjustment, type Counters } from '../../../front/limits/counters.ts'
import { limitOf, recordedWith } from '../../../front/limits/limits.ts'
import { byWindow, windows, type Window, type WindowName } from '../../../../shared/windows.ts'
import { decisiveWindow } from '../../../front/limits/headers.ts'
import { effectiveLimits } from '../../../front/limits/plan.ts'
import { adjust, newQuota, type QuotaState } from '../../../front/limits/quota-state.ts'
import { step, type Decision } from '../../../front/limits/step.ts'
import type { LoggedRequest } from './logged-request.ts'
import { costsBy, type CostOf } from './route-costs.ts'

/** The configuration that a replay goes by. */
export type ReplayRules = Pick<Config, 'plans' | 'bans' | 'routes' | OwnPaths>

/** The key of a logged request; `key` is `undefined` for one that the store doesn't have. */
export type LoggedKey = Readonly<{
  id: string
  quota: string
  key: ReplayedKey | undefined
}>

/** The facts of a key that a replay needs. */
export type ReplayedKey = Pick<
  Key,
  | 'name'
  | 'plan'
  | 'account'
  | 'test'
  | 'limits'
  | 'outsideLimits'
  | 'temporaryPlan'
  | 'temporaryLimits'
>

/** The outcomes of the requests of a key, or of a plan; refused ones by the window that was used up. */
export type Outcomes = Record<WindowName, number> & {
  admitted: number
  /** Refused by a running ban. */
  ban: number
  /** Not for this plan: it isn't there any more, or a request costs more than its limit. They would get 403. */
  forbidden: number
  /** The bans that began. */
  bans: number
  firstRefusalMs: number | undefined
}

/** The part of a log's decisions that a replay makes as well. */
export type Agreement = {
  of: number
  same: number
  /** The first request for which it decides otherwise. */
  first: Readonly<{ key: string; atMs: number; logged: string; replayed: string }> | undefined
}

type Outcome = 'admitted' | 'refused' | 'banned' | 'forbidden'

/** A quota, and its admissions that are adjusted when their answers end. */
type ReplayedQuota = {
  state: QuotaState
  due: { atMs: number; adjustment: Adjustment; admission: Counters }[]
}

/** The points of a request: at its admission, after its answer, and whether that tells them. */
type ReplayedCost = Readonly<{ cost: number; answered: number; isTold: boolean }>

/** Puts logged requests to the limits of one configuration, in their order, by the step that decides in gateways too. */
export class Replay {
  readonly keys = new Map<string, Outcomes>()
  readonly plans = new Map<string, Outcomes>()
  /** The windows that any plan limits, and the required ones. */
  readonly limited: readonly Window[]
  readonly agreement: Agreement = { of: 0, same: 0, first: undefined }
  readonly #rules: ReplayRules
  readonly #costByRoute: CostOf
  readonly #quotas = new Map<string, ReplayedQuota>()

  constructor(rules: ReplayRules) {
    this.#rules = rules
    this.limited = recordedWith(
      ...[...rules.plans.values()].map(({ limits }) => (limits === 'custom' ? undefined : limits)),
    )
    this.#costByRoute = costsBy(rules)
  }

  /** Whether a request cost nothing and costs nothing here: then it is left out. */
  isFree(request: LoggedRequest): boolean {
    if (request.cost > 0 || request.verdict !== 'admitted') return false
    const { cost, answered, isTold } = this.#costOf(request)
    return cost === 0 && answered === 0 && !isTold
  }

  /** Takes the next request; `atMs` is at most a second before that of the last one. */
  take(request: LoggedRequest, holder: LoggedKey, planName: string, atMs: number): void {
    if (this.isFree(request)) return
    const { verdict, isGivenBack } = request
    const { cost, answered, isTold } = this.#costOf(request)
    const plan = this.#rules.plans.get(planName)
    const limits = plan && effectiveLimits(plan, limitsAt(holder.key, atMs))
    const [ofKey, ofPlan] = [entry(this.keys, holder.id), entry(this.plans, planName)]
    if (!plan || !limits) {
      ofKey.forbidden++
      ofPlan.forbidden++
      return this.#compare(request, 'forbidden')
    }
    const quota = this.#quotaOf(holder.quota, atMs)
    const isTooDear = cost > 1 && windows.some((window) => cost > limitOf(limits, window))
    const bans = plan.bans ? banRules(this.#rules.bans, limits) : undefined
    // An estimate of 0 is let in while anything is left.
    const least = isTold && cost === 0 ? 1 : undefined
    const ask = { key: holder.id, cost: isTooDear ? 0 : cost, least, limits, bans }
    const decision = step(quota.state, ask, atMs)
    const outcome = outcomeOf(decision.verdict, isTooDear)
    const window = outcome === 'refused' ? decisiveWindow(decision, limits)?.window.name : undefined
    for (const outcomes of [ofKey, ofPlan]) count(outcomes, outcome, window, decision.bans, atMs)
    if (outcome === 'admitted' && (isGivenBack || answered !== cost)) {
      const settlement = { points: answered - cost, isAnswered: true }
      const adjustment = isGivenBack ? unanswered(cost) : settlement
      quota.due.push({ atMs: request.endMs, adjustment, admission: decision.seen })
    }
    if (verdict) this.#compare(request, outcome)
  }

  /** The points that a request is admitted with, and those that it has cost when its answer has ended. */
  #costOf({ asked, cost, estimate }: LoggedRequest): ReplayedCost {
    const isLogged = estimate !== undefined
    if (!asked) return { cost: estimate ?? cost, answered: cost, isTold: isLogged }
    const { cost: admitted, answerCost } = this.#costByRoute(asked.method, asked.path)
    if (!answerCost) return { cost: admitted, answered: admitted, isTold: false }
    const answered = isLogged ? Math.min(cost, answerCost.atMost) : admitted
    return { cost: admitted, answered, isTold: true }
  }

  #compare({ key, atMs, verdict: logged }: LoggedRequest, replayed: Outcome): void {
    if (!logged) return
    const { agreement } = this
    agreement.of++
    if (logged === replayed) agreement.same++
    else agreement.first ??= { key, atMs, logged, replayed }
  }

  #quotaOf(name: string, nowMs: number): ReplayedQuota {
    let quota = this.#quotas.get(name)
    if (!quota) this.#quotas.set(name, (quota = { state: newQuota(), due: [] }))
    if (quota.due.length > 0) {
      const { state, due } = quota
      for (const { adjustment, admission } of due.filter(({ atMs }) => atMs <= nowMs)) {
        adjust(state, adjustment, { counters: admission }, nowMs)
      }
      quota.due = due.filter(({ atMs }) => atMs > nowMs)
    }
    return quota
  }
}

/** The limits of a key's own at a time, as far as the key still tells. */
function limitsAt(key: ReplayedKey | undefined, atMs: number): ReplayedKey['limits'] {
  const isMore = key?.temporaryPlan ?? key?.temporaryLimits ?? key?.outsideLimits
  return key && isMore ? settingsAt(key, atMs).limits : key?.limits
}

function outcomeOf(verdict: Decision['verdict'], isTooDear: boolean): Outcome {
  if (verdict === 'banned' || verdict === 'refused') return verdict
  return isTooDear ? 'forbidden' : 'admitted'
}

function count(
  outcomes: Outcomes,
  outcome: Outcome,
  window: WindowName | undefined,
  bans: boolean,
  atMs: number,
): void {
  if (window) outcomes[window]++
  else if (outcome === 'banned') outcomes.ban++
  else outcomes[outcome === 'admitted' ? 'admitted' : 'forbidden']++
  if (bans) outcomes.bans++
  if (outcome !== 'admitted' && outcome !== 'forbidden') outcomes.firstRefusalMs ??= atMs
}

function entry(all: Map<string, Outcomes>, name: string): Outcomes {
  let outcomes = all.get(name)
  if (!outcomes) all.set(name, (outcomes = noOutcomes()))
  return outcomes
}

/** No requests. */
export function noOutcomes(): Outcomes {
  const refused = { ...byWindow(() => 0), ban: 0, forbidden: 0 }
  return { admitted: 0, ...refused, bans: 0, firstRefusalMs: undefined }
}
