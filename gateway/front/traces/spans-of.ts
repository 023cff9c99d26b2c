import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from '../../../shared/refusal.ts'
import { statusOf } from '../../../shared/service.ts'
import {
  methodAttributes,
  peerOf,
  serverAttributes,
  serverSpanName,
  spanPath,
  verbOf,
} from '../../../shared/spans/http.ts'
import type { Span, SpanAttributes, SpanEvent } from '../../../shared/spans/span.ts'
import { socketPathOf } from '../../../shared/unix-socket.ts'
import { noRoute } from '../counts/meters.ts'
import { webUrlOf } from '../forwarding/target-url.ts'
import { holderOf } from '../counts/use.ts'
import { answeredCost } from '../answered-cost.ts'
import { outcomeOf, type RequestRecord } from '../request-record.ts'
import type { Trace, Try } from '../request-trace.ts'

/** A request that has ended, with its trace. */
export type Ended = Readonly<{
  request: FastifyRequest
  reply: FastifyReply
  record: RequestRecord
  trace: Trace
  /** The hash of the configuration. */
  hash: string
  endedAtMs: number
}>

/** The span of a request as the gateway answered it. */
export function serverSpan(ended: Ended): Span {
  const { request, reply, record, trace, endedAtMs } = ended
  const { method, protocol: scheme, raw } = request
  const status = statusOf(reply)
  const route = record.route.label === noRoute ? undefined : record.route.label
  const exchange = { method, path: record.path, scheme, route, status, ...peerOf(raw) }
  const attributes = serverAttributes(exchange)
  addDecision(attributes, ended)
  return {
    name: serverSpanName(exchange),
    kind: 'server',
    traceId: trace.traceId,
    id: trace.serverId,
    parentId: trace.parentId,
    state: trace.state,
    beganAtMs: record.beganAtMs,
    endedAtMs,
    attributes,
    event: storeEvent(record, trace),
    isError: status >= 500,
  }
}

/** Adds what the gateway's log line says of a request. */
function addDecision(attributes: SpanAttributes, { request, record, hash }: Ended): void {
  const { caller, turnedAway, refusal } = record
  const sender = caller ?? turnedAway
  if (sender) {
    attributes['tollgate.key.id'] = sender.id
    attributes['tollgate.plan'] = sender.plan
    if (sender.reference !== undefined) attributes['tollgate.reference'] = sender.reference
  }
  attributes['tollgate.decision'] = outcomeOf(record, request)
  attributes['tollgate.config.hash'] = hash
  const answered = answeredCost(record)
  if (answered) {
    attributes['tollgate.estimate'] = record.stand?.decision.cost ?? 0
    attributes['tollgate.cost'] = answered.cost
  }
  if (!refusal) return
  if (refusal.status >= 500) attributes['error.type'] = refusal.code
  if (refusal.reason) attributes['tollgate.reason'] = refusal.reason
  const { window } = refusal
  if (window) attributes['tollgate.window'] = window
  const { operation, cap } = holderOf(refusal)
  if (operation !== undefined) attributes['tollgate.operation'] = operation
  if (cap) attributes['tollgate.cap'] = 'true'
}

/** The decision of the store, at the time when it came; `undefined` if the store wasn't asked. */
function storeEvent({ stand }: RequestRecord, trace: Trace): SpanEvent | undefined {
  const { askedAtMs, decidedAtMs } = trace
  if (!stand || decidedAtMs === 0) return undefined
  const { decidedBy } = stand.decision
  if (decidedBy === 'memory') return undefined
  const ms = Math.round((decidedAtMs - askedAtMs) * 1_000) / 1_000
  const attributes = { 'tollgate.store.ms': ms, 'tollgate.decided_by': decidedBy }
  return { name: 'tollgate_store', atMs: decidedAtMs, attributes }
}

/** The spans of a request at its targets, one a try. */
export function clientSpans(ended: Ended): Span[] {
  return ended.trace.tries.map((each, i) => clientSpan(ended, each, i))
}

function clientSpan(
  { request, reply, record, trace, endedAtMs }: Ended,
  one: Try,
  i: number,
): Span {
  const { path, tries, traceId, serverId, state } = trace
  const { method } = request
  const { answeredAtMs, refusal } = record
  const attributes = methodAttributes(method)
  const { origin, address, port } = serverAt(one.target)
  const isLast = i === tries.length - 1
  attributes['url.full'] = origin + spanPath(path.split('?', 1)[0] ?? '')
  attributes['server.address'] = address
  if (port === undefined) attributes['network.transport'] = 'unix'
  else attributes['server.port'] = port
  if (i > 0) attributes['http.request.resend_count'] = i
  const hasAnswered = isLast && !refusal && answeredAtMs > 0
  const status = hasAnswered ? statusOf(reply) : undefined
  if (status !== undefined) attributes['http.response.status_code'] = status
  const failure = one.failure ?? failureOf(status, refusal)
  if (failure !== undefined) attributes['error.type'] = failure
  return {
    name: verbOf(method),
    kind: 'client',
    traceId,
    id: one.id,
    parentId: serverId,
    state,
    beganAtMs: one.beganAtMs,
    endedAtMs: one.endedAtMs || answeredAtMs || endedAtMs,
    attributes,
    isError: failure !== undefined,
  }
}

/** A Unix socket has its path as the address, and no port. */
type Server = Readonly<{ origin: string; address: string; port?: number }>

/** The targets that were asked so far, of which a configuration names a few. */
const servers = new Map<string, Server>()

function serverAt(target: string): Server {
  const present = servers.get(target)
  if (present) return present
  const { origin, protocol, hostname, port } = webUrlOf(target)
  const path = socketPathOf(target)
  const server: Server =
    path === undefined
      ? {
          origin,
          address: hostname.replace(/^\[|\]$/g, ''),
          port: Number(port) || (protocol === 'https:' ? 443 : 80),
        }
      : { origin, address: path }
  servers.set(target, server)
  return server
}

/** Why a target's part failed; for those who ask, an answer from 400 on is a failure. */
function failureOf(status: number | undefined, refusal: Refusal | undefined): string | undefined {
  if (status === undefined) return refusal?.code ?? 'caller_left'
  return status < 400 ? undefined : String(status)
}
