import { ServerResponse, type IncomingMessage } from 'node:http'
import { endWithThis } from './last-answer.ts'

/** How large the body of an answer may be to go with its head: of 4 KiB, copying it costs as much as it spares. */
const mostInOne = 2_048

type WriteHead = Parameters<ServerResponse['writeHead']>
type End = Parameters<ServerResponse['end']>

/**
 * An answer whose head and body leave as one text, and behind which nothing is taken if it is the last. Node would hand the system a head, a body and an end in
 * a list, which costs 1 µs more: a twentieth of what it takes to refuse.
 */
export class InOne<Asked extends IncomingMessage> extends ServerResponse<Asked> {
  // What Node keeps of a head that is written but not sent; whatever its type says, there may be none.
  declare _header: string | null
  declare _headerSent: boolean
  declare _hasBody: boolean
  /** Whether its head says that the connection ends with it. */
  declare _last: boolean

  override writeHead(...given: unknown[]): this {
    super.writeHead(...(given as WriteHead))
    if (this._last) endWithThis(this.req.socket)
    return this
  }

  override end(...given: unknown[]): this {
    const [body, how] = given
    const text = !how && this.#isToSendAll() ? textOf(body) : undefined
    if (text === undefined) return super.end(...(given as End))
    this._header = `${this._header}${text}`
    return super.end()
  }

  /** Whether nothing was sent yet of an answer whose body is sent as it is. */
  #isToSendAll(): boolean {
    return this._header !== null && !this._headerSent && this._hasBody && !this.chunkedEncoding
  }
}

/** A body as a text of one byte a character, as heads are sent; `undefined` for one that is better sent by itself. */
function textOf(body: unknown): string | undefined {
  if (Buffer.isBuffer(body)) return body.length <= mostInOne ? body.toString('latin1') : undefined
  if (typeof body !== 'string' || body.length > mostInOne) return undefined
  return Buffer.byteLength(body) === body.length ? body : undefined
}
