import type { Socket } from 'node:net'
import { hangUp } from './linger.ts'

/** What Node's parser is told to stop at a request: nothing of what has come behind it is looked at. */
const stop = 2

const state = Symbol('lastAnswer')

/** A connection: whether its last request has come, and whether the answer that ends it is decided. */
type Ending = Socket & { [state]?: 'come' | 'decided' }

/**
 * The last request of a connection has come: what is behind it is not read as requests any more. A client
 * that is told `Connection: close` may count on it that nothing behind was done (RFC 9112, 9.6), but Node hands
 * on all requests of one read, up to 2,000, before it looks at what was answered.
 */
export function takeNoMore(socket: Socket): void {
  const ending: Ending = socket
  if (ending[state]) return
  ending[state] = 'come'
  // Node would close the connection at once. Bytes that come then make the system reset it, and a client that is
  // still writing loses the last answer with it.
  if (!Object.hasOwn(socket, 'destroySoon')) socket.destroySoon = () => hangUp(socket)
  const parser: unknown = Reflect.get(socket, 'parser')
  if (typeof parser !== 'object' || parser === null) return
  // Node's name for whoever takes requests from a parser; it sets it anew for each connection.
  Reflect.set(parser, 'onIncoming', () => stop)
}

/** An answer says that the connection ends with it: also requests that have come behind are not taken. */
export function endWithThis(socket: Socket): void {
  takeNoMore(socket)
  const ending: Ending = socket
  ending[state] = 'decided'
}

/** Whether what comes on a connection is for nobody any more. */
export function takesNoMore(socket: Socket): boolean {
  return (socket as Ending)[state] !== undefined
}

/** Whether the answer that ends a connection is decided. */
export function isLastDecided(socket: Socket): boolean {
  return (socket as Ending)[state] === 'decided'
}
