import { Ranges } from '../http/address.ts'
import { stateOf, type Caller, type KeyOverrides } from './caller.ts'
import { strict, type Lenience } from '../http/lenience.ts'
import { patternTest } from '../http/paths.ts'
import { countsBrief, recordedWith, type Limits } from '../limits/limits.ts'
import type { Included } from '../limits/beyond.ts'
import { effectiveIncluded, effectiveLimits, effectivePrepaid, type Plan } from '../limits/plan.ts'
import type { Key } from './key.ts'
import { nearEnds, type NearEnds } from '../limits/near.ts'
import type { Window } from '../../../shared/windows.ts'
import { partsWithPlaces } from '../limits/places.ts'
import { capPart, operationPart, type Part } from '../limits/parts.ts'
import { limitsFrom } from '../limits/limit-settings.ts'
import { banRules, type BanRules, type BanSettings } from '../limits/conduct.ts'
import { shadowBeside, type Shadow } from '../limits/shadow.ts'

/** The limits, bans and restrictions of one caller in one configuration. */
export type Terms = Readonly<{
  limits: Limits
  /** Limits beyond which points are metered, up to those that refuse; `undefined` where none are. */
  included?: Included | undefined
  /** The window in which what isn't included is taken from points that were bought in advance. */
  prepaid?: Window | undefined
  /** Whether brief windows are counted: where they are limited, or a shadow limits them. */
  countsBrief: boolean
  /** Whether a limit of the caller, or of any of its parts, is for requests under way. */
  hasPlaces?: boolean | undefined
  /** The windows of which the peaks are recorded: the required ones, and those that are limited or shadowed. */
  recorded: readonly Window[]
  /** All that its requests may be counted in beside its quota: operations of its plan, and its cap. */
  allParts: readonly Part[] | undefined
  /** Those that a request is counted in; `undefined` if there are none. */
  partsOf: ((method: string, path: string) => readonly Part[] | undefined) | undefined
  /** When strikes become a ban; `undefined` for a plan without bans. */
  bans: BanRules | undefined
  /** The restrictions of the caller's plan and key; `undefined` where neither has any. */
  forbids: Restriction | undefined
  /** When answers begin to say that a long window is nearly used up; `undefined` if they never do. */
  near: NearEnds | undefined
  /** Lower limits that only count; `undefined` for a plan without them. */
  shadow?: Shadow | undefined
}>

/** Says which restriction forbids a request: the plan's, or one of the key; `undefined` if none does. */
export type Restriction = (
  method: string,
  path: string,
  address: () => string,
  origin: string | undefined,
) => 'plan' | 'method' | 'path' | 'address' | 'origin' | undefined

/** The settings of a configuration that terms are made of. */
export type PlanSettings = Readonly<{
  plans: ReadonlyMap<string, Plan>
  bans: BanSettings
  /** The percentages of a long window that count as near its end, rising. */
  nearPercents: readonly number[]
  /** The router's, by which paths are read. */
  lenience?: Lenience
  /** Whether requests under way are limited, where plans and keys do so. */
  limitsPlaces?: boolean
}>

/** The plans of one configuration. Each generation has its own, so no request mixes the terms of two. */
export class ConfiguredPlans {
  readonly #settings: PlanSettings
  /** Shared by the keys of a plan without settings of their own. */
  readonly #termsByPlan = new Map<string, Terms>()
  readonly #termsByCaller = new WeakMap<Caller, Terms>()

  constructor(settings: PlanSettings) {
    this.#settings = settings
  }

  /** The terms of a caller; `undefined` if the configuration has no limits for it. */
  termsFor(caller: Caller): Terms | undefined {
    const { overrides } = stateOf(caller)
    const cached = overrides ? this.#termsByCaller.get(caller) : this.#termsByPlan.get(caller.plan)
    if (cached) return cached
    const terms = this.#terms(caller, overrides)
    if (terms && overrides) this.#termsByCaller.set(caller, terms)
    else if (terms) this.#termsByPlan.set(caller.plan, terms)
    return terms
  }

  #terms({ id, plan: name }: Caller, overrides: KeyOverrides = {}): Terms | undefined {
    const { bans: settings, nearPercents, lenience = strict, limitsPlaces = true } = this.#settings
    const plan = this.#settings.plans.get(name)
    const limits = plan && effectiveLimits(plan, overrides.limits)
    if (!limits) return undefined
    const bans = plan.bans ? banRules(settings, limits) : undefined
    const shadow = plan.shadow && shadowBeside(plan.shadow, overrides.limits)
    const ofPlan = restriction({ methods: plan.methods, paths: plan.paths }, lenience)
    const forbids = bothOf(
      ofPlan && ((...request) => ofPlan(...request) && 'plan'),
      restriction(overrides, lenience),
    )
    const included = effectiveIncluded(plan, overrides.limits)
    const prepaid = effectivePrepaid(plan, overrides.limits)
    const near = nearEnds(nearPercents, limits, included)
    const isBriefCounted =
      countsBrief(limits) || (shadow !== undefined && countsBrief(shadow.limits))
    const { allParts, partsOf } = countedParts(plan, { id, cap: overrides.cap }, lenience)
    const recorded = recordedWith(limits, shadow?.limits)
    const hasPlaces = limitsPlaces && partsWithPlaces(limits, allParts).length > 0
    return Object.freeze({
      hasPlaces,
      ...{ limits, included, prepaid, countsBrief: isBriefCounted, recorded, allParts, partsOf },
      ...{ bans, forbids, near, shadow },
    })
  }
}

/**
 * The parts of a quota for one caller. A request is of the first operation that it fits; one whose path can be read in several
 * ways is of the first of each reading, so that none can be got around.
 */
export function countedParts(
  { operations = [] }: Pick<Plan, 'operations'>,
  { id, cap: own }: Pick<Key, 'id' | 'cap'>,
  lenience = strict,
): Pick<Terms, 'allParts' | 'partsOf'> {
  const ofCap = own ? [capPart(id, own.sinceMs, limitsFrom(own))] : []
  const usual = ofCap.length > 0 ? ofCap : undefined
  if (operations.length === 0) return { allParts: usual, partsOf: usual && (() => usual) }
  const matched = operations.map(({ name, limits, methods, paths }) => ({
    parts: [operationPart(name, limits), ...ofCap],
    takes: methods && new Set(methods),
    fits: paths && patternTest(paths, lenience.ignoresCase),
  }))
  return {
    allParts: [...matched.flatMap(({ parts }) => parts.slice(0, 1)), ...ofCap],
    partsOf(method, path) {
      const ofReading = (reading: string): readonly Part[] | undefined =>
        matched.find(({ takes, fits }) => takes?.has(method) !== false && fits?.(reading) !== false)
          ?.parts ?? usual
      const [first, ...others] = lenience.readingsOf(path)
      if (others.length === 0) return ofReading(first)
      const all = new Set([first, ...others].flatMap((reading) => ofReading(reading) ?? []))
      return all.size > 0 ? [...all] : undefined
    },
  }
}

function bothOf(one: Restriction | undefined, other: Restriction | undefined) {
  if (!one || !other) return one ?? other
  const both: Restriction = (...request) => one(...request) ?? other(...request)
  return both
}

/** A path that can be read in several ways is allowed by no pattern. */
function restriction(
  { methods, paths, addresses, origins }: KeyOverrides,
  { ignoresCase, readingsOf }: Lenience,
): Restriction | undefined {
  if (!methods && !paths && !addresses && !origins) return undefined
  const allowedMethods = methods && new Set(methods)
  const fits = paths && patternTest(paths, ignoresCase)
  const allowedAddresses = addresses && new Ranges(addresses)
  return (method, path, address, origin) => {
    if (allowedMethods?.has(method) === false) return 'method'
    if (fits) {
      const [reading, ...others] = readingsOf(path)
      if (others.length > 0 || !fits(reading)) return 'path'
    }
    if (allowedAddresses?.has(address()) === false) return 'address'
    return origins?.includes(origin ?? '') === false ? 'origin' : undefined
  }
}
