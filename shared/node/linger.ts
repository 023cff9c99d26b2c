import type { Socket } from 'node:net'
import { readPastParser, skipBody } from './chunks.ts'
import { IncomingMessage, ServerResponse } from './http.ts'

/** The most bytes of a refused body that are read, so that its sender gets the answer. */
const mostBytes = 256 * 1024

/** A rest of a body that is cheaper to read than a new connection. */
const smallBytes = 64 * 1024

const tooSlow = 408

/** How long a client may keep a connection open after its last answer. */
export const lingerMs = 2_000

/** Whether a request has a body, by its headers. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && Number(length) !== 0)
}

/**
 * Lets an answer arrive at a client that is still sending its body. Closing at once would lose the answer, and reading the
 * whole body would be work for nothing. So a little is read, and then nothing until the client hangs up or its time is
 * over.
 */
export function letArrive(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
): void {
  if (request.complete || !hasBody(request)) return
  const { socket, headers } = request
  const isSmall = Number(headers['content-length'] ?? Infinity) <= smallBytes
  // A client that was too slow isn't waited for any longer.
  if (isSmall && headers.expect === undefined && status !== tooSlow) return
  response.shouldKeepAlive = false
  // Node calls this after the last answer, and would close the connection at once.
  socket.destroySoon = () => {
    endSoon(socket)
    skipBody(request)
    readPastParser(socket, mostBytes)
  }
  // Node reads the whole of a body that has no reader, so become its reader.
  request.read(0)
}

/** Sends a last text, if given, and hangs up: at once when the client does, otherwise after some time. */
export function hangUp(socket: Socket, lastWord = ''): void {
  endSoon(socket, lastWord)
  socket.resume()
}

/** Closes the connection after some time; at once, an answer on its way might be lost. */
function endSoon(socket: Socket, lastWord = ''): void {
  socket.end(lastWord)
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}

/**
 * Acts when all earlier requests of a connection are answered. An answer out of turn would be read as that to another
 * request.
 */
export function afterAnswers(socket: Socket, act: () => void): void {
  const answering = answerOn(socket)
  if (!answering) {
    if (!socket.destroyed) act()
    return
  }
  answering.once('close', () => setImmediate(() => afterAnswers(socket, act)))
}

/** Whether a connection is answering a request that hasn't arrived whole. */
export function isAnsweredEarly(socket: Socket): boolean {
  const parser: unknown = Reflect.get(socket, 'parser')
  const asked: unknown =
    typeof parser === 'object' && parser !== null ? Reflect.get(parser, 'incoming') : undefined
  return asked instanceof IncomingMessage && !asked.complete && !answerOn(socket)
}

/** The response that a connection is sending, if any. Node has no public name for it. */
export function answerOn(socket: Socket): ServerResponse | undefined {
  const answering: unknown = Reflect.get(socket, '_httpMessage')
  return answering instanceof ServerResponse ? (answering as ServerResponse) : undefined
}
