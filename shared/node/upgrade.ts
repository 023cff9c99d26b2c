import { IncomingMessage } from './http.ts'

const wantsUpgrade = Symbol('wantsUpgrade')

/** A request that ignores upgrades to anything but a WebSocket. */
export class Incoming extends IncomingMessage {
  [wantsUpgrade] = false

  // Node's parser sets this if a request asks for an upgrade, and reads it to decide about releasing the connection.
  get upgrade(): boolean {
    return this[wantsUpgrade] && (this.method === 'CONNECT' || isWebSocket(this))
  }

  set upgrade(wanted: boolean | null) {
    this[wantsUpgrade] = wanted === true
  }
}

/** Whether a request asks for a WebSocket, so that its answer decides about the connection. */
export function becomesWebSocket(request: IncomingMessage): boolean {
  return request instanceof Incoming && request.upgrade
}

/** Whether a request asks for another upgrade, which is ignored. Node loses the bytes after such a request. */
export function ignoresUpgrade(request: IncomingMessage): boolean {
  return request instanceof Incoming && request[wantsUpgrade] && !request.upgrade
}

function isWebSocket({ method, headers, httpVersion }: IncomingMessage): boolean {
  return method === 'GET' && httpVersion === '1.1' && headers.upgrade?.toLowerCase() === 'websocket'
}
