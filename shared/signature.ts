import { createHmac, timingSafeEqual } from 'node:crypto'

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

/** The value of `X-Gateway-Signature` for a request at a time. */
export function sign(secret: string, request: Signed, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000)
  return `t=${seconds},v1=${digest(secret, request, String(seconds)).toString('hex')}`
}

/** What is wrong with a signature, as a sentence; `undefined` if it is right and fresh. */
export function signatureFault(
  secret: string,
  request: Signed,
  signature: string | undefined,
  nowMs: number,
): string | undefined {
  if (!signature) return 'The signature of the gateway is missing.'
  const parts = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signature)
  if (!parts?.[1] || !parts[2]) return 'The signature of the gateway is malformed.'
  const given = Buffer.from(parts[2], 'hex')
  if (!timingSafeEqual(given, digest(secret, request, parts[1]))) {
    return 'The signature of the gateway is wrong.'
  }
  const age = Math.abs(nowMs / 1000 - Number(parts[1]))
  return age > toleranceSeconds ? 'The signature of the gateway is out of date.' : undefined
}

function digest(secret: string, request: Signed, seconds: string): Buffer {
  const { method, target, callerId, plan, requestId } = request
  const text = [seconds, method, target, callerId, plan, requestId].join('\n')
  return createHmac('sha256', secret).update(text).digest()
}
