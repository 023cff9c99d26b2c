import type { Registry } from 'prom-client'
import type { Counts } from '../../../front/counts/meters.ts'
import type { OperatedGateway } from '../../office.ts'
import { beginnings } from './beginnings.ts'
import { counter, histogram } from './series.ts'

export function addRequests(registry: Registry, gateway: OperatedGateway): void {
  const { meters } = gateway.front
  counter(registry, 'tollgate_requests_total', {
    help: 'Requests that were answered; status 499: the caller left first',
    labels: ['route', 'plan', 'status'],
    begins: () => beginnings.requests(gateway.config),
    *read() {
      for (const [route, { answers }] of meters.routes) {
        for (const [plan, status, count] of answers) yield [count, route, plan, status]
      }
    },
  })
  histogram(registry, 'tollgate_request_duration_seconds', {
    help: 'From a request’s headers to the end of its answer',
    labels: ['route'],
    *read() {
      for (const [route, { durations }] of meters.routes) yield [durations, route]
    },
  })
  counter(registry, 'tollgate_refusals_total', {
    help: 'Requests that the gateway refused, by the code of its answer, the window of a limit, and the operation of a plan whose limit it is',
    labels: ['plan', 'reason', 'window', 'operation'],
    begins: () => beginnings.refusals(gateway.config),
    *read() {
      for (const [plan, name, count] of meters.refusals) {
        yield [count, plan, ...String(name).split(' ')]
      }
    },
  })
  counter(registry, 'tollgate_signatures_withheld_total', {
    help: 'Requests with a signature that could be taken for the gateway’s, which was not forwarded',
    read: () => [[meters.signaturesWithheld]],
  })
  histogram(registry, 'tollgate_own_duration_seconds', {
    help: 'From a request’s headers until it was sent on, or refused',
    read: () => [[meters.own]],
  })
  const add: AddCounts = (meter, name, options) => {
    const begins = () => (meter === 'notices' ? [] : beginnings[meter](gateway.config))
    counter(registry, name, { ...options, begins, read: () => counts(meters[meter]) })
  }
  addPoints(add)
  addCallers(add)
}

/** Adds a counter of a meter. Its series that begin with the configuration have the meter's name. */
type AddCounts = (
  meter: 'notices' | Exclude<keyof typeof beginnings, 'requests' | 'refusals'>,
  name: string,
  options: Readonly<{ help: string; labels: readonly string[] }>,
) => void

/** What requests use up. */
function addPoints(add: AddCounts): void {
  add('near', 'tollgate_near_limit_total', {
    help: 'Requests that were admitted with 80 % or more of a limit used, by window',
    labels: ['plan', 'window'],
  })
  add('beyond', 'tollgate_beyond_points_total', {
    help: 'Points of requests beyond what their plan includes, by the window that meters them',
    labels: ['plan', 'window'],
  })
  add('answerCosts', 'tollgate_answer_costs_total', {
    help: 'Answers of routes whose cost they tell: told, missing, malformed, or capped at the most that the route allows',
    labels: ['outcome'],
  })
  add('shadows', 'tollgate_shadow_refusals_total', {
    help: 'Requests that were admitted and that the shadow of their plan would have refused, by window',
    labels: ['plan', 'window'],
  })
}

/** What becomes of callers. */
function addCallers(add: AddCounts): void {
  add('bans', 'tollgate_bans_total', {
    help: 'Keys that were banned for going on after refusals',
    labels: ['plan'],
  })
  add('jwtRefusals', 'tollgate_jwt_refusals_total', {
    help: 'Requests with a JWT that was not admitted, by the reason',
    labels: ['reason'],
  })
  add('jwtPlans', 'tollgate_jwt_plans_total', {
    help: 'JWTs that were verified and admitted, where a claim names the plan: by the claim, or by else',
    labels: ['issuer', 'by'],
  })
  add('strangers', 'tollgate_strangers_total', {
    help: 'Requests without a valid key, by the code of their answer',
    labels: ['outcome'],
  })
  add('notices', 'tollgate_notices_total', {
    help: 'Notices by event and result: delivered, failed (one try), given_up, dropped',
    labels: ['type', 'result'],
  })
  add('deprecated', 'tollgate_deprecated_requests_total', {
    help: 'Calls of deprecated operations',
    labels: ['operation', 'plan'],
  })
}

export function addSpans(registry: Registry, { front: { meters } }: OperatedGateway): void {
  counter(registry, 'tollgate_spans_total', {
    help: 'Spans for OpenTelemetry: sent, failed (the collector didn’t take them), dropped (too many waited)',
    labels: ['result'],
    read: () => Object.entries(meters.spans).map(([result, count]) => [count, result]),
  })
}

/** The numbers of a meter, each with the values of its labels. */
function* counts(meter: Counts) {
  for (const [first, second, count] of meter) yield [count, first, second] as const
}
