import { Ranges } from './address.ts'
import type { Key } from './keys/key.ts'
import { effectiveLimits, type Limits, type Plan } from './limits/limits.ts'
import type { BanRules } from './limits/step.ts'
import { pathMatcher } from './paths.ts'

/** What a caller may do, and how often, by one configuration. */
export type Terms = Readonly<{
  offer: Offer
  limits: Limits
  /** When strikes become a ban; none for a plan without bans. */
  bans: BanRules | undefined
  /** What its key is restricted to, if it is. */
  allows: Restriction | undefined
}>

/** Whether a key is for some operation from some address. */
export type Restriction = (method: string, path: string, address: () => string) => boolean

/** What sets a key apart from others of its plan. */
export type Special = Pick<Key, 'limits' | 'methods' | 'paths' | 'addresses'>

/** The plans of one configuration, and on what terms callers have them. */
export class Offer {
  readonly #plans: ReadonlyMap<string, Plan>
  readonly #bans: BanRules
  /** By plan, of keys that nothing sets apart: they share them. */
  readonly #usual = new Map<string, Terms>()

  constructor(plans: ReadonlyMap<string, Plan>, bans: BanRules) {
    this.#plans = plans
    this.#bans = bans
  }

  /** The terms of a key; `undefined` if the configuration has no limits for it. */
  termsOf(plan: string, special: Special | undefined): Terms | undefined {
    if (special) return this.#terms(plan, special)
    const known = this.#usual.get(plan)
    if (known) return known
    const terms = this.#terms(plan, {})
    if (terms) this.#usual.set(plan, terms)
    return terms
  }

  #terms(name: string, special: Special): Terms | undefined {
    const plan = this.#plans.get(name)
    const limits = plan && effectiveLimits(plan, special.limits)
    if (!limits) return undefined
    const bans = plan.bans ? this.#bans : undefined
    return Object.freeze({ offer: this, limits, bans, allows: restriction(special) })
  }
}

/** What sets a key apart, if anything does. */
export function specialOf({ limits, methods, paths, addresses }: Key): Special | undefined {
  if (!limits && !methods && !paths && !addresses) return undefined
  return { limits, methods, paths, addresses }
}

function restriction({ methods, paths, addresses }: Special): Restriction | undefined {
  if (!methods && !paths && !addresses) return undefined
  const someMethods = methods && new Set(methods)
  const somePaths = paths && pathMatcher(paths)
  const someAddresses = addresses && new Ranges(addresses)
  return (method, path, address) =>
    (someMethods?.has(method) ?? true) &&
    (somePaths?.(path) ?? true) &&
    (someAddresses?.has(address()) ?? true)
}
