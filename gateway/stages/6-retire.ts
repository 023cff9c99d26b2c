import type { onRequestHookHandler } from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import { Refusal } from '../../shared/refusal.ts'
import { pathOf } from '../../shared/service.ts'
import type { FindDeprecation } from '../config/deprecations.ts'
import type { Caller } from '../keys/caller.ts'
import { refuse, type RequestRecord } from '../request-record.ts'

export type RetireOptions = Readonly<{
  find: FindDeprecation
  clock: Clock
  /** Told of each call of a deprecated operation, whatever it is answered. */
  called: (caller: Caller, operation: string) => void
  /** Told of a request that was admitted and then is not answered. */
  unanswered: (record: RequestRecord) => void
}>

/** Ends operations that are past their sunset, and rehearses that end in brownouts. */
export function retire({ find, clock, called, unanswered }: RetireOptions): onRequestHookHandler {
  return function retire(request, reply, done): void {
    const found = find(request.method, pathOf(request))
    if (!found) return done()
    const { tollgate: record } = request
    if (!record?.caller) throw new Error('retire comes after authenticate')
    called(record.caller, found.deprecation.operation)
    const { sunsetMs = Infinity, afterSunset, brownouts, replacement } = found.deprecation
    const now = clock()
    if (afterSunset === 'gone' && now >= sunsetMs) {
      return void refuse(reply, gone(replacement))
    }
    const brownout = brownouts.find(({ fromMs, toMs }) => fromMs <= now && now < toMs)
    if (!brownout) return done()
    unanswered(record)
    void refuse(reply, resting(Math.max(1, Math.ceil((brownout.toMs - now) / 1000)), replacement))
  }
}

function gone(replacement: string | undefined): Refusal {
  const sentence = `This operation has been removed.${instead(replacement)}`
  return new Refusal('gone', sentence, { 'cache-control': 'no-store' })
}

function resting(seconds: number, replacement: string | undefined): Refusal {
  const sentence = `This operation is going to be removed, and rests as a rehearsal of that.${instead(replacement)}`
  return new Refusal('service_unavailable', sentence, { 'retry-after': String(seconds) })
}

function instead(replacement: string | undefined): string {
  return replacement ? ` Use ${replacement} instead.` : ''
}
