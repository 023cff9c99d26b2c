import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../shared/refusal.ts'
import { waitText } from '../../shared/times.ts'
import type { Announced, FindDeprecation } from './config/deprecations.ts'
import { secondsToWait } from './limits/headers.ts'
import type { RequestRecord } from './request-record.ts'

/** The deprecation of a request for its caller. It is looked for once, by whoever asks first. */
export function announcedOf(
  request: FastifyRequest,
  record: RequestRecord,
  find: FindDeprecation | undefined,
): Announced | undefined {
  if (record.announced === 'unasked') {
    record.announced = find?.(request.method, record.path, record.caller)
  }
  return record.announced
}

/** The refusal of a deprecated operation at a time: past its sunset, or in a brownout before; `undefined` if it is answered. */
export function retirement(
  { deprecation, sunsetMs = Infinity, extension }: Announced,
  nowMs: number,
): Readonly<{ refusal: Refusal; isBrownout: boolean }> | undefined {
  const { afterSunset, brownouts, replacement } = deprecation
  if (afterSunset === 'gone' && nowMs >= sunsetMs) {
    return { refusal: gone(replacement), isBrownout: false }
  }
  const brownout = extension?.spare
    ? undefined
    : brownouts.find(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs)
  return brownout && { refusal: brownedOut(brownout.toMs, nowMs, replacement), isBrownout: true }
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
