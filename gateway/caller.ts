import { Ranges } from './address.ts'
import { quotaOf, type Key } from './keys/key.ts'
import type { Standing } from './limits/headers.ts'
import { effectiveLimits, type Limits, type Plan } from './limits/limits.ts'
import type { BanRules } from './limits/step.ts'
import { pathMatcher } from './paths.ts'

/** All that is known of who sends a request, once its key has been found. */
export type Caller = Readonly<{
  /** The key's id: what logs, metrics and the backend see. */
  id: string
  name: string
  plan: string
  account: string | undefined
  /** Whose requests are counted together: those of an account, or of this key alone. */
  quota: string
  limits: Limits
  /** When strikes become a ban; none for a plan without bans. */
  bans: BanRules | undefined
  /** What its key is restricted to, if it is. */
  allows: Restriction | undefined
}>

/** Whether a key is for some operation from some address. */
export type Restriction = (method: string, path: string, address: () => string) => boolean

/** What of a key tells who its caller is: all that a gateway keeps of it. */
export type Grant = Pick<
  Key,
  'id' | 'name' | 'plan' | 'account' | 'limits' | 'methods' | 'paths' | 'addresses'
>

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sends this request; `null` until its key was found valid. */
    caller: Caller | null
    /** Whether the caller's key is not for this operation or address. */
    forbidden: boolean
    /** How the caller, or the stranger, stands after this request: what the headers tell. */
    standing: Standing | null
  }
}

/** The caller that a key stands for; `undefined` if the configuration has no limits for it. */
export function callerFrom(
  key: Grant,
  plans: ReadonlyMap<string, Plan>,
  rules: BanRules,
): Caller | undefined {
  const plan = plans.get(key.plan)
  const limits = plan && effectiveLimits(plan, key.limits)
  if (!limits) return undefined
  const { id, name, account } = key
  const quota = quotaOf(key)
  const bans = plan.bans ? rules : undefined
  const allows = restriction(key)
  return Object.freeze({ id, name, plan: key.plan, account, quota, limits, bans, allows })
}

function restriction({ methods, paths, addresses }: Grant): Restriction | undefined {
  if (!methods && !paths && !addresses) return undefined
  const someMethods = methods && new Set(methods)
  const somePaths = paths && pathMatcher(paths)
  const someAddresses = addresses && new Ranges(addresses)
  return (method, path, address) =>
    (someMethods?.has(method) ?? true) &&
    (somePaths?.(path) ?? true) &&
    (someAddresses?.has(address()) ?? true)
}
