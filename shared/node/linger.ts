import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How much of a body that nobody wants is read, so that whoever sends it gets to read the answer. */
const mostBytes = 256 * 1024

/** A rest of a body that is quicker read than a new connection is made. */
const smallBytes = 64 * 1024

const tooSlow = 408

/** How long a client may keep a connection open whose last answer it has. */
export const lingerMs = 2_000

/** Whether a request has a body, by what its headers say. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && Number(length) !== 0)
}

/**
 * Sees to it that an answer arrives at a client that is still sending its body. To close the
 * connection at once would lose the answer, to read all of the body would be work for nothing: a
 * little is read, and then nothing more until the client hangs up or its time is over.
 */
export function letArrive(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
): void {
  if (request.complete || !hasBody(request)) return
  const { socket, headers } = request
  const isSmall = Number(headers['content-length'] ?? Infinity) <= smallBytes
  // Who was too slow to send it is not waited for any longer.
  if (isSmall && headers.expect === undefined && status !== tooSlow) return
  response.shouldKeepAlive = false
  // Node ends a connection this way after its last answer: by itself it would close it at once.
  socket.destroySoon = () => {
    endSoon(socket)
    let left = mostBytes
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length
      if (left < 0) request.pause()
    })
    request.once('end', () => socket.destroy())
    request.resume()
  }
  // Node reads the whole of a body that nobody has begun to read; so begin.
  request.read(0)
}

/** Says a last word, if there is one, and hangs up: at once if the client does, else after a while. */
export function hangUp(socket: Socket, lastWord = ''): void {
  endSoon(socket, lastWord)
  socket.resume()
}

/** Who doesn't hang up is hung up on; at once, an answer on its way might be lost. */
function endSoon(socket: Socket, lastWord = ''): void {
  socket.end(lastWord)
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}

/**
 * Acts when everything that was asked on a connection before has been answered. What is said out of
 * turn would be taken for the answer to something else.
 */
export function afterAnswers(socket: Socket, act: () => void): void {
  const answering = answerOn(socket)
  if (!answering) {
    if (!socket.destroyed) act()
    return
  }
  answering.once('close', () => setImmediate(() => afterAnswers(socket, act)))
}

/** Whether a connection has an answer to a request of which not all has come. */
export function isAnsweredEarly(socket: Socket): boolean {
  const parser: unknown = Reflect.get(socket, 'parser')
  const asked: unknown =
    typeof parser === 'object' && parser !== null ? Reflect.get(parser, 'incoming') : undefined
  return asked instanceof IncomingMessage && !asked.complete && !answerOn(socket)
}

/** The answer that is being given on a connection, if there is one; Node has no better name for it. */
export function answerOn(socket: Socket): ServerResponse | undefined {
  const answering: unknown = Reflect.get(socket, '_httpMessage')
  return answering instanceof ServerResponse ? (answering as ServerResponse) : undefined
}
