import { timingSafeEqual } from 'node:crypto'
import { hmacBy, type Hmac } from './hmac.ts'

/** Seconds that a signature's time may differ from the clock of whoever checks it. */
const toleranceSeconds = 60

/** What a gateway vouches for: this request came through it, for this caller. */
export type Signed = Readonly<{
  method: string
  /** Path and query, byte for byte as they are sent. */
  target: string
  callerId: string
  plan: string
  requestId: string
}>

export const signatureHeader = 'x-gateway-signature'

/** Makes the value of `X-Gateway-Signature` for a request at a time. */
export type Sign = (request: Signed, nowMs: number) => string

/** Says what is wrong with a signature, as a sentence; `undefined` if it is right and fresh. */
export type SignatureFault = (
  request: Signed,
  signature: string | undefined,
  nowMs: number,
) => string | undefined

/** Of two secrets, separated by a comma, the first signs, so that a secret can be changed on one side at a time. */
export function signer(secrets: string): Sign {
  const [secret = ''] = secrets.split(',', 1)
  const hmac = hmacBy(secret)
  return (request, nowMs) => {
    const seconds = String(Math.floor(nowMs / 1000))
    return `t=${seconds},v1=${hmac(signedText(request, seconds))}`
  }
}

/** Of two secrets, separated by a comma, both are believed. */
export function signatureChecker(secrets: string): SignatureFault {
  const hmacs: readonly Hmac[] = secrets.split(',').map(hmacBy)
  return (request, signature, nowMs) => {
    if (!signature) return 'The signature of the gateway is missing.'
    const parts = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signature)
    if (!parts?.[1] || !parts[2]) return 'The signature of the gateway is malformed.'
    const [, seconds, given] = parts
    const text = signedText(request, seconds)
    if (!hmacs.some((hmac) => isSame(given, hmac(text)))) {
      return 'The signature of the gateway is wrong.'
    }
    const age = Math.abs(nowMs / 1000 - Number(seconds))
    return age > toleranceSeconds ? 'The signature of the gateway is out of date.' : undefined
  }
}

function signedText(request: Signed, seconds: string): string {
  const { method, target, callerId, plan, requestId } = request
  return [seconds, method, target, callerId, plan, requestId].join('\n')
}

/** Whether two texts of one length are the same, in a time that doesn't tell where they differ. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
