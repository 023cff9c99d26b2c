import { IncomingMessage } from 'node:http'

const wantsUpgrade = Symbol('wantsUpgrade')

/** A request that goes on as something else than HTTP only if that is a WebSocket. */
export class Incoming extends IncomingMessage {
  [wantsUpgrade] = false

  // Node's parser writes here whether the request asks to upgrade, and reads it to decide whether to let go of the
  // connection.
  get upgrade(): boolean {
    return this[wantsUpgrade] && (this.method === 'CONNECT' || isWebSocket(this))
  }

  set upgrade(wanted: boolean | null) {
    this[wantsUpgrade] = wanted === true
  }
}

/** Whether a connection is to become a WebSocket; then whoever answers this request decides about it. */
export function becomesWebSocket(request: IncomingMessage): boolean {
  return request instanceof Incoming && request.upgrade
}

/** Whether a request asks for an upgrade that is ignored: Node loses the bytes behind such a request. */
export function ignoresUpgrade(request: IncomingMessage): boolean {
  return request instanceof Incoming && request[wantsUpgrade] && !request.upgrade
}

function isWebSocket({ method, headers, httpVersion }: IncomingMessage): boolean {
  return method === 'GET' && httpVersion === '1.1' && headers.upgrade?.toLowerCase() === 'websocket'
}
