import { longWindows, steadyWindows, windows, type Window } from '../../../../shared/windows.ts'
import type { RefusalCode } from '../../../../shared/refusal.ts'
import type { Config } from '../../../front/config/config.ts'
import { costOutcomes } from '../../../front/limits/answer-cost.ts'
import { isLimited, type Limits } from '../../../front/limits/limits.ts'
import type { Plan } from '../../../front/limits/plan.ts'
import { planOrigins } from '../../../front/jwt/claims.ts'
import { jwtReasons } from '../../../front/jwt/issuer.ts'
import { noPlan } from '../../../front/counts/meters.ts'
import type { Labels } from './series.ts'

/** The most series of a metric that begin at 0. Where there would be more, each begins with its first event. */
const mostSeries = 1_000

type Codes = readonly RefusalCode[]

const toAnybody: Codes = ['invalid_request', 'internal_error', 'service_unavailable']
const toStrangers: Codes = ['missing_api_key', 'invalid_api_key', 'too_many_failed_attempts']
const ofLimits: Codes = ['key_banned', 'too_many_at_once', 'forbidden']
const ofBackends: Codes = ['gone', 'bad_gateway', 'gateway_timeout']

/**
 * Label values that the configuration lets us know before the first event. A counter that isn't there yet has no 0
 * to begin with: `rate()` of Prometheus would not see its first event.
 */
export const beginnings = {
  requests: ({ routes, plans }: Config) =>
    bounded(
      routes.flatMap(({ path }) => [
        ...[401, 429].map((status): Labels => [path, noPlan, status]),
        ...[...plans.keys()].flatMap((plan) =>
          [200, 429, 502, 503, 504].map((status): Labels => [path, plan, status]),
        ),
      ]),
    ),
  refusals: ({ plans }: Config) =>
    bounded([
      ...[...toStrangers, ...toAnybody].map((code): Labels => [noPlan, code]),
      ...[...plans.values()].flatMap(({ name: plan, limits }) => [
        ...windows
          .filter((window) => mayLimit(limits, window))
          .map(({ name }): Labels => [plan, 'rate_limit_exceeded', name]),
        ...(hasPlaces(limits) ? [[plan, 'too_many_at_once', 'at_once']] : []),
        ...[...ofLimits, ...ofBackends, ...toAnybody].map((code): Labels => [plan, code]),
      ]),
    ]),
  bans: ({ plans }: Config) =>
    bounded([...plans.values()].filter(({ bans }) => bans).map(({ name }) => [name])),
  near: (config: Config) =>
    byWindow(config, steadyWindows, ({ limits }, window) => mayLimit(limits, window)),
  beyond: (config: Config) =>
    byWindow(
      config,
      longWindows,
      ({ included }, window) => !!included && isLimited(included, window),
    ),
  answerCosts: ({ routes }: Config) =>
    routes.some(({ answerCost }) => answerCost) ? costOutcomes.map((outcome) => [outcome]) : [],
  shadows: (config: Config) =>
    byWindow(config, windows, ({ shadow }, window) => !!shadow && mayLimit(shadow.limits, window)),
  jwtRefusals: ({ jwt }: Config) => (jwt.length > 0 ? jwtReasons.map((reason) => [reason]) : []),
  jwtPlans: ({ jwt }: Config) =>
    bounded(
      jwt
        .filter(({ plan }) => plan.claim)
        .flatMap(({ issuer }) => planOrigins.map((by): Labels => [issuer, by])),
    ),
  strangers: () => toStrangers.map((code): Labels => [code]),
  deprecated: ({ deprecations, plans }: Config) =>
    bounded(
      deprecations.flatMap(({ operation }) => [...plans.keys()].map((plan) => [operation, plan])),
    ),
}

/** The plans with those of the windows that they have. */
function byWindow(
  { plans }: Config,
  some: readonly Window[],
  has: (plan: Plan, window: Window) => boolean,
): readonly Labels[] {
  return bounded(
    [...plans.values()].flatMap((plan) =>
      some.filter((window) => has(plan, window)).map(({ name }): Labels => [plan.name, name]),
    ),
  )
}

/** Whether a plan limits a window, as far as the configuration tells: those of a custom plan are its keys' own. */
function mayLimit(limits: Limits | 'custom', window: Window): boolean {
  return window.isRequired || (limits !== 'custom' && isLimited(limits, window))
}

/** The plans that limit how many requests are under way, themselves or by an operation. */
export function plansWithPlaces({ plans }: Config): string[] {
  const some = [...plans.values()].filter(({ limits, operations = [] }) => {
    return hasPlaces(limits) || operations.some((each) => hasPlaces(each.limits))
  })
  return some.map(({ name }) => name)
}

function hasPlaces(limits: Limits | 'custom'): boolean {
  return limits !== 'custom' && limits.atOnce !== undefined
}

function bounded(all: readonly Labels[]): readonly Labels[] {
  return all.length > mostSeries ? [] : all
}
