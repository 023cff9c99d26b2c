import { withCommas } from '../../../../shared/commas.ts'
import { iso, timeText } from '../../../../shared/times.ts'
import type { Target } from '../../../front/forwarding/target.ts'
import { answerClasses } from '../../../front/counts/meters.ts'
import type { OperatedGateway } from '../../office.ts'
import { ofGateway, type AnswerOf } from '../operation.ts'
import { aligned, type Cell } from '../table.ts'

export const listUpstreams = ofGateway({
  name: 'upstream list',
  at: ['GET /admin/upstreams'],
  summary: 'List the targets behind the running gateway: health, answers, times, the last failure',
  details:
    'Answers and times are those of this gateway since its start. A time is that of the first byte, exact to a bucket of ' +
    'the histogram in the metrics.',
  parameters: {},
  role: 'read',
  run: ({ gateway, secret }) =>
    Promise.resolve(byUpstream(gateway, (target) => targetView(target, secret !== undefined))),
  text: (upstreams) => {
    const rows = Object.entries(upstreams).flatMap(([name, targets]) =>
      Object.entries(targets).map(([url, target]) => [name, url, ...cells(target)]),
    )
    if (rows.length === 0) return 'The gateway has sent no requests to targets yet.'
    return aligned([
      ['UPSTREAM', 'TARGET', 'STATE', 'WEIGHT', 'IN FLIGHT', 'ANSWERS', 'P50, P95', 'LAST FAILURE'],
      ...rows,
    ])
  },
})

export type UpstreamsView = AnswerOf<typeof listUpstreams>
export type TargetView = ReturnType<typeof targetView>

function targetView(target: Target, isSigned: boolean) {
  const { meter, pool, healthSinceMs, lastFailure } = target
  const answers = answerClasses.map((name, i) => [name, meter.answers[i] ?? 0] as const)
  return {
    ...healthView(target),
    /** Whether its requests carry the gateway's signature. */
    signed: isSigned,
    since: iso(healthSinceMs),
    underWay: pool.stats.running + pool.stats.queued,
    /** By the class of the status; `none` are those that got no answer. */
    answers: Object.fromEntries(answers.filter(([, count]) => count > 0)),
    p50Ms: meter.durations.within(0.5),
    p95Ms: meter.durations.within(0.95),
    lastFailure: lastFailure ? { at: iso(lastFailure.atMs), cause: lastFailure.cause } : null,
  }
}

/** The state of a target, as readiness tells it too. */
export function healthView({ isFit, weight, refusesSignature }: Target) {
  return { healthy: isFit, weight, ...(refusesSignature ? { refusesSignature: true } : {}) }
}

/** Something of each target, by the names of upstreams and the addresses of targets. */
export function byUpstream<View>(
  { config, front }: OperatedGateway,
  view: (target: Target) => View,
): Record<string, Record<string, View>> {
  return Object.fromEntries(
    [...config.upstreams].map(([name, settings]) => {
      const targets = front.upstreams.see(settings)?.targets ?? []
      return [
        name,
        Object.fromEntries(targets.map((target) => [target.origin, view(target)] as const)),
      ]
    }),
  )
}

function cells(target: TargetView): Cell[] {
  const { healthy, refusesSignature = false, weight, underWay, answers, p50Ms, p95Ms } = target
  const state = healthy ? 'healthy' : refusesSignature ? 'refuses our signature' : 'unhealthy'
  const counts = Object.entries(answers).map(([name, count]) => `${withCommas(count)} ${name}`)
  const { lastFailure } = target
  return [
    `${state} since ${timeText(Date.parse(target.since))}`,
    weight,
    underWay,
    counts.join(', ') || '-',
    p50Ms === null ? '-' : `${p50Ms}, ${p95Ms} ms`,
    lastFailure ? `${timeText(Date.parse(lastFailure.at))} ${lastFailure.cause}` : '-',
  ]
}
