import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LogLine } from '../../shared/service.ts'
import { shortest } from '../../shared/windows.ts'
import { answeredCost } from './answered-cost.ts'
import { holderOf } from './counts/use.ts'
import type { Sender } from './http/address.ts'
import type { LogThrottle } from './http/log-throttle.ts'
import { beyondIn } from './limits/beyond.ts'
import { wouldRefuse } from './limits/shadow.ts'
import { usedBy, type Decision } from './limits/step.ts'
import { addTimes, outcomeOf, type RequestRecord } from './request-record.ts'

/** Adds the gateway's own fields to a log line; leaves out most lines about strangers over their limit. */
export function describer(
  throttle: LogThrottle,
  addressOf: (sender: Sender) => string,
  asking: string | undefined,
) {
  return (line: LogLine, request: FastifyRequest): boolean => {
    if (request.tollgate?.refusal?.code === 'too_many_failed_attempts') {
      const droppedLines = throttle.take(addressOf(request.raw))
      if (droppedLines === undefined) return false
      if (droppedLines > 0) line['droppedLines'] = droppedLines
    }
    // The proxy that asked, where the request was only decided.
    if (asking !== undefined) line['for'] = asking
    describe(line, request)
    return true
  }
}

function describe(line: LogLine, request: FastifyRequest): void {
  const { tollgate: record } = request
  if (!record) return
  const { caller, turnedAway, route, target, refusal, trace, acted } = record
  if (trace) line['trace'] = trace.traceId
  const identified = caller ?? turnedAway
  if (identified) {
    line['key'] = identified.id
    line['plan'] = identified.plan
    if (identified.reference !== undefined) line['reference'] = identified.reference
  }
  line['route'] = route.label
  line['decision'] = outcomeOf(record, request)
  if (acted !== undefined) {
    line['acted'] = acted
    return
  }
  if (refusal?.reason) line['reason'] = refusal.reason
  const window = refusal?.window
  if (window) line['window'] = window
  Object.assign(line, holderOf(refusal))
  const shadow = record.terms?.shadow
  const windows = shadow && record.stand && wouldRefuse(shadow, record.stand.decision)
  if (windows && windows.length > 0) line['shadow'] = windows.join(' ')
  if (caller && record.stand) addDecision(line, record, record.stand.decision)
  if (target !== undefined) line['target'] = target
  addTimes(line, record, performance.now())
}

/** Has an app's further lines about a request name its caller with its plan, and the code of a refusal. */
export function nameInLog(request: FastifyRequest, reply: FastifyReply): void {
  const { tollgate: record } = request
  const { caller, turnedAway, refusal, isNamed } = record ?? {}
  const identified = isNamed ? undefined : (caller ?? turnedAway)
  if (!record || (!identified && !refusal)) return
  record.isNamed = true
  request.log = reply.log = request.log.child({
    ...(identified && { key: identified.id, plan: identified.plan }),
    ...(refusal && { code: refusal.code }),
  })
}

/** Adds when a request was decided, by the store's clock, and what isn't usual about it. */
function addDecision(line: LogLine, record: RequestRecord, decision: Decision): void {
  const { nowMs, cost, decidedBy } = decision
  line['decidedAt'] = nowMs
  line[`${shortest.name}Used`] = usedBy(decision, shortest)
  if (decidedBy !== 'store') line['decidedBy'] = decidedBy
  const answered = answeredCost(record)
  if (answered) Object.assign(line, { estimate: cost, cost: answered.cost })
  else if (cost !== 1) line['cost'] = cost
  if (record.isGivenBack) line['givenBack'] = cost
  const beyond = record.isGivenBack ? 0 : beyondIn(decision, answered?.cost ?? cost)
  if (beyond > 0) line['beyond'] = beyond
}
