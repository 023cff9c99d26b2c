import type { FastifyInstance } from 'fastify'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { closeQuietConnections } from '../../shared/node/quiet.ts'
import { refuseUnparsed, type Malformed } from '../../shared/service.ts'
import { followedServer, httpServer } from '../../shared/tls/server.ts'
import { byLimit } from '../../shared/windows.ts'
import type { Config, DecideSettings } from './config/config.ts'
import { DecideServer } from './deciding/decide-server.ts'
import { stalledMs } from './forwarding/target-attempt.ts'
import type { Front } from './front.ts'
import {
  openGeneration,
  type Generation,
  type GenerationOptions,
  type Served,
} from './generation.ts'
import { listenAt, type ListenAt } from './http/listen-at.ts'
import { keepRoom } from './http/room.ts'
import { routeEverything, idleMs, wire } from './http/wire.ts'

export type FrontServerOptions = GenerationOptions &
  Readonly<{
    log: FastifyInstance['log']
    /** The system's limit of open files and connections; without it, connections aren't bounded. */
    descriptors?: number | undefined
  }>

const warmUps = 10

/** The time limit for the arrival of a request, for a configuration without upstreams. */
const requestTimeoutMs = 30_000

/**
 * The front as a server of its own. A change of the configuration builds a new app, which gets all new requests.
 * The old app closes when it has answered its last request.
 */
export class FrontServer {
  readonly server: Server
  /** The server for a proxy that asks; `undefined` without one. */
  readonly #deciding: DecideServer | undefined
  readonly #options: FrontServerOptions
  #generation: Generation

  private constructor(options: FrontServerOptions, generation: Generation) {
    const { log, config, front } = options
    this.#options = options
    this.#generation = generation
    const { tls } = config.listen
    const settings = { ...wire, keepAliveTimeout: idleMs }
    this.server = tls
      ? followedServer(settings, front.certificates.open('listen', tls))
      : httpServer(settings)
    const quiet = closeQuietConnections(this.server)
    const { descriptors } = options
    if (descriptors !== undefined) {
      keepRoom(this.server, {
        descriptors,
        quiet,
        trusted: () => this.#generation.trustedProxies,
        refused: (count) =>
          log.warn(
            { count },
            'connections are refused: the limit of open connections is reached, and all are busy',
          ),
      })
    }
    this.#applyTimeLimits(config)
    this.server.on('clientError', (error, socket) => {
      refuseUnparsed(error, socket as Socket, this.#malformed)
    })
    routeEverything(
      this.server,
      (request, response) => this.#generation.forwarding.app.routing(request, response),
      (refusal, socket) => this.#malformed(refusal, { socket: socket as Socket }),
    )
    this.#deciding = config.decide && this.#openDeciding(config.decide)
  }

  /** Opens the address for a proxy that asks, where the configuration has one. Gives it as a URL. */
  async listenForProxy(at: ListenAt): Promise<string | undefined> {
    return this.#deciding?.listen(at)
  }

  /** Builds the first app, without listening. */
  static async open(options: FrontServerOptions): Promise<FrontServer> {
    return new FrontServer(options, await openGeneration(options))
  }

  get config(): Config {
    return this.#generation.config
  }

  /** The number of requests under the configuration in force that it has not answered yet. */
  get underWay(): number {
    return this.#generation.underWay.count
  }

  async listen(at: ListenAt): Promise<string> {
    const { front, log, config } = this.#options
    await warmUp(front)
    const url = await listenAt(this.server, at, config.listen.tls !== undefined)
    front.self.address = url
    log.info({}, `Server listening at ${url}`)
    return url
  }

  /** Applies another configuration from the next request on. If its app can't be built, nothing changes. */
  async change(config: Config): Promise<void> {
    const before = this.#generation
    const { front } = this.#options
    try {
      this.#generation = await openGeneration({ ...this.#options, config })
    } finally {
      front.issuers.keep(this.#generation.config.jwt)
    }
    front.change(config)
    this.#applyTimeLimits(config)
    void before.underWay.whenNone().then(() => before.close())
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    if (this.server.listening) {
      this.server.close()
      this.server.closeAllConnections()
    }
    await this.#deciding?.close(this.config.shutdownMs)
    await this.#generation.close()
  }

  #openDeciding(settings: DecideSettings): DecideServer {
    const { front, clock, log } = this.#options
    const served = (): Served => {
      const { deciding } = this.#generation
      if (!deciding) throw new Error('a reload never takes the address for proxies away')
      return deciding
    }
    return new DecideServer({
      settings,
      tls: settings.tls && front.certificates.open('decide', settings.tls),
      decide: (request, response) => served().app.routing(request, response),
      malformed: (refusal, sender) => served().malformed(refusal, sender),
      ...{ clock, log },
    })
  }

  #applyTimeLimits({ upstreams }: Config): void {
    const times = [...upstreams.values()].map(({ timeouts }) => timeouts)
    const requestMs = Math.max(...times.map(({ requestMs }) => requestMs))
    this.server.requestTimeout = times.length > 0 ? requestMs : requestTimeoutMs
    // For connections without any traffic: longer than all other time limits.
    const longest = times.map(({ responseMs, idleMs, requestMs }) =>
      Math.max(responseMs, idleMs, requestMs),
    )
    this.server.timeout = Math.max(stalledMs, ...longest) + 1_000
  }

  /** Refuses bytes that never became a request. Their sender counts as a stranger. */
  readonly #malformed: Malformed = (refusal, sender) =>
    this.#generation.forwarding.malformed(refusal, sender)
}

/** Warms connections and code with look-ups that match nothing. */
async function warmUp({ stores: { keys, quota }, quotas }: Front): Promise<void> {
  const ask = { key: 'nobody', cost: 0, limits: byLimit(() => 1), bans: undefined }
  for (let i = 0; i < warmUps; i++) {
    const [, decided] = await Promise.allSettled([
      keys.find('nothing'),
      quota.decide('nobody', ask),
    ])
    if (decided.status === 'fulfilled') quotas.noteTime(decided.value.nowMs)
  }
}
