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

/**
 * The value of `X-Gateway-Signature` for a request at a time. Of two secrets, separated by a comma,
 * the first signs and both are believed, so that a secret can be changed on one side at a time.
 */
export function sign(secrets: string, request: Signed, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000)
  const [secret = ''] = secrets.split(',', 1)
  return `t=${seconds},v1=${digest(secret, request, String(seconds)).toString('hex')}`
}

/** What is wrong with a signature, as a sentence; `undefined` if it is right and fresh. */
export function signatureFault(
  secrets: string,
  request: Signed,
  signature: string | undefined,
  nowMs: number,
): string | undefined {
  if (!signature) return 'The signature of the gateway is missing.'
  const parts = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signature)
  if (!parts?.[1] || !parts[2]) return 'The signature of the gateway is malformed.'
  const given = Buffer.from(parts[2], 'hex')
  const [, seconds] = parts
  const isRight = secrets
    .split(',')
    .some((secret) => timingSafeEqual(given, digest(secret, request, seconds)))
  if (!isRight) {
    return 'The signature of the gateway is wrong.'
  }
  const age = Math.abs(nowMs / 1000 - Number(seconds))
  return age > toleranceSeconds ? 'The signature of the gateway is out of date.' : undefined
}

function digest(secret: string, request: Signed, seconds: string): Buffer {
  const { method, target, callerId, plan, requestId } = request
  const text = [seconds, method, target, callerId, plan, requestId].join('\n')
  return createHmac('sha256', secret).update(text).digest()
}
