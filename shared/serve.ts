import type { Server } from 'node:http'
import { Server as TcpServer, type Socket } from 'node:net'
import { breathe } from './breathe.ts'
import type { Log } from './log.ts'
import { answerOn } from './node/linger.ts'
import { connectionEvent } from './tls/server.ts'
import { within } from './within.ts'

/** The part of `process` that serving needs; `main.ts` passes it. */
export type Lifecycle = {
  on(event: 'SIGTERM' | 'SIGINT' | 'disconnect', listener: () => void): unknown
  exit(code: number): void
  /** Whether the parent process is connected; `undefined` without a parent. */
  connected?: boolean
  send?: ((message: unknown) => unknown) | undefined
}

/** Where a server listens. */
export type Place = Readonly<{ host: string; port: number }>

/** A Fastify app, or anything that listens and closes like one. */
export type Served = Readonly<{
  server: Server
  log: Log
  listen(place: Place): Promise<string>
  close(): Promise<unknown>
}>

/**
 * The time limits of a stop: how long idle connections stay open, and how long requests in flight may take.
 */
export type StopTimes = Readonly<{ drainMs: number; shutdownMs: number }>

const usualTimes: StopTimes = { drainMs: 3_000, shutdownMs: 15_000 }

export type ServeOptions = Readonly<{
  /** Gives the time limits, at the time of the stop. */
  times?: () => StopTimes
  /** Called at once when a stop begins. */
  stopping?: () => void
  /** Gives the reason for a disconnect of the parent; by default, that the parent has gone. */
  parting?: () => string | undefined
}> &
  Place

/**
 * Listens, tells the parent process where, and drains on SIGTERM, SIGINT or when the parent is gone:
 * no new connections, `Connection: close` on further answers, exit code 0 when all requests are answered.
 * A second signal exits at once.
 */
export async function serve(
  app: Served,
  lifecycle: Lifecycle,
  options: ServeOptions,
): Promise<string> {
  let stopping = false
  const connections = new Set<Socket>()
  const stop = (reason: string): void => {
    if (stopping) {
      app.log.warn({ reason }, 'stopped at once, by a second signal')
      lifecycle.exit(1)
      return
    }
    stopping = true
    options.stopping?.()
    app.log.info({ reason }, 'stopping: requests in flight finish')
    const { drainMs, shutdownMs } = options.times?.() ?? usualTimes
    void drain(app, drainMs, shutdownMs, connections).then(
      () => lifecycle.exit(0),
      (error: unknown) => {
        app.log.error({ err: error }, 'stopping failed')
        lifecycle.exit(1)
      },
    )
  }
  app.server.prependListener('request', (_request, response) => {
    if (!app.server.listening) response.shouldKeepAlive = false
  })
  app.server.on(connectionEvent(app.server), (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  const { host, port } = options
  const url = await app.listen({ host, port })
  lifecycle.on('SIGTERM', () => stop('SIGTERM'))
  lifecycle.on('SIGINT', () => stop('SIGINT'))
  lifecycle.on('disconnect', () => stopping || stop(options.parting?.() ?? 'parent gone'))
  tellPlace(lifecycle, url)
  if (lifecycle.connected === false) stop('parent gone')
  return url
}

/** Tells the parent process where a service listens: behind its log's lines so far, which are written when this turn ends. */
export function tellPlace(lifecycle: Lifecycle, listening: string): void {
  setImmediate(() => lifecycle.connected && lifecycle.send?.({ listening }))
}

/** Ends a listening app without dropping a request, then closes it; `connections` are those that are open. */
export async function drain(
  app: Served,
  drainMs: number,
  shutdownMs: number,
  connections: Iterable<Socket> = [],
): Promise<void> {
  const { server } = app
  const began = performance.now()
  const left = (milliseconds: number): number =>
    Math.max(0, milliseconds - (performance.now() - began))
  await takeWaiting(server, drainMs)
  // node:http's own close would cut idle connections at once, also of clients that are just sending.
  const closed = new Promise<void>((resolve) =>
    TcpServer.prototype.close.call(server, () => resolve()),
  )
  // Kept alive, those that answer late would be closed just as their clients send again.
  for (const socket of connections) {
    const answer = answerOn(socket)
    if (answer) answer.shouldKeepAlive = false
  }
  await within(left(drainMs), closed)
  // After a delay of the process, timers run before the requests that arrived meanwhile are read.
  await breathe()
  server.closeIdleConnections()
  await within(left(shutdownMs), closed)
  server.closeAllConnections()
  await app.close()
}

/**
 * Accepts the connections that wait in the backlog, which the system would reset when listening ends. Node accepts one
 * in each turn of its loop, so after a turn or two without one none is left.
 */
async function takeWaiting(server: Server, longestMs: number): Promise<void> {
  let quiet = 0
  const came = (): void => void (quiet = 0)
  const until = performance.now() + longestMs
  server.on('connection', came)
  while (quiet++ < 2 && performance.now() < until) {
    await breathe()
  }
  server.off('connection', came)
}

/** For a port that is in use, an error that says what to do; otherwise the error itself. */
export function portInUse(error: unknown, setting: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') return error
  return new Error(
    `${error.message}. Does it run already? Stop the other one, or set another port with ${setting}.`,
    { cause: error },
  )
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

/** Whether only this machine can reach a host name or address to listen on. */
export function isLoopback(host: string): boolean {
  return loopback.test(host)
}
