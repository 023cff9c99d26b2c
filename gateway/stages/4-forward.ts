import proxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../shared/clock.ts'
import { Refusal } from '../../shared/refusal.ts'
import { answer } from '../../shared/service.ts'
import { sign, signatureHeader } from '../../shared/signature.ts'
import type { Config } from '../config/config.ts'

/** For one connection only, in either direction. */
const hopByHop =
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' ')

/** Never the backend's to see: what a caller proves itself with, and what is for this hop alone. */
const kept = new Set([...hopByHop, 'authorization', 'cookie', 'proxy-authorization', 'expect'])

/** Never the backend's to say: how a caller stands, and how its connection goes on. */
const dropped = new Set([...hopByHop, 'server', 'x-powered-by', 'x-request-id'])
const ours = /^(?:x-)?ratelimit/

export type ForwardOptions = Readonly<{
  config: Config
  /** Shared with the backends, which take only what was signed with it; without it, nothing is signed. */
  secret: string | undefined
  clock: Clock
  /** Told of a request that was admitted and then could not be answered. */
  unanswered: (request: FastifyRequest) => void
}>

/** Sends admitted requests to the upstreams that the configuration's routes name. */
export async function forward(app: FastifyInstance, options: ForwardOptions): Promise<void> {
  const { config, unanswered, secret, clock } = options
  for (const { path, upstream, cost } of config.routes) {
    const [target = ''] = config.upstreams.get(upstream)?.targets ?? []
    const prefix = path.replace(/\/\*$/, '')
    await app.register(proxy, {
      upstream: target,
      prefix,
      rewritePrefix: prefix,
      config: { tollgate: true, cost },
      retryMethods: [],
      disableRequestLogging: true,
      replyOptions: {
        rewriteRequestHeaders: (request, headers) =>
          signed(request as FastifyRequest, forwarded(request as FastifyRequest, headers)),
        rewriteHeaders: answered,
        onError: (reply, { error }) => refuse(reply as FastifyReply, error),
      },
    })
  }

  function refuse(reply: FastifyReply, error: Error): void {
    const { request } = reply
    request.log.error({ err: error }, 'the backend could not be asked')
    unanswered(request)
    const late = 'statusCode' in error && error.statusCode === 504
    void answer(
      reply,
      late
        ? new Refusal('gateway_timeout', 'The backend did not answer in time.')
        : new Refusal('bad_gateway', 'The backend could not be reached.'),
    )
  }

  function signed(request: FastifyRequest, headers: IncomingHttpHeaders): IncomingHttpHeaders {
    if (!secret) return headers
    const { id: callerId = '', plan = '' } = request.caller ?? {}
    const { method, url: target, id: requestId } = request
    const signature = sign(secret, { method, target, callerId, plan, requestId }, clock())
    return { ...headers, [signatureHeader]: signature }
  }
}

function forwarded(
  { caller, id }: FastifyRequest,
  headers: IncomingHttpHeaders,
): IncomingHttpHeaders {
  const sent = Object.fromEntries(Object.entries(headers).filter(([name]) => !isForged(name)))
  return { ...sent, 'x-request-id': id, 'x-caller-id': caller?.id, 'x-caller-plan': caller?.plan }
}

/** What a caller may not say, because the gateway does, however it is spelled. */
function isForged(name: string): boolean {
  return kept.has(name) || /^x[-_](?:caller|gateway)[-_]/.test(name)
}

function answered(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !dropped.has(name) && !ours.test(name)),
  )
}
