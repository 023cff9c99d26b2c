import type { Socket } from 'node:net'
import { ServerResponse, type IncomingMessage } from './http.ts'
import { hangUp } from './linger.ts'

/** The value that makes Node's parser skip all bytes after a request. */
const stop = 2

const state = Symbol('lastAnswer')

/** A connection's state: whether its last request has come, and whether its last answer is decided. */
type Ending = Socket & { [state]?: 'come' | 'decided' }

/**
 * Notes the last request of a connection: later bytes aren't read as requests any more. A client that gets
 * `Connection: close` may rely on that (RFC 9112, 9.6), but Node hands on all requests of one read, up to 2,000,
 * before it checks the answer.
 */
export function takeNoMore(socket: Socket): void {
  const ending: Ending = socket
  if (ending[state]) return
  ending[state] = 'come'
  // Node would close the connection at once. Later bytes make the system reset it, and a client that is still
  // writing loses the last answer.
  if (!Object.hasOwn(socket, 'destroySoon')) socket.destroySoon = () => hangUp(socket)
  const parser: unknown = Reflect.get(socket, 'parser')
  if (typeof parser !== 'object' || parser === null) return
  // Node's callback for parsed requests, which it sets for each connection.
  Reflect.set(parser, 'onIncoming', () => stop)
}

type WriteHead = Parameters<ServerResponse['writeHead']>

/** A response that stops reading requests when its head says that it is the last one. */
export class StoppingResponse<Asked extends IncomingMessage> extends ServerResponse<Asked> {
  /** Whether its head says `Connection: close`. */
  declare _last: boolean

  override writeHead(...given: unknown[]): this {
    super.writeHead(...(given as WriteHead))
    if (this._last) endWithThis(this.req.socket)
    return this
  }
}

/** Notes an answer with `Connection: close`: requests that came after it aren't taken either. */
function endWithThis(socket: Socket): void {
  takeNoMore(socket)
  const ending: Ending = socket
  ending[state] = 'decided'
}

/** Whether further bytes of a connection are ignored. */
export function takesNoMore(socket: Socket): boolean {
  return (socket as Ending)[state] !== undefined
}

/** Whether the last answer of a connection is decided. */
export function isLastDecided(socket: Socket): boolean {
  return (socket as Ending)[state] === 'decided'
}
