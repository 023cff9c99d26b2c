import { Ranges } from './address.ts'
import type { Key } from './keys/key.ts'
import { effectiveLimits, type Limits, type Plan } from './limits/limits.ts'
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
}>

/** A caller, and what its key is restricted to. */
export type KnownCaller = Readonly<{
  caller: Caller
  allows: (method: string, path: string, address: () => string) => boolean
}>

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sends this request; `null` until its key was found valid. */
    caller: Caller | null
  }
}

/** The caller that a key stands for; `undefined` if the configuration has no limits for it. */
export function callerFrom(key: Key, plans: ReadonlyMap<string, Plan>): KnownCaller | undefined {
  const plan = plans.get(key.plan)
  const limits = plan && effectiveLimits(plan, key.limits)
  if (!limits) return undefined
  const { id, name, account } = key
  const quota = account === undefined ? `key:${id}` : `account:${account}`
  const caller = Object.freeze({ id, name, plan: key.plan, account, quota, limits })
  return { caller, allows: restriction(key) }
}

function restriction({ methods, paths, addresses }: Key): KnownCaller['allows'] {
  if (!methods && !paths && !addresses) return () => true
  const someMethods = methods && new Set(methods)
  const somePaths = paths && pathMatcher(paths)
  const someAddresses = addresses && new Ranges(addresses)
  return (method, path, address) =>
    (someMethods?.has(method) ?? true) &&
    (somePaths?.(path) ?? true) &&
    (someAddresses?.has(address()) ?? true)
}
