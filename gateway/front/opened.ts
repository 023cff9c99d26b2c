import type { FastifyInstance, onSendHookHandler } from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import type { TellEnd } from '../../shared/service.ts'
import type { Sign } from '../../shared/signature.ts'
import type { Config } from './config/config.ts'
import type { AskingProxy } from './config/asking.ts'
import type { Front } from './front.ts'
import type { KeyOf } from './http/token-source.ts'
import { oneOf } from './keys/outside-finders.ts'
import type { OwnCallers } from './keys/own-callers.ts'
import type { RequestRecord } from './request-record.ts'
import { proxiesTrustedBy } from './stranger.ts'
import type { Upstream } from './forwarding/upstream.ts'
import type { UnderWay } from './forwarding/under-way.ts'

export type GuardOptions = Readonly<{
  config: Config
  front: Front
  /** Signs forwarded requests; `undefined` without a secret. */
  sign: Sign | undefined
  clock: Clock
  /** An app's own way to find the key of a request. */
  keyOf?: KeyOf | undefined
  /** Finds the callers that an app knows itself. */
  ownCallers?: OwnCallers | undefined
  /** Counts guarded requests under way. */
  underWay?: UnderWay | undefined
  /** Writes the log line of a request that has ended; `undefined` where the app does it, or nobody. */
  tell?: TellEnd | undefined
  /** The proxy that asks, where requests are only decided. */
  asking?: AskingProxy | undefined
  /** Whether the app is the gateway's own, without other routes. */
  isAlone?: boolean
  /** Whether the app's own routes are guarded that don't say otherwise. */
  isForAll?: boolean
  /** Hooks on answers after the stages. */
  finish?: readonly onSendHookHandler[]
}>

/** The parts that the routes of one configuration share, until it closes them. */
export type Opened = Awaited<ReturnType<typeof open>>

/** Opens the parts that one configuration needs, all or none. */
export async function open(app: FastifyInstance, options: GuardOptions) {
  const releases: (() => void)[] = []
  const close = (): void => releases.splice(0).forEach((release) => release())
  try {
    return { ...(await acquireAll(app, options, releases)), close }
  } catch (error) {
    close()
    throw error
  }
}

/** Acquires the shared parts, and notes how to release each. */
async function acquireAll(
  app: FastifyInstance,
  { config, front, ownCallers, asking, isAlone = false }: GuardOptions,
  releases: (() => void)[],
) {
  const traced = config.traces && (await front.exporters.acquire(config.traces, config.hash))
  if (traced) releases.push(traced.release)
  const upstreams = new Map<string, Upstream>()
  for (const [name, settings] of config.upstreams) {
    const upstream = front.upstreams.acquire(settings)
    releases.push(() => front.upstreams.release(upstream))
    upstreams.set(name, upstream)
  }
  const jwt = await front.issuers.open(config.jwt, !isAlone)
  const trustedProxies = proxiesTrustedBy(app, config)
  // An app, and a proxy that asks, have an origin of their own.
  const isResource = config.jwt.length > 0 && isAlone && !asking
  return {
    upstreams,
    tracer: traced?.tracer,
    /** `undefined` in an app that has `trustProxy`. */
    trustedProxies,
    /** The proxies that are believed which origin was asked, where the gateway says whose tokens it takes. */
    resource: isResource ? trustedProxies : undefined,
    /** Finds the callers of tokens that are no keys. */
    outside: oneOf([ownCallers, jwt].filter((finder) => finder !== undefined)),
    /** Gives the points of a request back that no backend has answered. */
    unanswered: (record: RequestRecord): void => {
      const { caller, stand } = record
      if (!caller || !stand) return
      record.isGivenBack = true
      void front.quotas.giveBack(caller.quota, stand.decision)
    },
  }
}
