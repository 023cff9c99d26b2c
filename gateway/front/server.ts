import type { FastifyInstance } from 'fastify'
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock } from '../../shared/clock.ts'
import { closeQuietConnections } from '../../shared/node/quiet.ts'
import { followedServer, httpServer } from '../../shared/tls/server.ts'
import { requestIdFrom } from '../../shared/request-id.ts'
import { signer } from '../../shared/signature.ts'
import {
  createService,
  tellerOf,
  refuseUnparsed,
  type LogSettings,
  type Malformed,
} from '../../shared/service.ts'
import { clientAddress, Ranges } from './http/address.ts'
import type { Config } from './config/config.ts'
import type { Front } from './front.ts'
import { rateHeaders } from './limits/headers.ts'
import { plainTarget } from './http/paths.ts'
import { guard } from './guard.ts'
import { keepRoom } from './http/room.ts'
import { noPlan, noRoute } from './counts/labels.ts'
import { byLimit } from '../../shared/windows.ts'
import { describer } from './log-line.ts'
import { RequestRecord } from './request-record.ts'
import { LogThrottle } from './http/log-throttle.ts'
import { stalledMs } from './forwarding/target-attempt.ts'
import { UnderWay } from './forwarding/under-way.ts'
import { routeEverything, idleMs, wire } from './http/wire.ts'

export type FrontServerOptions = Readonly<{
  front: Front
  config: Config
  secret?: string | undefined
  clock: Clock
  log: FastifyInstance['log']
  /** The settings of that log, for the lines of requests. */
  logSettings: LogSettings
  /** The system's limit of open files and connections; without it, connections aren't bounded. */
  descriptors?: number | undefined
}>

const warmUps = 10

/** The time limit for the arrival of a request, for a configuration without upstreams. */
const requestTimeoutMs = 30_000

/** The route of bytes that never became a request. */
const noRouteAtAll = {
  label: noRoute,
  cost: 1,
  share: undefined,
  forwarder: undefined,
  answer: undefined,
  ended: () => undefined,
}

/** An app that was built from one configuration, with its requests under way. */
type Generation = Readonly<Awaited<ReturnType<typeof build>>>

/**
 * The front as a server of its own. A change of the configuration builds a new app, which gets all new requests.
 * The old app closes when it has answered its last request.
 */
export class FrontServer {
  readonly server: Server
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
      (request, response) => this.#generation.app.routing(request, response),
      (refusal, socket) => this.#malformed(refusal, { socket: socket as Socket }),
    )
  }

  /** Builds the first app, without listening. */
  static async open(options: FrontServerOptions): Promise<FrontServer> {
    return new FrontServer(options, await build(options))
  }

  get config(): Config {
    return this.#generation.config
  }

  /** The number of requests under the configuration in force that it has not answered yet. */
  get underWay(): number {
    return this.#generation.underWay.count
  }

  async listen({ host, port }: Readonly<{ host: string; port: number }>): Promise<string> {
    const { front, log, config } = this.#options
    await warmUp(front)
    return new Promise((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(port, host, () => {
        this.server.off('error', reject)
        const { address, family, port } = this.server.address() as AddressInfo
        const scheme = config.listen.tls ? 'https' : 'http'
        const url = `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
        front.self.address = url
        log.info({}, `Server listening at ${url}`)
        resolve(url)
      })
    })
  }

  /** Applies another configuration from the next request on. If its app can't be built, nothing changes. */
  async change(config: Config): Promise<void> {
    const before = this.#generation
    const { front } = this.#options
    try {
      this.#generation = await build({ ...this.#options, config })
    } finally {
      front.issuers.keep(this.#generation.config.jwt)
    }
    front.strangers.limits = config.strangers
    this.#applyTimeLimits(config)
    void before.underWay.whenNone().then(() => before.app.close())
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    if (this.server.listening) {
      this.server.close()
      this.server.closeAllConnections()
    }
    await this.#generation.app.close()
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
    this.#generation.refuseMalformed(refusal, sender)
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

async function build(options: FrontServerOptions) {
  const { front, config, logSettings, secret, clock } = options
  const trustedProxies = new Ranges(config.trustedProxies)
  const refuseMalformed = malformedRefuser(front, config, trustedProxies)
  const app = createService({
    name: 'gateway',
    log: logSettings,
    settings: {
      // Matches and forwards one spelling of the path; `screen` refuses paths without one.
      rewriteUrl: ({ url = '' }) => plainTarget(url) ?? url,
    },
    isFollowed: true,
    malformed: refuseMalformed,
    refused: ({ tollgate }, refusal) => {
      if (tollgate) tollgate.refusal = refusal
    },
  })
  const underWay = new UnderWay()
  try {
    const sign = secret ? signer(secret) : undefined
    const describe = describer(new LogThrottle(clock), trustedProxies)
    const tell = logSettings && tellerOf(app.log, logSettings, describe)
    await guard(app, { config, front, sign, clock, underWay, tell, isAlone: true })
    await app.ready()
    return { app, config, underWay, trustedProxies, refuseMalformed }
  } catch (error) {
    await app.close()
    throw new Error(`the configuration can't be served: ${inOneLine(error)}`, { cause: error })
  }
}

function malformedRefuser(front: Front, config: Config, trustedProxies: Ranges): Malformed {
  return (why, sender) => {
    const address = clientAddress(sender, trustedProxies)
    const { refusal, standing } = front.strangers.refuse(address, () => why)
    front.meters.route(noRoute).answers.add(noPlan, refusal.status)
    front.meters.refusals.add(noPlan, refusal.code)
    const id = requestIdFrom(undefined)
    const record = Object.assign(new RequestRecord(noRouteAtAll, ''), { refusal, stand: standing })
    const { status } = refusal
    const atMs = standing.decision.nowMs
    const route = { upstream: '', config: config.hash }
    const request = { id, method: '' }
    const endedAtMs = performance.now()
    front.recentRefusals.keep({ request, record, route, status, atMs, endedAtMs })
    front.liveCounts.malformed(record, endedAtMs)
    const rates = rateHeaders(standing, config.ietf, refusal.headers['retry-after'])
    return refusal.with({ ...rates, 'x-request-id': id })
  }
}

/** The message of an error in one line. */
function inOneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/\s+/g, ' ').trim()
}
