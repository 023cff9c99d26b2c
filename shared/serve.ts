import type { Server } from 'node:http'
import { Server as TcpServer } from 'node:net'

/** The part of `process` that serving needs; `main.ts` hands it in. */
export type Lifecycle = {
  on(event: 'SIGTERM' | 'SIGINT' | 'disconnect', listener: () => void): unknown
  exit(code: number): void
  /** Whether the parent is there; not defined where there is none to begin with. */
  connected?: boolean
  send?: ((message: unknown) => unknown) | undefined
}

/** What is served: an app of Fastify's, or something that takes requests as one does. */
export type Served = Readonly<{
  server: Server
  log: Readonly<{
    info: (about: object, message: string) => void
    warn: (about: object, message: string) => void
    error: (about: object, message: string) => void
  }>
  listen(address: Readonly<{ host: string; port: number }>): Promise<string>
  close(): Promise<unknown>
}>

/**
 * How long connections that are open at a stop go on being answered before idle ones are cut, and how
 * long requests in flight may take to finish.
 */
export type StopTimes = Readonly<{ drainMs: number; shutdownMs: number }>

const usualTimes: StopTimes = { drainMs: 3_000, shutdownMs: 15_000 }

export type ServeOptions = Readonly<{
  host: string
  port: number
  /** How long a stop may take; asked when it comes. */
  times?: () => StopTimes
  /** Told at once when it is to stop. */
  stopping?: () => void
  /** Why the parent has let go of it; that it is gone, unless told. */
  parting?: () => string | undefined
}>

/**
 * Listens, tells the parent process where, and drains on SIGTERM, SIGINT or when the parent is gone:
 * no new connections, `Connection: close` on what is still asked, exit code 0 when all is answered.
 * A second signal exits at once.
 */
export async function serve(
  app: Served,
  lifecycle: Lifecycle,
  options: ServeOptions,
): Promise<string> {
  const { host, port } = options
  let stopping = false
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
    void drain(app, drainMs, shutdownMs).then(
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
  const url = await app.listen({ host, port })
  lifecycle.on('SIGTERM', () => stop('SIGTERM'))
  lifecycle.on('SIGINT', () => stop('SIGINT'))
  lifecycle.on('disconnect', () => stopping || stop(options.parting?.() ?? 'parent gone'))
  lifecycle.send?.({ listening: url })
  if (lifecycle.connected === false) stop('parent gone')
  return url
}

/** Ends a listening app without dropping a request, then closes it. */
export async function drain(app: Served, drainMs: number, shutdownMs: number): Promise<void> {
  const { server } = app
  const began = performance.now()
  const left = (milliseconds: number): number =>
    Math.max(0, milliseconds - (performance.now() - began))
  await takeWaiting(server, drainMs)
  // The close of node:http would cut idle connections at once, under clients that are just sending.
  const closed = new Promise<void>((resolve) =>
    TcpServer.prototype.close.call(server, () => resolve()),
  )
  await within(left(drainMs), closed)
  // A process that was held up finds its timers due before it has read what was sent to it meanwhile.
  await aTurn()
  server.closeIdleConnections()
  await within(left(shutdownMs), closed)
  server.closeAllConnections()
  await app.close()
}

/**
 * Takes the connections that wait to be accepted, which the system would reset when listening ends.
 * Node takes one in a turn of its loop, so after a turn or two without one there are none left.
 */
async function takeWaiting(server: Server, longestMs: number): Promise<void> {
  let quiet = 0
  const came = (): void => void (quiet = 0)
  const until = performance.now() + longestMs
  server.on('connection', came)
  while (quiet++ < 2 && performance.now() < until) {
    await aTurn()
  }
  server.off('connection', came)
}

/** One turn of the event loop, in which what has come is read. */
function aTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function within(milliseconds: number, done: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([done, late])
  clearTimeout(timer)
}

/** An error that says what to do if a port is taken; else the error itself. */
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
