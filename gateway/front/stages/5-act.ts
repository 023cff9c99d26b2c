import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import { jsonType, Refusal } from '../../../shared/refusal.ts'
import { isWindowName, steadyWindows, windowOf } from '../../../shared/windows.ts'
import { actedDeprecation } from '../acts/deprecation.ts'
import { banned, crowdedAt, emptied, nearEnd, usedUp } from '../acts/standings.ts'
import { actNames, wishFrom, type ActName, type Wish } from '../acts/wish.ts'
import type { FindDeprecation } from '../config/deprecations.ts'
import { late, tooManyAtOnce, unhealthy, unreachable } from '../forwarding/refusals.ts'
import { ended } from '../keys/refusals.ts'
import type { Terms } from '../keys/terms.ts'
import { crowdedRefusal } from '../limits/wait-refusal.ts'
import type { Standing } from '../limits/headers.ts'
import { isLimited } from '../limits/limits.ts'
import type { Quotas } from '../limits/quotas.ts'
import { forbidden } from '../limits/refusals.ts'
import { limitsIn, type Decision } from '../limits/step.ts'
import type { Strangers } from '../limits/strangers.ts'
import { waitRefusal } from '../limits/wait-refusal.ts'
import { refuse, type RequestRecord } from '../request-record.ts'
import { announcedOf, retirement } from '../retirement.ts'
import type { AddressOf } from '../stranger.ts'

export type ActOptions = Readonly<{
  quotas: Quotas
  strangers: Strangers
  addressOf: AddressOf
  find: FindDeprecation | undefined
  clock: Clock
  /** Whether there are no answers but refusals: who asks would take another one for a yes. */
  refusesOnly: boolean
}>

/** A ban of a plan without bans lasts as an operator says. */
const usualBanMs = 300_000

/**
 * Answers what a test key wishes to see by `X-Gateway-Act`, whatever the key's real state, and counts nothing: by its standing,
 * made worse as the wish says, and by the refusals that the other stages make. No other stage knows of it.
 */
export function act(options: ActOptions): onRequestHookHandler {
  const { quotas, refusesOnly } = options
  return function act(request, reply, done): void {
    const { tollgate: record, headers } = request
    const { caller, terms } = record ?? {}
    const text = caller?.isTest ? headers['x-gateway-act'] : undefined
    if (text === undefined || !record || !caller || !terms) return done()
    const wish = wishFrom(String(text))
    record.acted = wish ? String(text) : 'unknown'
    const parts = terms.partsOf?.(request.method, record.path)
    const play = (decision: Decision): void => {
      // Its caller left meanwhile: nothing would end a slow answer.
      if (record.hasEnded) return
      const limits = limitsIn(decision, terms.limits)
      record.stand = { decision: { ...decision, verdict: 'admitted' }, limits }
      if (!wish) return void refuse(reply, unknown())
      const refusal =
        refusalFor(wish.name, options, request, record, record.stand, terms) ??
        (refusesOnly ? noRefusal() : undefined)
      if (refusal?.code !== 'invalid_request') reply.header('x-gateway-acted', record.acted)
      if (refusal) refuse(reply, refusal)
      else answer(wish, record, reply)
    }
    const decided = quotas.stand(caller, parts ? { ...terms, parts } : terms)
    if (decided instanceof Promise) decided.then(play).catch(done)
    else play(decided)
  }
}

/** The refusals that a standing doesn't change. */
const refusals: Readonly<Partial<Record<ActName, () => Refusal>>> = {
  too_many_at_once: tooManyAtOnce,
  forbidden: () => forbidden('method'),
  bad_gateway: unreachable,
  gateway_timeout: late,
  unavailable: unhealthy,
}

/** The refusal that an act ends with; `undefined` for an answer. */
function refusalFor(
  name: ActName,
  { strangers, addressOf, find, clock }: ActOptions,
  request: FastifyRequest,
  record: RequestRecord,
  real: Standing,
  { bans, near }: Terms,
): Refusal | undefined {
  const refusedAt = (code: Parameters<typeof waitRefusal>[0], standing: Standing): Refusal => {
    record.stand = standing
    return waitRefusal(code, standing, bans)
  }
  if (isWindowName(name)) {
    const window = windowOf(name)
    const standing = usedUp(real, window, Math.max(1, record.route.cost))
    if (!standing) return never(`has no limit ${window.each}`)
    return refusedAt('rate_limit_exceeded', standing)
  }
  if (name === 'prepaid') {
    const standing = emptied(real, Math.max(1, record.route.cost))
    return standing
      ? refusedAt('rate_limit_exceeded', standing)
      : never('has no window that is prepaid')
  }
  if (name === 'ban') return refusedAt('key_banned', banned(real, bans?.forMs ?? usualBanMs))
  if (name === 'at_once') {
    const standing = crowdedAt(real)
    if (!standing) return never('may have any number of requests under way')
    record.stand = standing
    return crowdedRefusal(standing.decision)
  }
  if (name === 'near_limit') {
    const standing = nearEnd(real, near)
    if (!standing) return never('is never told that the end of a limit is near')
    record.stand = standing
    return undefined
  }
  if (name === 'expired' || name === 'too_many_failed_attempts') {
    const standing = strangers.standing(addressOf(request))
    record.stand = standing
    if (name === 'expired') return ended.expired()
    const limited = steadyWindows.find((window) => isLimited(standing.limits, window))
    const full = limited && usedUp(standing, limited, 1)
    return full ? refusedAt(name, full) : never('may guess as often as it likes')
  }
  if (name === 'sunset' || name === 'brownout' || name === 'deprecated') {
    const nowMs = clock()
    record.announced = actedDeprecation(name, announcedOf(request, record, find), nowMs)
    return retirement(record.announced, nowMs)?.refusal
  }
  return refusals[name]?.()
}

/** Answers as no backend has: late, where that is the wish, unless the caller leaves before. */
function answer({ slowMs }: Wish, record: RequestRecord, reply: FastifyReply): void {
  const send = (): void => {
    record.upstreamCall = undefined
    void reply.type(jsonType).send(JSON.stringify({ acted: record.acted }))
  }
  if (slowMs === 0) return send()
  const timer = setTimeout(send, slowMs)
  record.upstreamCall = { cancel: () => clearTimeout(timer) }
}

function unknown(): Refusal {
  const all = actNames.map((name) => (name === 'slow' ? 'slow=3s (up to 10s)' : name))
  return new Refusal('invalid_request', `X-Gateway-Act can be ${all.join(', ')}.`)
}

function noRefusal(): Refusal {
  const sentence =
    'X-Gateway-Act can’t simulate an answer here: a proxy forwards what is admitted. Wish for a refusal.'
  return new Refusal('invalid_request', sentence)
}

function never(why: string): Refusal {
  const sentence = `X-Gateway-Act can't simulate this refusal for your key: it ${why}.`
  return new Refusal('invalid_request', sentence)
}
