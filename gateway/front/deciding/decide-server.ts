import type { FastifyBaseLogger } from 'fastify'
import type { Server, ServerResponse as Response } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../../shared/clock.ts'
import { isSame } from '../../../shared/is-same.ts'
import type { IncomingMessage } from '../../../shared/node/http.ts'
import { InOne } from '../../../shared/node/in-one.ts'
import { hasBody, letArrive } from '../../../shared/node/linger.ts'
import { closeQuietConnections } from '../../../shared/node/quiet.ts'
import { Incoming } from '../../../shared/node/upgrade.ts'
import { jsonType, Refusal } from '../../../shared/refusal.ts'
import { drain } from '../../../shared/serve.ts'
import { refuseUnparsed, type Malformed } from '../../../shared/service.ts'
import type { FollowedTls } from '../../../shared/tls/followed.ts'
import { followedServer, httpServer } from '../../../shared/tls/server.ts'
import type { DecideSettings } from '../config/config.ts'
import { listenAt, type ListenAt } from '../http/listen-at.ts'
import { LogThrottle } from '../http/log-throttle.ts'
import type { Take } from '../http/pipelines.ts'
import { idleMs, routeEverything, wire } from '../http/wire.ts'
import { askedBy, canBe, decidePath, isAtDecide } from './asked.ts'
import { AnswerToNginx, onTheWire, toldToNginx } from './nginx.ts'

export type DecideServerOptions = Readonly<{
  settings: DecideSettings
  tls: FollowedTls | undefined
  /** Decides a request that a proxy asks about: it has that one's method and target. */
  decide: Take
  /** Refuses what can't be a request of a caller, and counts it against the caller's address. */
  malformed: Malformed
  clock: Clock
  log: FastifyBaseLogger
}>

/** The least time between two log lines about proxies that ask wrongly, for each way of doing it. */
const everyMinuteMs = 60_000

/** A request of a proxy, which asks for no upgrade, whatever the caller's headers in it say. */
class Asking extends Incoming {
  override get upgrade(): boolean {
    return this.method === 'CONNECT' && super.upgrade
  }

  override set upgrade(wanted: boolean | null) {
    super.upgrade = wanted
  }
}

/** The server at which proxies ask whether requests may pass. It makes requests of callers of what they ask about. */
export class DecideServer {
  readonly server: Server
  readonly #options: DecideServerOptions
  readonly #throttle: LogThrottle
  readonly #form: (refusal: Refusal) => Refusal

  constructor(options: DecideServerOptions) {
    const { settings, tls, malformed, clock } = options
    const isNginx = settings.for === 'nginx'
    this.#options = options
    this.#throttle = new LogThrottle(clock, everyMinuteMs)
    this.#form = isNginx ? toldToNginx : (refusal) => refusal
    const ofServer = {
      ...{ ...wire, keepAliveTimeout: idleMs, IncomingMessage: Asking },
      ServerResponse: isNginx ? AnswerToNginx : InOne,
    }
    this.server = tls ? followedServer(ofServer, tls) : httpServer(ofServer)
    closeQuietConnections(this.server)
    const unparsed: Malformed = (refusal, sender) => {
      const told = this.#form(malformed(refusal, sender))
      return isNginx ? onTheWire(told) : told
    }
    this.server.on('clientError', (error, socket) =>
      refuseUnparsed(error, socket as Socket, unparsed),
    )
    routeEverything(
      this.server,
      (request, response) => this.#take(request, response),
      (refusal, socket) => unparsed(refusal, { socket: socket as Socket }),
    )
  }

  /** Gives its URL. */
  async listen(at: ListenAt): Promise<string> {
    const { log, settings } = this.#options
    const url = await listenAt(this.server, at, settings.tls !== undefined)
    log.info({ for: settings.for }, `Deciding for a proxy at ${url}${decidePath}`)
    return url
  }

  /** Answers what is asked already, and closes. */
  async close(withinMs: number): Promise<void> {
    const { server } = this
    if (!server.listening) return
    const served = { server, log: this.#options.log, listen: () => Promise.resolve('') }
    await drain({ ...served, close: () => Promise.resolve() }, 0, withinMs)
  }

  #take(request: IncomingMessage, response: Response): void {
    const { settings, decide, malformed } = this.#options
    if (!this.server.listening) response.shouldKeepAlive = false
    const fault = this.#faultOf(request)
    const asked = fault ?? askedBy(settings.for, request)
    if (typeof asked === 'string') return this.#refuseProxy(request, response, incomplete(asked))
    if (asked instanceof Refusal) return this.#refuseProxy(request, response, asked)
    if (!canBe(asked)) {
      const why = new Refusal('invalid_request', 'The method or the URL is malformed.')
      return send(request, response, this.#form(malformed(why, request)))
    }
    request.method = asked.method
    request.url = asked.target
    // nginx shows callers a refusal that it has read in a header, as JSON.
    if (settings.for === 'nginx') delete request.headers.accept
    decide(request, response)
  }

  /** Why this isn't a question at all; `undefined` if it is one. */
  #faultOf(request: IncomingMessage): Refusal | undefined {
    const { token, for: by } = this.#options.settings
    const { 'x-decide-token': given = '' } = request.headers
    if (token !== undefined && !isSame(String(given), token)) return untrusted()
    if (!isAtDecide(request, by)) return elsewhere(by)
    return hasBody(request) ? bodied() : undefined
  }

  /** Refuses a question that a proxy asks wrongly, which counts against nobody. */
  #refuseProxy(request: IncomingMessage, response: Response, refusal: Refusal): void {
    const droppedLines = this.#throttle.take(refusal.code)
    if (droppedLines !== undefined) {
      const { remoteAddress } = request.socket
      this.#options.log.warn(
        { address: remoteAddress, status: refusal.status, droppedLines },
        `a question for a decision is refused: ${refusal.message}`,
      )
    }
    send(request, response, refusal.status === 421 ? refusal : this.#form(refusal))
  }
}

function send(request: IncomingMessage, response: Response, refusal: Refusal): void {
  letArrive(request, response, refusal.status)
  const { headers, body, status } = refusal
  const length = String(Buffer.byteLength(body))
  response.writeHead(status, { 'content-type': jsonType, 'content-length': length, ...headers })
  response.end(body)
}

function untrusted(): Refusal {
  return new Refusal('misdirected_request', 'X-Decide-Token isn’t the token of decide.token.')
}

function elsewhere(by: DecideSettings['for']): Refusal {
  const place = by === 'envoy' ? `below ${decidePath}/` : `at ${decidePath}`
  return new Refusal('not_found', `Proxies ask for decisions ${place}.`)
}

function bodied(): Refusal {
  const sentence = 'A question for a decision has no body: the proxy keeps that of the request.'
  return new Refusal('payload_too_large', sentence)
}

function incomplete(sentence: string): Refusal {
  return new Refusal('invalid_request', sentence)
}
