import type { IncomingHttpHeaders } from 'node:http'
import { callerText } from './caller-value.ts'
import { digestHeader, digestVerdict } from './content-digest.ts'
import { isAboutCaller, signatureChecker } from './signature.ts'

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

/** The caller of a signed request. */
export type VerifiedCaller = Readonly<{
  id: string
  plan: string
  /** `undefined` where it has none. */
  account: string | undefined
  reference: string | undefined
  /** Claims of its JWT that the configuration forwards, by the names of their headers in small letters. */
  claims: Readonly<Record<string, string>>
}>

/**
 * The caller of a request that came through a gateway with this secret, within the last minute, as it is; `undefined` of any
 * other. Nothing that a caller sends makes it throw; a secret that is missing or has an empty part does.
 */
export function verifySignature(request: ReceivedRequest): VerifiedCaller | undefined {
  const { headers, body, secret, now = Date.now() } = request
  // With the empty secret anybody can sign.
  if (!secret) throw new Error('verifySignature needs the secret that gateway and backend share')
  const covered = signatureChecker(secret)(request, now)
  if (typeof covered === 'string') return undefined
  if (body && bodyFault(covered, headers[digestHeader], body) !== undefined) return undefined
  const told: Record<string, string> = {}
  for (const name of covered.filter(isAboutCaller)) {
    const text = callerText(String(headers[name]))
    if (text === undefined) return undefined
    told[name] = text
  }
  const { 'x-caller-id': id = '', 'x-caller-plan': plan = '', ...others } = told
  const { 'x-caller-account': account, 'x-caller-reference': reference, ...claims } = others
  return { id, plan, account, reference, claims }
}

/** The fault of a body against a digest that the signature covers; `undefined` if it covers none. */
export function bodyFault(
  covered: readonly string[],
  digest: unknown,
  body: Uint8Array,
): string | undefined {
  if (!covered.includes(digestHeader) || typeof digest !== 'string') return undefined
  if (digestVerdict(digest, body) !== 'wrong') return undefined
  return 'The signature of the gateway is for another body.'
}
