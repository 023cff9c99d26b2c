import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Client } from 'undici'
import { plainAddress, Ranges } from '../../front/http/address.ts'
import type { NoticeSettings } from '../../front/config/config.ts'
import { isThisMachine, unbracketed, whyInternal } from './networks.ts'
import type { Notice } from '../../front/records/notice.ts'
import { secondsOf } from '../../../shared/retry-after.ts'
import { signaturesOf } from './signature.ts'

/** The time limit of a try. */
const tryMs = 5_000

/** The bytes of an answer that are read, so that its sender sees a whole exchange. */
const mostRead = 16_384

/** The answer that means that nothing is to come any more. */
const gone = 410

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
    return { isDelivered, isGone: status === gone, status, ...why, ...wish, ms: ms() }
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    const why = isLate ? `no answer within ${tryMs / 1_000} s` : sentenceOf(error)
    return { isDelivered: false, isGone: false, why, ms: ms() }
  }
}

async function post(
  options: SendOptions,
): Promise<Readonly<{ status: number; retryAfter: unknown }>> {
  const { settings, notice, nowMs, lookup = systemLookup } = options
  const { origin, hostname, pathname, search } = new URL(settings.to)
  const host = unbracketed(hostname)
  const isOwn = isThisMachine(hostname)
  if (isIP(host) !== 0 && !isOwn) requireAllowed([host], host, settings.allow)
  const late = AbortSignal.timeout(tryMs)
  const signal = AbortSignal.any([options.signal, late])
  const client = new Client(origin, {
    allowH2: false,
    connect: { timeout: tryMs, ...(isOwn ? {} : { lookup: guarded(lookup, settings.allow) }) },
  })
  try {
    const {
      statusCode: status,
      headers,
      body,
    } = await client.request({
      method: 'POST',
      path: pathname + search,
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

/**
 * The look-up of a name that gives allowed addresses only. Connections are made to what it gives, so a name can't lead
 * elsewhere after it was checked.
 */
function guarded(lookup: typeof systemLookup, allow: readonly string[]): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, [])
      try {
        const allowed = requireAllowed(
          addresses.map(({ address }) => address),
          host,
          allow,
        )
        const fit = addresses.filter(({ address }) => allowed.includes(address))
        give(fit, options.all === true, done)
      } catch (refused) {
        done(refused as Error, [])
      }
    })
  }
}

function give(
  fit: readonly LookupAddress[],
  all: boolean,
  done: Parameters<LookupFunction>[2],
): void {
  const [first] = fit
  if (all) done(null, [...fit])
  else done(null, first?.address ?? '', first?.family)
}

/** The addresses of a host to which notices may go; throws a sentence if there is none. */
function requireAllowed(
  addresses: readonly string[],
  host: string,
  allow: readonly string[],
): readonly string[] {
  const ranges = new Ranges(allow)
  const reasons = addresses.map((each) => {
    const address = plainAddress(each)
    const what = ranges.has(address) ? undefined : whyInternal(address)
    return what && `${address} is an address ${what}, and not in allow`
  })
  const fit = addresses.filter((_address, i) => reasons[i] === undefined)
  if (fit.length > 0) return fit
  const [why = 'it has no address'] = reasons
  throw new Error(why.startsWith(host) ? why : `${host}: ${why}`)
}

function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Several addresses were tried, each with an error of its own.
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : []
  return first === undefined ? error.message : sentenceOf(first)
}
