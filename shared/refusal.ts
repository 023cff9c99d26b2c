import { STATUS_CODES } from './node/http.ts'
import type { WindowName } from './windows.ts'

/** Every machine-readable code that an answer can carry, and its HTTP status. */
export const statusByCode = {
  invalid_request: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  gone: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  misdirected_request: 421,
  precondition_required: 428,
  rate_limit_exceeded: 429,
  key_banned: 429,
  too_many_at_once: 429,
  too_many_failed_attempts: 429,
  headers_too_large: 431,
  internal_error: 500,
  not_implemented: 501,
  bad_gateway: 502,
  service_unavailable: 503,
  gateway_timeout: 504,
  http_version_not_supported: 505,
  loop_detected: 508,
} as const

export type RefusalCode = keyof typeof statusByCode

/** Why exactly a request is refused, for operators alone: callers are told the code, and no more. */
export type Reason =
  | 'no_header'
  | 'malformed_token'
  | 'two_tokens'
  | 'ticket'
  | 'bad_check'
  | 'unknown_token'
  | 'expired'
  | 'disabled'
  | 'revoked'
  | 'rotated_out'
  | 'jwt_malformed'
  | 'jwt_issuer'
  | 'jwt_signature'
  | 'jwt_audience'
  | 'jwt_expired'
  | 'jwt_early'
  | 'jwt_claim'
  | 'jwt_keys'
  | 'jwt_callers'
  | 'jwt_accounts'
  | 'strangers'
  | 'plan_gone'
  | 'method'
  | 'path'
  | 'address'
  | 'origin'
  | 'scope'
  | 'plan'
  | 'cost'
  | WindowName
  | 'prepaid'
  | 'ban'
  | 'share'
  | 'at_once'
  | 'pace'
  | 'sunset'
  | 'brownout'
  | 'store'
  | 'app'
  | 'refused'
  | 'reset'
  | 'bad_header'
  | 'unsigned'
  | 'late'
  | 'none_healthy'
  | 'overloaded'

/** The type of every body that these services write themselves. */
export const jsonType = 'application/json; charset=utf-8'

/** A refusal: a code for programs, a sentence for people, a reason for operators, and a cause for the log alone. */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Left out where the code says all. */
  reason: Reason | undefined
  /** The operation of a plan, or the cap of a key, whose limit is used up. */
  of: 'cap' | `operation ${string}` | undefined
  /** The window whose limit is used up. */
  window: WindowName | undefined
  #body: string | undefined

  constructor(
    code: RefusalCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    cause?: unknown,
  ) {
    // A refusal is an answer and not a fault, and its stack trace would cost time.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message, cause === undefined ? undefined : { cause })
    Error.stackTraceLimit = stackTraceLimit
    this.code = code
    this.status = statusByCode[code]
    this.headers = headers
    this.reason = undefined
    this.of = undefined
    this.window = undefined
  }

  /** The same refusal, with its reason. */
  because(reason: Reason | undefined, of?: Refusal['of'], window?: WindowName): this {
    this.reason = reason
    this.of = of
    this.window = window
    return this
  }

  /** A copy with more headers. */
  with(headers: Readonly<Record<string, string>>): Refusal {
    const all = { ...this.headers, ...headers }
    return new Refusal(this.code, this.message, all, this.cause).because(
      this.reason,
      this.of,
      this.window,
    )
  }

  /** The JSON body, `Error` in the OpenAPI documents. */
  get body(): string {
    const { code, message, status } = this
    return (this.#body ??= JSON.stringify({ code, message, status }))
  }
}

/**
 * The refusal for a thrown value: a `Refusal` as it is, a sentence of ours for a mistake that Fastify or Node found in
 * the request, and a neutral 500 for anything else.
 */
export function refusalFrom(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown
  const code = property(thrown, 'code')
  const mapped = typeof code === 'string' ? refusalByErrorCode[code] : undefined
  if (mapped) return new Refusal(mapped[0], mapped[1], {}, thrown)
  const status = property(thrown, 'statusCode')
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new Refusal('invalid_request', 'The request is malformed.', {}, thrown)
  }
  return new Refusal('internal_error', 'Something went wrong on our side.', {}, thrown)
}

/** A refusal as bytes, for a socket on which no request could be parsed. The connection ends after it. */
export function rawRefusal(refusal: Refusal): string {
  const headers = {
    'Content-Type': jsonType,
    'Content-Length': String(Buffer.byteLength(refusal.body)),
    Connection: 'close',
    ...refusal.headers,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const reason = STATUS_CODES[refusal.status] ?? 'Refused'
  return `HTTP/1.1 ${refusal.status} ${reason}\r\n${lines.join('')}\r\n${refusal.body}`
}

const refusalByErrorCode: Readonly<Record<string, readonly [RefusalCode, string]>> = {
  FST_ERR_BAD_URL: ['invalid_request', 'The path of the URL is malformed.'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large', 'The body is larger than this service takes.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid_request',
    'The body is not as long as Content-Length says.',
  ],
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: [
    'invalid_request',
    'A QUERY needs a Content-Type, which says how its body is written.',
  ],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are larger than this service takes.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    'payload_too_large',
    'The chunk extensions are larger than this service takes.',
  ],
  HPE_INVALID_VERSION: ['http_version_not_supported', 'Only HTTP/1.1 and 1.0 are spoken here.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
