import { printable } from '../../../shared/printable.ts'
import { timeText } from '../../../shared/times.ts'
import { windows } from '../../../shared/windows.ts'
import type { LatencyView } from '../../front/counts/histogram.ts'
import type { Snapshot } from '../live/snapshot.ts'
import type { SumsView } from '../../front/counts/sum-rows.ts'
import { liveRange } from './kinds.ts'
import { ofGateway } from './operation.ts'
import { valueOf } from './parameters.ts'
import { aligned } from './table.ts'

export const now = ofGateway({
  name: 'now',
  at: ['GET /admin/live'],
  summary: 'Show the last minute of all gateways: requests, refusals, times, targets',
  details:
    'Asks the running gateway, which asks the others. Each gateway keeps the sums of its last 15 minutes and of its last ' +
    'day. Routes are those of the last 15 minutes, with all durations; those that fail come first. Failures are those of ' +
    '15 minutes by cause. The keys that were refused most are those of the last minute.',
  parameters: {
    range: valueOf(
      liveRange,
      'RANGE',
      'also the sums of this time; with --json, by 5 seconds (15m) and by minute (day)',
    ),
  },
  role: 'read',
  run: ({ gateway }, { range }) => gateway.office.live.snapshot(range),
  watch: ({ gateway }, { range = '15m' }, heard) => gateway.office.live.watch(range, heard),
  text: (snapshot: Snapshot) =>
    [
      heading(snapshot),
      sums(snapshot),
      routes(snapshot),
      failures(snapshot),
      targets(snapshot),
      refusedKeys(snapshot),
      ...troubles(snapshot).map((trouble) => printable(trouble)),
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
})

function heading({ time, gateways: { asked, told } }: Snapshot): string {
  const who = `${told} of ${asked} gateways reporting`
  return `${who}, ${timeText(Date.parse(time))}.`
}

type Count = readonly [label: string, count: (sums: SumsView) => number]

const counts: readonly Count[] = [
  ['requests', ({ requests }) => requests],
  ['admitted', ({ admitted }) => admitted],
  ...windows.map(({ name }): Count => [`refused: ${name}`, (sums) => sums[name]]),
  ['refused: ban', ({ ban }) => ban],
  ['refused: strangers', ({ strangers }) => strangers],
  ['refused: other', ({ refused }) => refused],
  ['failed: gateway', ({ failed }) => failed.gateway],
  ['failed: no backend', ({ failed }) => failed.noBackend],
  ['failed: backend', ({ failed }) => failed.backend],
  ['other answers', ({ others }) => others],
]

function sums({ lastMinute, range }: Snapshot): string {
  const columns = [lastMinute, ...(range ? [range.sums] : [])]
  const heads = ['', 'LAST MINUTE', ...(range ? [range.name.toUpperCase()] : [])]
  const rows = counts.map(([label, count]) => [label, ...columns.map(count)])
  const own = ['own p50, p99', ...columns.map((each) => timesText(each.own))]
  const upstream = ['backend p50, p99', ...columns.map((each) => timesText(each.upstream))]
  const table = aligned([heads, ...rows, own, upstream])
  if (!range) return table
  return `${table}\n\nThe sums of ${range.name} are complete since ${timeText(Date.parse(range.since))}.`
}

function timesText(times: Pick<LatencyView, 'p50' | 'p99'> | null): string {
  return times ? `${times.p50}, ${times.p99} ms` : '-'
}

function routes({ routes }: Snapshot): string {
  if (routes.length === 0) return ''
  const rows = routes.map(({ route, requests, refused, failed, ...times }) => [
    route,
    ...[requests, refused, failed],
    timesText(times),
  ])
  return aligned([['ROUTE', 'REQUESTS IN 15 MINUTES', 'REFUSED', 'FAILED', 'P50, P99'], ...rows])
}

const sides = { gateway: 'gateway', noBackend: 'no backend', backend: 'backend' } as const

function failures({ failures }: Snapshot): string {
  if (failures.length === 0) return ''
  const rows = failures.map(({ side, count, last, sentence }) => [
    sides[side],
    count,
    timeText(Date.parse(last)),
    sentence,
  ])
  return aligned([['FAILED BY', 'IN 15 MINUTES', 'LAST', 'WHY'], ...rows])
}

function targets({ targets }: Snapshot): string {
  if (targets.length === 0) return ''
  const rows = targets.map(({ upstream, target, unhealthyAt }) => {
    const state = unhealthyAt.length === 0 ? 'healthy' : `unhealthy at ${unhealthyAt.join(', ')}`
    return [upstream, target, state]
  })
  return aligned([['UPSTREAM', 'TARGET', 'STATE'], ...rows])
}

function refusedKeys({ refusedKeys }: Snapshot): string {
  if (refusedKeys.length === 0) return ''
  const rows = refusedKeys.map(({ key, name, plan, window, count }) => [
    `${key} (${name})`,
    plan,
    window ?? 'other',
    count,
  ])
  return aligned([['REFUSED KEY', 'PLAN', 'BY', 'REFUSED A MINUTE'], ...rows])
}

function troubles({ store, configs, incidents }: Snapshot): string[] {
  const without = store.without.join(', ')
  const inForce = configs.map(({ hash, gateways }) => `${hash} (${gateways.join(', ')})`)
  const refusals = configs.flatMap(({ refusals }) =>
    refusals.map(({ gateway, mistake }) => `${gateway} refuses its current file: ${mistake}`),
  )
  return [
    ...incidents.map(incidentText),
    ...(store.reachable ? [] : [`The store is out of reach of ${without}.`]),
    ...(configs.length > 1 ? [`Several configurations are in force: ${inForce.join('; ')}.`] : []),
    ...refusals,
  ]
}

/** Such as `api: no healthy target since 2030-12-05 12:00:00Z (connection refused).` */
function incidentText({ upstream, since, cause }: Snapshot['incidents'][number]): string {
  return `${upstream}: no healthy target since ${timeText(Date.parse(since))} (${cause}).`
}
