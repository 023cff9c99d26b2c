import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../shared/clock.ts'
import { requestIdFrom } from '../../shared/request-id.ts'
import type { LogSettings } from '../../shared/log.ts'
import { createService, tellerOf, type Malformed } from '../../shared/service.ts'
import { presentSecret, signer, type SecretSource } from '../../shared/signature.ts'
import type { AskingProxy } from './config/asking.ts'
import type { Config } from './config/config.ts'
import { decidedIn, forwardedIn } from './config/views.ts'
import { noPlan, noRoute } from './counts/meters.ts'
import { joinLinks } from './deciding/answer.ts'
import { tellRefusal, toldToNginx } from './deciding/nginx.ts'
import { UnderWay } from './forwarding/under-way.ts'
import type { Front } from './front.ts'
import { guard } from './guard.ts'
import { Ranges, senderFinder, type Sender } from './http/address.ts'
import { LogThrottle } from './http/log-throttle.ts'
import { plainUrl } from './http/paths.ts'
import { rateHeaders } from './limits/headers.ts'
import { describer } from './log-line.ts'
import { RequestRecord } from './request-record.ts'

export type GenerationOptions = Readonly<{
  front: Front
  config: Config
  secret?: SecretSource
  clock: Clock
  /** The settings of the log, for the lines of requests. */
  logSettings: LogSettings
}>

/** The apps that were built from one configuration, with their requests under way. */
export type Generation = Readonly<Awaited<ReturnType<typeof openGeneration>>>

/** An app, and how bytes are refused that never became a request to it. */
export type Served = Readonly<{ app: FastifyInstance; malformed: Malformed }>

/** The route of bytes that never became a request. */
const noRouteAtAll = {
  label: noRoute,
  cost: 1,
  share: undefined,
  forwarder: undefined,
  answer: undefined,
  ended: () => undefined,
}

/** Builds the app that forwards, and the one that decides for a proxy, if there is one. */
export async function openGeneration(options: GenerationOptions) {
  const { config } = options
  const underWay = new UnderWay()
  const trustedProxies = new Ranges(config.trustedProxies)
  const apps: Served[] = []
  const close = async (): Promise<void> => {
    for (const { app } of apps.splice(0)) await app.close()
  }
  const add = async (config: Config, asking?: AskingProxy): Promise<Served> => {
    const served = await build({ ...options, config, underWay, trustedProxies, asking })
    apps.push(served)
    return served
  }
  try {
    const forwarding = await add(forwardedIn(config))
    const deciding = config.decide && (await add(decidedIn(config), config.decide.for))
    return { config, underWay, trustedProxies, forwarding, deciding, close }
  } catch (error) {
    await close()
    throw new Error(`the configuration can't be served: ${inOneLine(error)}`, { cause: error })
  }
}

type BuildOptions = GenerationOptions &
  Readonly<{
    underWay: UnderWay
    trustedProxies: Ranges
    /** The proxy that asks, where requests are only decided. */
    asking: AskingProxy | undefined
  }>

async function build(options: BuildOptions): Promise<Served> {
  const { front, config, logSettings, secret, clock, underWay, trustedProxies, asking } = options
  const addressOf = senderFinder(trustedProxies, asking)
  const malformed = malformedRefuser(front, config, addressOf)
  const isToldInHeaders = asking === 'nginx'
  const app = createService({
    name: 'gateway',
    log: logSettings,
    settings: {
      // Matches and forwards one spelling of the path; `screen` refuses paths without one.
      rewriteUrl: plainUrl,
    },
    isFollowed: true,
    malformed: isToldInHeaders ? (...asked) => toldToNginx(malformed(...asked)) : malformed,
    refused: ({ tollgate }, refusal) => {
      if (tollgate) tollgate.refusal = refusal
    },
  })
  try {
    const shared = presentSecret(secret)
    const sign = shared ? signer(shared) : undefined
    const describe = describer(new LogThrottle(clock), addressOf, asking)
    const tell = logSettings && tellerOf(app.log, logSettings, describe)
    const finish = [...(asking ? [joinLinks] : []), ...(isToldInHeaders ? [tellRefusal] : [])]
    await guard(app, {
      ...{ config, front, sign, clock, underWay, tell, asking, finish },
      isAlone: true,
    })
    await app.ready()
    return { app, malformed }
  } catch (error) {
    await app.close()
    throw error
  }
}

function malformedRefuser(
  front: Front,
  config: Config,
  addressOf: (sender: Sender) => string,
): Malformed {
  return (why, sender) => {
    const { refusal, standing } = front.strangers.refuse(addressOf(sender), () => why)
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
