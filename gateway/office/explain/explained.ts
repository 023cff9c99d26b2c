import { endIso, iso } from '../../../shared/times.ts'
import type { KeptRefusal, KeptWindow } from '../../front/counts/kept-refusal.ts'
import { windows, type OptionalName, type RequiredName } from '../../../shared/windows.ts'
import { holderOf } from '../../front/counts/use.ts'
import { sentenceOf, whyOf } from './sentences.ts'

/** A refused or failed answer as operators are told of it; `gateway` is the name of the one that gave it. */
export type Explained = ReturnType<typeof explained>

export function explained(refusal: KeptRefusal, gateway: string) {
  const { caller, bannedUntilMs, upstreamMs, upstream, target, needs, has } = refusal
  return {
    id: refusal.id,
    time: iso(refusal.atMs),
    gateway,
    key: caller?.id ?? null,
    name: caller?.name ?? null,
    plan: caller?.plan ?? null,
    account: caller?.account ?? null,
    ...(caller?.isTest && { test: true as const }),
    route: refusal.route,
    method: refusal.method,
    path: refusal.path,
    status: refusal.status,
    code: refusal.code ?? null,
    reason: whyOf(refusal),
    ...holderOf(refusal),
    ...(refusal.estimate !== undefined && { estimate: refusal.estimate }),
    cost: refusal.cost,
    ...(refusal.underWay && { underWay: refusal.underWay }),
    ...(needs && { needs, has: has === undefined ? null : has.split(' ').filter(Boolean) }),
    ...windowViews(refusal.windows),
    strikes: refusal.strikes,
    strikesToBan: refusal.strikesToBan ?? null,
    bannedUntil: bannedUntilMs > 0 ? endIso(bannedUntilMs) : null,
    decidedBy: refusal.decidedBy ?? null,
    config: refusal.config,
    upstream: upstream === '' ? null : upstream,
    target: target ?? null,
    ownMs: refusal.ownMs,
    upstreamMs: upstreamMs ?? null,
    sentence: sentenceOf(refusal),
  }
}

type WindowViews = Readonly<
  Record<RequiredName, WindowView | null> & { [Name in OptionalName]?: WindowView | null }
>

function windowViews(states: KeptRefusal['windows']): WindowViews {
  const shown = windows.filter(({ name, isRequired }) => isRequired || states[name])
  return Object.fromEntries(
    shown.map(({ name }) => [name, windowView(states[name])]),
  ) as WindowViews
}

export type WindowView = NonNullable<ReturnType<typeof windowView>>

/** `reset` is in Unix seconds, as in the answer's headers. */
function windowView(window: KeptWindow | undefined) {
  if (!window) return null
  const { limit, used, resetMs } = window
  return { limit, used: used ?? null, reset: Math.ceil(resetMs / 1_000) }
}
