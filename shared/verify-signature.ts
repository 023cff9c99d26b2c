import type { IncomingHttpHeaders } from 'node:http'
import { bodyChecker, signatureChecker, signatureHeader } from './signature.ts'

/** A request that a backend has got, and the secret that it shares with the gateway. */
export type ReceivedRequest = Readonly<{
  method: string
  /** Path and query, byte for byte as they came: Node's `request.url`, before anything rewrites it. */
  target: string
  /** As Node gives them, by names in small letters. */
  headers: IncomingHttpHeaders
  /** The bytes of the whole body; without them the body isn't checked. */
  body?: Uint8Array | undefined
  /** GATEWAY_SECRET: one, or two with a comma between, either of which may have signed. */
  secret: string
  /** The time in milliseconds; by default the present one. */
  now?: number | undefined
}>

/**
 * Whether a request came through a gateway with this secret, within the last minute, as it is. Nothing that a caller sends makes
 * it throw; a secret that is missing or has an empty part does.
 */
export function verifySignature(request: ReceivedRequest): boolean {
  const { method, target, headers, body, secret, now = Date.now() } = request
  // With the empty secret anybody can sign.
  if (!secret) throw new Error('verifySignature needs the secret that gateway and backend share')
  const textOf = (name: string): string => {
    const value = headers[name]
    return typeof value === 'string' ? value : ''
  }
  const signature = textOf(signatureHeader)
  const signed = {
    ...{ method, target, callerId: textOf('x-caller-id'), plan: textOf('x-caller-plan') },
    requestId: textOf('x-request-id'),
  }
  if (signatureChecker(secret)(signed, signature, now) !== undefined) return false
  return body === undefined || bodyChecker(secret)(signature, body) === undefined
}
