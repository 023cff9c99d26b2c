import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { connectionEvent, handshakeMs } from '../tls/server.ts'
import { answerOn } from './linger.ts'

const limitMs = Symbol('limitMs')
const shortMs = Symbol('shortMs')

/** A connection with its idle time limit; 0 is unlimited. */
type Limited = Socket & { [limitMs]: number; [shortMs]?: number | undefined }

/** The state of a connection at the last check: its bytes so far, and the time of the last change. */
type Seen = { bytes: number; sinceMs: number }

/**
 * Closes connections that have been idle for the time that Node has set. Node itself makes two timers per request and
 * resets them at each byte. Here the limit is noted, and all connections are checked from time to time, so that they may
 * live longer by two such intervals.
 *
 * On a connection without a request only an answer counts as traffic: bytes that aren't a request don't keep it open.
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
  const event = connectionEvent(server)
  if (event === 'secureConnection') followHandshakes(server, open)
  server.on(event, (socket: Socket) => {
    const limited: Limited = Object.assign(socket, { [limitMs]: socket.timeout ?? 0 })
    socket.setTimeout(0)
    limited.setTimeout = noteLimit
    open.set(limited, { bytes: -1, sinceMs: performance.now() })
    socket.once('close', () => open.delete(limited))
  })
  server.once('listening', () => {
    const timer = setInterval(look, everyMs).unref()
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

/** Notes connections as quiet ones from their beginning on; after the handshake another socket stands for each. */
function followHandshakes(server: Server, open: Map<Limited, Seen>): void {
  const shaking = new Map<string, Limited>()
  const end = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket: Socket) => {
    const limited: Limited = Object.assign(socket, { [limitMs]: handshakeMs })
    const name = end(socket)
    shaking.set(name, limited)
    open.set(limited, { bytes: -1, sinceMs: performance.now() })
    socket.once('close', () => {
      open.delete(limited)
      if (shaking.get(name) === limited) shaking.delete(name)
    })
  })
  server.on('secureConnection', (socket: Socket) => {
    const limited = shaking.get(end(socket))
    if (limited) open.delete(limited)
    shaking.delete(end(socket))
  })
}

/** The number of connections that are searched for an idle one, the oldest first. */
const mostLooks = 10_000

/** The open connections by their idle time. */
export type QuietConnections = Readonly<{
  /** The matching idle connection with the shortest limit, and among those the longest idle one. */
  idlest: (isMeant: (socket: Socket) => boolean) => Socket | undefined
}>

function isIdler(
  [one, seen]: [Limited, Seen],
  [other, latest]: [Limited, Seen | undefined],
): boolean {
  if (one[limitMs] !== other[limitMs]) return one[limitMs] < other[limitMs]
  return seen.sinceMs < (latest?.sinceMs ?? 0)
}

/** Shortens the keep-alive time of an answer's connection, and tells the client. */
export function keepShortly(response: ServerResponse, socket: Socket, milliseconds: number): void {
  const limited = socket as Limited
  limited[shortMs] = milliseconds
  // Node's value for the `Keep-Alive` header.
  Reflect.set(response, '_keepAliveTimeout', milliseconds)
}

function noteLimit(this: Limited, limit: number): Limited {
  const short = this[shortMs]
  // Node resets it with the next answer.
  this[limitMs] = short !== undefined && limit > short ? short : limit
  if (this[limitMs] === short) this[shortMs] = undefined
  return this
}

/** The bytes read and written so far, without those that the system hasn't taken yet. */
function bytesOf(socket: Socket): number {
  const handle = Reflect.get(socket, '_handle') as { writeQueueSize?: number } | null
  const sentBytes = socket.bytesWritten - (handle?.writeQueueSize ?? 0)
  return answerOn(socket) ? sentBytes + socket.bytesRead : sentBytes
}
