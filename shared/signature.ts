import { hash, timingSafeEqual } from 'node:crypto'
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
  /** The body, where all of it is known; of a request without it, the body is not vouched for. */
  body?: Buffer | undefined
}>

export const signatureHeader = 'x-gateway-signature'

/**
 * What a backend answers under that name if it doesn't believe the gateway. A backend that sends back
 * the headers that it got, as some do, can't seem to say so: no signature is such a word.
 */
export const signatureRefused = 'refused'

/**
 * Makes the value of `X-Gateway-Signature` for a request at a time: `t=<unix seconds>,v1=<HMAC>`, and with a
 * body `,b=<HMAC>` behind it, both in hexadecimal. `v1` is of `t`, method, target, caller id, plan and request id,
 * joined by newlines; `b` is of `v1`, a newline and the SHA-256 of the body.
 */
export type Sign = (request: Signed, nowMs: number) => string

/**
 * Says what is wrong with a signature, as a sentence; `undefined` if it is right and fresh. The body
 * has mostly not come by then: a `BodyFault` is for when it has.
 */
export type SignatureFault = (
  request: Signed,
  signature: string | undefined,
  nowMs: number,
) => string | undefined

/** A secret of fewer characters can be guessed by who has seen one signature. */
const shortSecret = 16

/** What keeps a GATEWAY_SECRET from being one, as a sentence for whoever has set it. */
export function secretFault(secrets: string | undefined): string | undefined {
  if (!secrets || secrets.split(',').every((secret) => secret.trim() !== '')) return undefined
  // Anybody can sign with the empty secret.
  return 'GATEWAY_SECRET has an empty part: write one secret, or NEW,OLD while it is being changed (is a variable in it not set?)'
}

/** What is weak about a GATEWAY_SECRET, as a sentence that doesn't tell it. */
export function secretWarning(secrets: string | undefined): string | undefined {
  if (!secrets || secrets.split(',').every((secret) => secret.trim().length >= shortSecret))
    return undefined
  return `GATEWAY_SECRET has fewer than ${shortSecret} characters, which can be guessed; openssl rand -hex 32 makes a good one`
}

/**
 * Of two secrets, separated by a comma, the first signs, so that a secret can be changed on one side at a time.
 * Throws the fault of a secret that has one.
 */
export function signer(secrets: string): Sign {
  const [secret = ''] = secretsFrom(secrets)
  const hmac = hmacBy(secret)
  return (request, nowMs) => {
    const seconds = String(Math.floor(nowMs / 1000))
    const v1 = hmac(signedText(request, seconds))
    const signature = `t=${seconds},v1=${v1}`
    return request.body ? `${signature},b=${hmac(bodyText(v1, request.body))}` : signature
  }
}

/** Of two secrets, separated by a comma, both are believed. Throws the fault of a secret that has one. */
export function signatureChecker(secrets: string): SignatureFault {
  const hmacs: readonly Hmac[] = secretsFrom(secrets).map(hmacBy)
  return (request, signature, nowMs) => {
    if (!signature) return 'The signature of the gateway is missing.'
    const parts = /^t=(\d{1,12}),v1=([0-9a-f]{64})(?:,b=[0-9a-f]{64})?$/.exec(signature)
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

/**
 * Says whether a body is another one than a signature is for, whose own fault was looked for before;
 * any body fits one that says nothing of it.
 */
export type BodyFault = (signature: string, body: Buffer) => string | undefined

export function bodyChecker(secrets: string): BodyFault {
  const hmacs: readonly Hmac[] = secretsFrom(secrets).map(hmacBy)
  return (signature, body) => {
    const [, v1, given] = /,v1=([0-9a-f]{64}),b=([0-9a-f]{64})$/.exec(signature) ?? []
    if (v1 === undefined || given === undefined) return undefined
    const text = bodyText(v1, body)
    if (hmacs.some((hmac) => isSame(given, hmac(text)))) return undefined
    return 'The signature of the gateway is for another body.'
  }
}

function bodyText(v1: string, body: Buffer): string {
  return `${v1}\n${hash('sha256', body, 'hex')}`
}

function secretsFrom(secrets: string): string[] {
  const fault = secretFault(secrets)
  if (fault) throw new Error(fault)
  return secrets.split(',')
}

function signedText(request: Signed, seconds: string): string {
  const { method, target, callerId, plan, requestId } = request
  return [seconds, method, target, callerId, plan, requestId].join('\n')
}

/** Whether two texts of one length are the same, in a time that doesn't tell where they differ. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
