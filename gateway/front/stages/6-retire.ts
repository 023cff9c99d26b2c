import type { onRequestHookHandler } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { pathOf } from '../../../shared/service.ts'
import { waitText } from '../../../shared/times.ts'
import { actedDeprecation } from '../acts/deprecation.ts'
import type { FindDeprecation } from '../config/deprecations.ts'
import type { Caller } from '../keys/caller.ts'
import { secondsToWait } from '../limits/headers.ts'
import { refuse, type RequestRecord } from '../request-record.ts'

export type RetireOptions = Readonly<{
  find: FindDeprecation
  clock: Clock
  /** Called for each request to a deprecated operation, whatever its answer. */
  called: (caller: Caller, operation: string) => void
  /** Called for a request that was admitted and then isn't answered. */
  unanswered: (record: RequestRecord) => void
}>

/** Refuses operations that are past their sunset, and during brownouts before it. */
export function retire({ find, clock, called, unanswered }: RetireOptions): onRequestHookHandler {
  return function retire(request, reply, done): void {
    const { tollgate: record } = request
    const announced = find(request.method, pathOf(request), record?.caller)
    const act = record?.act
    if (act) act.deprecated = actedDeprecation(act, announced, clock())
    const deprecated = act?.deprecated ?? announced
    if (!deprecated) return done()
    if (!record?.caller) throw new Error('retire comes after authenticate')
    if (act) act.isActed ||= act.deprecated !== undefined
    else called(record.caller, deprecated.deprecation.operation)
    const { sunsetMs = Infinity, extension } = deprecated
    const { afterSunset, brownouts, replacement } = deprecated.deprecation
    const now = clock()
    if (afterSunset === 'gone' && now >= sunsetMs) {
      return void refuse(reply, gone(replacement))
    }
    const brownout = extension?.spare
      ? undefined
      : brownouts.find(({ fromMs, toMs }) => fromMs <= now && now < toMs)
    if (!brownout) return done()
    unanswered(record)
    void refuse(reply, brownedOut(brownout.toMs, now, replacement))
  }
}

function gone(replacement: string | undefined): Refusal {
  const sentence = `This operation has been removed.${instead(replacement)}`
  return new Refusal('gone', sentence, { 'cache-control': 'no-store' }).because('sunset')
}

function brownedOut(toMs: number, nowMs: number, replacement: string | undefined): Refusal {
  const until = waitText(toMs, nowMs)
  const sentence = `This operation will be removed. It is switched off for a scheduled brownout until ${until}.${instead(replacement)}`
  const headers = { 'retry-after': String(secondsToWait(toMs, nowMs)) }
  return new Refusal('service_unavailable', sentence, headers).because('brownout')
}

function instead(replacement: string | undefined): string {
  return replacement ? ` Use ${replacement} instead.` : ''
}
