import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { answerOn } from './linger.ts'

const limitMs = Symbol('limitMs')
const shortMs = Symbol('shortMs')

/** A connection, and how long nothing may move on it; 0: for ever. */
type Limited = Socket & { [limitMs]: number; [shortMs]?: number | undefined }

/** What was seen of a connection last: how many bytes had moved, and since when. */
type Seen = { bytes: number; sinceMs: number }

/**
 * Ends connections on which nothing has moved for as long as Node has set them. Node makes two timers a
 * request for that, and sets them back at each byte: 0.7 µs of the 14 that a refusal takes. Here the limit
 * is noted, and once in a while all connections are looked at; they may live longer by two such times.
 *
 * On a connection on which nothing is asked only an answer counts: bytes that are no request keep none open.
 */
export function closeQuietConnections(server: Server, everyMs = 1_000): QuietConnections {
  const open = new Map<Limited, Seen>()
  const look = (): void => {
    const nowMs = performance.now()
    for (const [socket, seen] of open) {
      const bytes = bytesOf(socket)
      if (bytes !== seen.bytes) {
        seen.bytes = bytes
        seen.sinceMs = nowMs
      } else if (socket[limitMs] > 0 && nowMs - seen.sinceMs >= socket[limitMs]) {
        socket.emit('timeout')
      }
    }
  }
  server.on('connection', (socket: Socket) => {
    const limited: Limited = Object.assign(socket, { [limitMs]: socket.timeout ?? 0 })
    socket.setTimeout(0)
    limited.setTimeout = noteLimit
    open.set(limited, { bytes: -1, sinceMs: performance.now() })
    socket.once('close', () => open.delete(limited))
  })
  server.once('listening', () => {
    const timer = setInterval(look, everyMs)
    timer.unref()
    server.once('close', () => clearInterval(timer))
  })
  return {
    idlest(isMeant) {
      let idlest: Limited | undefined
      let looked = 0
      for (const [socket, seen] of open) {
        if (++looked > mostLooks) break
        if (socket.destroyed || answerOn(socket) || socket[limitMs] === 0 || !isMeant(socket))
          continue
        if (!idlest || isIdler([socket, seen], [idlest, open.get(idlest)])) idlest = socket
      }
      return idlest
    },
  }
}

/** How many connections are looked at to find one, the oldest first. */
const mostLooks = 10_000

/** Connections that are open, as far as they are quiet. */
export type QuietConnections = Readonly<{
  /** The one of some on which nothing is asked that may stay for the shortest time, and is quiet for longest. */
  idlest: (isMeant: (socket: Socket) => boolean) => Socket | undefined
}>

function isIdler(
  [one, seen]: [Limited, Seen],
  [other, known]: [Limited, Seen | undefined],
): boolean {
  if (one[limitMs] !== other[limitMs]) return one[limitMs] < other[limitMs]
  return seen.sinceMs < (known?.sinceMs ?? 0)
}

/** Keeps the connection of an answer open for a shorter time than others after it, and tells its client so. */
export function keepShortly(response: ServerResponse, socket: Socket, milliseconds: number): void {
  const limited = socket as Limited
  limited[shortMs] = milliseconds
  // What Node says in `Keep-Alive`.
  Reflect.set(response, '_keepAliveTimeout', milliseconds)
}

function noteLimit(this: Limited, limit: number): Limited {
  const short = this[shortMs]
  // Set as an answer ends, and gone with the next.
  this[limitMs] = short !== undefined && limit > short ? short : limit
  if (this[limitMs] === short) this[shortMs] = undefined
  return this
}

/** How many bytes have come and gone; what the system has yet to take has not. */
function bytesOf(socket: Socket): number {
  const handle = Reflect.get(socket, '_handle') as { writeQueueSize?: number } | null
  const gone = socket.bytesWritten - (handle?.writeQueueSize ?? 0)
  return answerOn(socket) ? gone + socket.bytesRead : gone
}
