import type { IncomingMessage, ServerResponse } from 'node:http'
import { StoppingResponse } from './last-answer.ts'

/** The largest body that is sent in one text with its head: at 4 KiB copying costs as much as it saves. */
const mostInOne = 2_048

type End = Parameters<ServerResponse['end']>

/**
 * A response that writes head and body as one text. Node would pass head, body and end as a list, which costs a refusal a
 * twentieth of its CPU time.
 */
export class InOne<Asked extends IncomingMessage> extends StoppingResponse<Asked> {
  // Node's text of a head that is written but not sent. It may be missing, against its type.
  declare _header: string | null
  declare _headerSent: boolean
  declare _hasBody: boolean

  override end(...given: unknown[]): this {
    const [body, how] = given
    const text = !how && this.#isToSendAll() ? textOf(body) : undefined
    if (text === undefined) return super.end(...(given as End))
    this._header = `${this._header}${text}`
    return super.end()
  }

  /** Whether nothing was sent yet, and the body isn't chunked. */
  #isToSendAll(): boolean {
    return this._header !== null && !this._headerSent && this._hasBody && !this.chunkedEncoding
  }
}

/** A body as latin1 text, like a head; `undefined` for a body that is better sent by itself. */
function textOf(body: unknown): string | undefined {
  if (Buffer.isBuffer(body)) return body.length <= mostInOne ? body.toString('latin1') : undefined
  if (typeof body !== 'string' || body.length > mostInOne) return undefined
  return Buffer.byteLength(body) === body.length ? body : undefined
}
