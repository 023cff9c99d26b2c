import type { lookup as systemLookup } from 'node:dns'
import { guardedClient } from '../../front/http/guarded-lookup.ts'
import type { NoticeSettings } from '../../front/config/config.ts'
import type { Notice } from '../../front/records/notice.ts'
import { firstMessage } from '../../../shared/first-message.ts'
import { secondsOf } from '../../../shared/retry-after.ts'
import { signaturesOf } from './signature.ts'

/** The time limit of a try. */
const tryMs = 5_000

/** The bytes of an answer that are read, so that its sender sees a whole exchange. */
const mostRead = 16_384

/** The answer that means that nothing is to come any more. */
const goneStatus = 410

/** The outcome of a try. `status` is absent without an answer; `why` says what was wrong. */
export type DeliveryResult = Readonly<{
  isDelivered: boolean
  isGone: boolean
  status?: number
  why?: string
  /** The time after which the receiver wants to be asked again, if it says one. */
  retryAfterMs?: number
  ms: number
}>

export type SendOptions = Readonly<{
  settings: NoticeSettings
  notice: Pick<Notice, 'id' | 'body'>
  /** The time of this try, for the receiver. */
  nowMs: number
  /** Aborts when the gateway stops. */
  signal: AbortSignal
  /** Finds the addresses of a name; by default the system does. */
  lookup?: typeof systemLookup
}>

/** Sends a notice once. Redirects are failures: they would lead past the check of the address. Never rejects. */
export async function send(options: SendOptions): Promise<DeliveryResult> {
  const beganAtMs = performance.now()
  const ms = (): number => Math.round(performance.now() - beganAtMs)
  try {
    const { status, retryAfter } = await post(options)
    const isDelivered = status >= 200 && status <= 299
    const why = isDelivered ? {} : { why: `answered ${status}` }
    const seconds = secondsOf(retryAfter, options.nowMs)
    const wish = isDelivered || seconds === undefined ? {} : { retryAfterMs: seconds * 1_000 }
    return { isDelivered, isGone: status === goneStatus, status, ...why, ...wish, ms: ms() }
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    const why = isLate ? `no answer within ${tryMs / 1_000} s` : firstMessage(error)
    return { isDelivered: false, isGone: false, why, ms: ms() }
  }
}

async function post(
  options: SendOptions,
): Promise<Readonly<{ status: number; retryAfter: unknown }>> {
  const { settings, notice, nowMs, lookup } = options
  const late = AbortSignal.timeout(tryMs)
  const signal = AbortSignal.any([options.signal, late])
  const { client, path } = guardedClient(settings.to, settings, tryMs, lookup)
  try {
    const {
      statusCode: status,
      headers,
      body,
    } = await client.request({
      method: 'POST',
      path,
      headers: headersFor(settings, notice, nowMs),
      body: notice.body,
      signal,
    })
    await body.dump({ limit: mostRead, signal }).catch(() => undefined)
    return { status, retryAfter: headers['retry-after'] }
  } finally {
    client.destroy().catch(() => undefined)
  }
}

function headersFor(
  { secrets }: NoticeSettings,
  { id, body }: SendOptions['notice'],
  nowMs: number,
) {
  const seconds = Math.floor(nowMs / 1_000)
  return {
    'content-type': 'application/json',
    'user-agent': 'tollgate',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signaturesOf(secrets, { id, seconds, body }),
  }
}
