import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { Refusal } from '../../../shared/refusal.ts'
import type { OnItsWay } from './ending.ts'
import { headersForCaller } from './headers.ts'

/** Turns a caller's connection into the WebSocket that both ends have agreed on. */
export function becomeWebSocket(
  { forwarding, request, record, reply }: OnItsWay,
  answered: IncomingHttpHeaders,
  backend: Duplex,
): void {
  const { caller, trace } = record
  const { socket } = request.raw
  if (socket.destroyed || !caller) return void backend.destroy()
  if (trace) trace.tunnel = socket
  const { upstream, tunnels, via } = forwarding
  const headers = headersForCaller(answered, 101, via)
  reply.raw.once('finish', upstream.join(socket, backend, caller.quota, record.place))
  socket.once(
    'close',
    tunnels.watch(caller, () => socket.destroy()),
  )
  void reply
    .code(101)
    .headers({
      ...(headers instanceof Refusal ? {} : headers),
      connection: 'Upgrade',
      upgrade: 'websocket',
    })
    .send()
}
