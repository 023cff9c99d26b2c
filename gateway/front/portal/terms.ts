import { iso } from '../../../shared/times.ts'
import type { Config, PortalSettings, Route } from '../config/config.ts'
import type { Deprecation } from '../config/deprecations.ts'
import { longWindows, type LimitName } from '../../../shared/windows.ts'
import { ticketPath } from '../http/own-paths.ts'
import { authorization, titled } from '../http/key-header.ts'
import { banRules, type BanSettings } from '../limits/conduct.ts'
import { limitedIn, limitsView, type Limits } from '../limits/limits.ts'
import { effectivePrepaid, type Plan, type PlanOperation } from '../limits/plan.ts'

/**
 * The terms of the configuration in force, for anybody: plans, bans, costs and deprecations. Names of keys and accounts
 * with a later sunset are nobody else's business.
 */
export function termsOf(config: Config, { path }: PortalSettings) {
  const { plans, strangers, bans, nearPercents, routes, deprecations } = config
  return {
    path,
    keyHeader: keyHeaderOf(config),
    quotaPath: config.quotaPath ?? null,
    usagePath: config.usagePath ?? null,
    ticketPath: config.tickets ? ticketPath : null,
    plans: [...plans.values()].map((plan) => planView(plan, bans)),
    strangers: limitsView(strangers),
    nearPercent: nearPercents[0] ?? null,
    nearWindows: longWindows.map(({ name }) => name),
    bans: {
      withinMs: bans.withinMs,
      graceMs: bans.graceMs,
      forMs: bans.forMs,
      atMostMs: bans.atMostMs,
    },
    routes: routes.map(routeView),
    deprecations: deprecations.map(deprecationView),
  }
}

export type Terms = ReturnType<typeof termsOf>

/** The header in which callers are told to send their keys, and what stands before a key in it. */
export function keyHeaderOf({ keys: { from } }: Pick<Config, 'keys'>) {
  const [first = authorization] = from
  return { name: titled(first), before: first === authorization ? 'Bearer ' : '' }
}

function planView(plan: Plan, rules: BanSettings) {
  const prepaid = effectivePrepaid(plan)
  const { name, limits, included, bans, operations = [], methods, paths } = plan
  return {
    name,
    limits: limits === 'custom' ? null : limitsView(limits),
    // Of a custom plan each key has its own.
    strikesToBan: !bans || limits === 'custom' ? null : banRules(rules, limits).strikes,
    ...(included && { included: limitedView(included) }),
    ...(prepaid && { prepaid: prepaid.name }),
    bans,
    operations: operations.map(operationView),
    methods: methods ?? null,
    paths: paths ?? null,
  }
}

/** A route with what its requests cost: the estimate and the most, if their answers tell it. */
function routeView({ path, methods, cost, answerCost, scopes }: Route) {
  const needs = scopes && { scopes: Object.fromEntries(scopes) }
  return { path, methods, cost, ...(answerCost && { atMost: answerCost.atMost }), ...needs }
}

function operationView({ name, limits, methods, paths }: PlanOperation) {
  return {
    name,
    limits: limitedView(limits),
    methods: methods ?? null,
    paths: paths ?? null,
  }
}

function limitedView(limits: Limits): Readonly<Partial<Record<LimitName, number>>> {
  return Object.fromEntries(limitedIn(limits).map(({ window, limit }) => [window.limit, limit]))
}

function deprecationView(deprecation: Deprecation) {
  const { operation, sinceMs, sunsetMs, replacement, docs, afterSunset, brownouts } = deprecation
  return {
    operation,
    since: iso(sinceMs),
    sunset: iso(sunsetMs) ?? null,
    replacement: replacement ?? null,
    docs: docs ?? null,
    afterSunset,
    brownouts: brownouts.map(({ fromMs, toMs }) => ({ from: iso(fromMs), to: iso(toMs) })),
  }
}
