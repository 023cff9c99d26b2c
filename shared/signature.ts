import { hash, timingSafeEqual } from 'node:crypto'
import { hmacBy, type Hmac } from './hmac.ts'

/** The most seconds between a signature's time and the checker's clock. */
const toleranceSeconds = 60

/** The signed parts of a request: it came through the gateway, for this caller. */
export type Signed = Readonly<{
  method: string
  /** Path and query, byte for byte as sent. */
  target: string
  callerId: string
  plan: string
  requestId: string
  /** The whole body, if it is known. Otherwise the body isn't signed. */
  body?: Buffer | undefined
}>

export const signatureHeader = 'x-gateway-signature'

/**
 * The value of that header in a backend's answer that rejects the signature. No signature has this value, so a backend
 * that echoes its request's headers isn't misread.
 */
export const signatureRefused = 'refused'

/**
 * Makes the value of `X-Gateway-Signature` for a request at a time: `t=<unix seconds>,v1=<HMAC>`, and with a
 * body `,b=<HMAC>` behind it, both in hexadecimal. `v1` is of `t`, method, target, caller id, plan and request id,
 * joined by newlines; `b` is of `v1`, a newline and the SHA-256 of the body.
 */
export type Sign = (request: Signed, nowMs: number) => string

/**
 * The fault of a signature as a sentence; `undefined` if it is right and fresh. Mostly the body hasn't arrived yet, and
 * a `BodyFault` checks it later.
 */
export type SignatureFault = (
  request: Signed,
  signature: string | undefined,
  nowMs: number,
) => string | undefined

/** A shorter secret can be guessed from one signature. */
const shortSecret = 16

/** The fault of a GATEWAY_SECRET as a sentence for operators; `undefined` if it is usable. */
export function secretFault(secrets: string | undefined): string | undefined {
  if (!secrets || secrets.split(',').every((secret) => secret.trim() !== '')) return undefined
  // Anybody can sign with the empty secret.
  return 'GATEWAY_SECRET has an empty part: write one secret, or NEW,OLD while it is being changed (is a variable in it not set?)'
}

/** A warning about a weak GATEWAY_SECRET, which doesn't quote it. */
export function secretWarning(secrets: string | undefined): string | undefined {
  if (!secrets || secrets.split(',').every((secret) => secret.trim().length >= shortSecret))
    return undefined
  return `GATEWAY_SECRET has fewer than ${shortSecret} characters, which can be guessed; openssl rand -hex 32 makes a good one`
}

/**
 * Makes a signer. Of two secrets, separated by a comma, the first one signs, so that a secret can be changed on one side
 * at a time. Throws the fault of an unusable secret.
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

/** Makes a check of signatures. Of two secrets, separated by a comma, both are accepted. Throws the fault of an unusable secret. */
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
    // Of a clock that tells no number, nothing is fresh.
    return age <= toleranceSeconds ? undefined : 'The signature of the gateway is out of date.'
  }
}

/**
 * Makes a check of bodies against a signature that has passed its own check. A signature without a body's hash accepts any
 * body.
 */
export type BodyFault = (signature: string, body: Uint8Array) => string | undefined

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

function bodyText(v1: string, body: Uint8Array): string {
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

/** Compares two texts of the same length in constant time. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
