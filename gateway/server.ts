import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock } from '../shared/clock.ts'
import { closeQuietConnections } from '../shared/node/quiet.ts'
import { requestIdFrom } from '../shared/request-id.ts'
import { signer } from '../shared/signature.ts'
import {
  createService,
  refuseUnparsed,
  type LogLine,
  type LogSettings,
  type Malformed,
} from '../shared/service.ts'
import { clientAddress, Ranges } from './http/address.ts'
import type { Config } from './config/config.ts'
import { openCore, type Core } from './core.ts'
import { rateHeaders } from './limits/headers.ts'
import { plainTarget } from './http/paths.ts'
import { guard } from './guard.ts'
import { keepRoom } from './http/room.ts'
import { noPlan, noRoute } from './records/recorder.ts'
import { addTimes, outcomeOf } from './request-record.ts'
import { addRest, inOneLine, takeAllMethods } from './routes.ts'
import { Seldom } from './records/seldom.ts'
import { stalledMs } from './forwarding/target-attempt.ts'
import type { Stores } from './stores/open.ts'
import { UnderWay } from './forwarding/under-way.ts'
import { routeEverything, idleMs, wire } from './http/wire.ts'

export type GatewayOptions = Readonly<{
  config: Config
  /** Where keys are kept; by default what the configuration says. */
  stores?: Stores
  secret?: string | undefined
  clock?: Clock
  log?: LogSettings | undefined
  /** How many files and connections the system lets this process have open; no bound where that isn't known. */
  descriptors?: number | undefined
}>

const warmUps = 10

/** How long a request may take to arrive where there is no upstream to say so. */
const requestTimeoutMs = 30_000

/** An app that was built from one configuration, and the requests that it is answering. */
type Generation = Readonly<{
  app: FastifyInstance
  config: Config
  underWay: UnderWay
  trustedProxies: Ranges
  refuseMalformed: Malformed
}>

/**
 * The gateway as a server of its own. A change of the configuration builds a new app beside the old
 * one and hands new requests to it; the old one closes when it has answered its last.
 */
export class Gateway {
  readonly server: Server
  readonly log: FastifyInstance['log']
  readonly core: Core
  readonly #options: GatewayOptions
  #generation: Generation

  private constructor(
    options: GatewayOptions,
    front: FastifyInstance,
    core: Core,
    generation: Generation,
  ) {
    this.#options = options
    this.log = front.log
    this.core = core
    this.#generation = generation
    this.server = createServer({ ...wire, keepAliveTimeout: idleMs })
    const quiet = closeQuietConnections(this.server)
    const { descriptors } = options
    if (descriptors !== undefined) {
      keepRoom(this.server, {
        descriptors,
        quiet,
        trusted: () => this.#generation.trustedProxies,
        refused: (count) =>
          this.log.warn({ count }, 'connections are not taken: all there may be are open and busy'),
      })
    }
    this.#applyTimeLimits(options.config)
    this.server.on('clientError', (error, socket) => {
      refuseUnparsed(error, socket as Socket, this.#malformed)
    })
    routeEverything(
      this.server,
      (request, response) => this.#generation.app.routing(request, response),
      (refusal, socket) => this.#malformed(refusal, { socket: socket as Socket }),
    )
  }

  /** Opens what outlives configurations and builds the first app; nothing listens yet. */
  static async open(options: GatewayOptions): Promise<Gateway> {
    const { config, stores, clock = Date.now, log } = options
    const front = createService({ name: 'gateway', log })
    const core = await openCore({ config, stores, clock, log: front.log })
    try {
      return new Gateway(options, front, core, await build(options, core))
    } catch (error) {
      await core.close()
      throw error
    }
  }

  get config(): Config {
    return this.#generation.config
  }

  async listen({ host, port }: Readonly<{ host: string; port: number }>): Promise<string> {
    await warmUp(this.core.stores)
    return new Promise((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(port, host, () => {
        this.server.off('error', reject)
        const { address, family, port } = this.server.address() as AddressInfo
        const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
        this.log.info({}, `Server listening at ${url}`)
        resolve(url)
      })
    })
  }

  /** Goes by another configuration from the next request on. If that can't be built, nothing changes. */
  async change(config: Config): Promise<void> {
    const generation = await build({ ...this.#options, config }, this.core)
    const before = this.#generation
    this.#generation = generation
    this.core.strangers.limits = config.strangers
    this.#applyTimeLimits(config)
    void before.underWay.none().then(() => before.app.close())
  }

  /** Ends what is open, and closes the stores. */
  async close(): Promise<void> {
    if (this.server.listening) {
      this.server.close()
      this.server.closeAllConnections()
    }
    await this.#generation.app.close()
    await this.core.close()
  }

  #applyTimeLimits({ upstreams }: Config): void {
    const times = [...upstreams.values()].map(({ timeouts }) => timeouts)
    const requestMs = Math.max(...times.map(({ requestMs }) => requestMs))
    this.server.requestTimeout = times.length > 0 ? requestMs : requestTimeoutMs
    // A connection on which nothing moves in either direction, for longer than anything may take.
    const longest = times.flatMap(({ responseMs, idleMs, requestMs }) => [
      ...[responseMs, idleMs, requestMs],
    ])
    this.server.timeout = Math.max(stalledMs, ...longest) + 1_000
  }

  /** No hook has seen such a request: whoever sends it is a stranger, and counted as one. */
  readonly #malformed: Malformed = (refusal, sender) =>
    this.#generation.refuseMalformed(refusal, sender)
}

/** Asks the stores what nobody wants to know, so that the first caller doesn't wait for what is cold. */
async function warmUp({ keys, quota }: Stores): Promise<void> {
  const ask = { key: 'nobody', cost: 0, limits: { perMinute: 1, perDay: 1 }, bans: undefined }
  for (let i = 0; i < warmUps; i++) {
    await Promise.allSettled([keys.find('nothing'), quota.decide('nobody', ask)])
  }
}

async function build(options: GatewayOptions, core: Core): Promise<Generation> {
  const { config, log, secret, clock = Date.now } = options
  const trustedProxies = new Ranges(config.trustedProxies)
  const refuseMalformed = malformedRefuser(core, config, trustedProxies)
  const app = createService({
    name: 'gateway',
    log,
    settings: {
      // What is matched and what is forwarded is one spelling of the path; what has none is refused.
      rewriteUrl: ({ url = '' }) => plainTarget(url) ?? url,
    },
    describe: describer(new Seldom(clock), trustedProxies),
    malformed: refuseMalformed,
    refused: ({ tollgate }, refusal) => {
      if (tollgate) tollgate.refusal = refusal
    },
  })
  takeAllMethods(app)
  const underWay = new UnderWay()
  try {
    const sign = secret ? signer(secret) : undefined
    await guard(app, { config, core, sign, clock, underWay })
    addRest(app, config)
    await app.ready()
    return { app, config, underWay, trustedProxies, refuseMalformed }
  } catch (error) {
    await app.close()
    throw new Error(`the configuration can't be served: ${inOneLine(error)}`, { cause: error })
  }
}

/** What the log says of a request besides what it says of any; of strangers over their limit, of few. */
function describer(seldom: Seldom, trustedProxies: Ranges) {
  return (line: LogLine, request: FastifyRequest): boolean => {
    if (request.tollgate?.refusal?.code === 'too_many_failed_attempts') {
      const unsaid = seldom.take(clientAddress(request.raw, trustedProxies))
      if (unsaid === undefined) return false
      if (unsaid > 0) line['unsaid'] = unsaid
    }
    describe(line, request)
    return true
  }
}

function describe(line: LogLine, { tollgate: record }: FastifyRequest): void {
  if (!record) return
  const { caller, route, target } = record
  if (caller) {
    line['key'] = caller.id
    line['plan'] = caller.plan
  }
  line['route'] = route
  line['decision'] = outcomeOf(record)
  if (target !== undefined) line['target'] = target
  addTimes(line, record, performance.now())
}

function malformedRefuser(core: Core, config: Config, trustedProxies: Ranges): Malformed {
  return (why, sender) => {
    const address = clientAddress(sender, trustedProxies)
    const { refusal, standing } = core.strangers.refuse(address, () => why)
    core.meters.route(noRoute).answers.add(noPlan, refusal.status)
    core.meters.refusals.add(noPlan, refusal.code)
    const id = { 'x-request-id': requestIdFrom(undefined) }
    return refusal.with({ ...rateHeaders(standing, config.ietfHeaders), ...id })
  }
}
