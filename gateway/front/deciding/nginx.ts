import type { IncomingMessage } from 'node:http'
import type { onSendHookHandler } from 'fastify'
import { InOne } from '../../../shared/node/in-one.ts'
import { Refusal } from '../../../shared/refusal.ts'

/** The most characters of a refusal in a header: nginx keeps all headers of an answer in 4 KiB, or what it is told. */
const longestBody = 1_024

/**
 * An answer to nginx, which passes on 401 and 403 and makes 500 of all other refusals: they are 403 on the wire. Log and metrics
 * know the decision's own status.
 */
export class AnswerToNginx<Asked extends IncomingMessage> extends InOne<Asked> {
  override writeHead(...[status, ...more]: unknown[]): this {
    super.writeHead(statusFor(Number(status)), ...more)
    this.statusCode = Number(status)
    return this
  }
}

/** 421 is no answer to a caller: the proxy shows that it has failed. */
function statusFor(status: number): number {
  return status < 400 || status === 401 || status === 421 ? status : 403
}

/** Tells nginx the status and the body with which a caller would have been refused. */
export const tellRefusal: onSendHookHandler = (_request, reply, payload, done) => {
  if (reply.statusCode >= 400 && typeof payload === 'string')
    reply.headers(headersOf(reply.statusCode, payload))
  done(null, payload)
}

/** A refusal with what nginx makes its answer of. */
export function toldToNginx(refusal: Refusal): Refusal {
  return refusal.with(headersOf(refusal.status, refusal.body))
}

/** The same for bytes that were no request: nothing writes their head but the refusal itself. */
export function onTheWire(refusal: Refusal): Refusal {
  return statusFor(refusal.status) === refusal.status
    ? refusal
    : new Refusal('forbidden', refusal.message, refusal.headers)
}

function headersOf(status: number, body: string): Readonly<Record<string, string>> {
  return { 'x-decision-status': String(status), 'x-decision-body': inHeader(body) }
}

/** JSON as a header can have it: in ASCII, with its message cut if it is too long. */
function inHeader(body: string): string {
  // A long one isn't escaped whole: its message may be a text of callers.
  const whole = body.length <= longestBody ? escaped(body) : undefined
  if (whole !== undefined && whole.length <= longestBody) return whole
  const { code, message, status } = JSON.parse(body) as Readonly<Record<string, string>>
  const shorter = (length: number): string =>
    escaped(JSON.stringify({ code, message: `${message?.slice(0, length)}…`, status }))
  // No character becomes more than six.
  const most = longestBody - shorter(0).length
  const cut = shorter(most)
  return cut.length <= longestBody ? cut : shorter(Math.floor(most / 6))
}

/** A text of JSON with escapes for all that isn't printable ASCII. */
function escaped(json: string): string {
  return json.replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
