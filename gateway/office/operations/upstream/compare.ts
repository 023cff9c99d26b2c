import { timeText } from '../../../../shared/times.ts'
import { durationFrom } from '../../../../shared/units.ts'
import type { Config, UpstreamSettings } from '../../../front/config/config.ts'
import type { ComparisonView } from '../../compare/comparison-view.ts'
import type { Comparison } from '../../compare/comparison.ts'
import { noterFor } from '../../../front/records/audit.ts'
import type { GatewayContext } from '../context.ts'
import { ofText } from '../kinds.ts'
import { ofGateway } from '../operation.ts'
import { comparisonText } from './compare-text.ts'
import { chosenUpstream, wouldBe } from './would-be.ts'

/** The longest comparison. */
const longestMs = 24 * 3_600_000

const comparisonTime = ofText('a duration from 1s to 24h', (text) => {
  const ms = durationFrom(text) ?? 0
  return ms >= 1_000 && ms <= longestMs ? text : undefined
})

const shareOfRequests = ofText('a share such as 5% or 0.5%, up to 100%', (text) => {
  const share = shareFrom(text)
  return share > 0 && share <= 1 ? text : undefined
})

type Given = Readonly<{ url: string; upstream: string | undefined; for: string; share: string }>

export const compareUpstream = ofGateway({
  name: 'upstream compare',
  at: ['POST /admin/upstreams/compare'],
  summary: 'Compare a new backend with the present one, by a share of the real requests',
  details:
    'The running gateway asks the new backend for a share of the GET and HEAD requests that it admits, each after its ' +
    'caller has the answer, and compares status, media type, members, Location and times. A GET that has effects has ' +
    'them twice, if both backends share a database. The new backend sees what the present one sees: ids of callers, ' +
    'paths, queries, headers. One comparison runs at a time; Ctrl-C ends it, with the table so far. Exit code 1 if anything would break, if nothing ' +
    'was compared, or if it ended early.',
  parameters: {
    ...wouldBe,
    for: { kind: comparisonTime, value: 'TIME', help: 'how long', defaultText: '10m' },
    share: {
      kind: shareOfRequests,
      value: 'SHARE',
      help: 'how many of the requests',
      defaultText: '5%',
    },
  },
  role: 'all',
  run: async (context, values): Promise<ComparisonView> => {
    const comparison = await begin(context, values)
    const { left } = context
    left.addEventListener('abort', () => void comparison.end('left'))
    if (left.aborted) void comparison.end('left')
    await new Promise<void>((resolve) => {
      comparison.onNews(() => comparison.isOver && resolve())
    })
    return comparison.view
  },
  watch: async (context, values, heard) => {
    const comparison = await begin(context, values)
    const endNews = comparison.onNews(heard)
    let round = -1
    return {
      take: () => {
        if (comparison.round === round) return undefined
        round = comparison.round
        const { isOver: isLast, view: snapshot } = comparison
        return { name: isLast ? 'end' : 'progress', snapshot, isLast }
      },
      end: () => {
        endNews()
        void comparison.end('left')
      },
    }
  },
  progress: ({ seconds, forSeconds }: ComparisonView) => ({
    label: 'seconds',
    done: Math.floor(seconds),
    total: forSeconds,
  }),
  isRefused: ({ fit }: ComparisonView) => !fit,
  text: comparisonText,
})

/** Begins a comparison for the author of a call, with a line in the audit. */
function begin(context: GatewayContext, values: Given): Promise<Comparison> {
  const { config, gateway, stores, clock, by } = context
  const { url, for: time, share } = values
  const upstream = chosenUpstream(config, values.upstream)
  const noted = noterFor(stores().audit, by, clock)
  const since = timeText(clock())
  return gateway.office.comparisons.begin(
    {
      url,
      upstream,
      share: shareFrom(share),
      forMs: durationFrom(time) ?? 0,
      routes: routesTo(upstream, config),
    },
    `${by} compares ${url} at ${gateway.front.self.name} since ${since}, for ${time}`,
    () =>
      noted({
        what: 'upstreams.compare',
        subject: upstream.name,
        before: null,
        after: { url, for: time, share },
      }),
  )
}

/** The paths that lead GET or HEAD requests to an upstream, each once. */
function routesTo({ name }: UpstreamSettings, { routes }: Config): string[] {
  const leading = routes.filter(
    ({ upstream, methods }) =>
      upstream === name && (methods.includes('GET') || methods.includes('HEAD')),
  )
  return [...new Set(leading.map(({ path }) => path))]
}

/** The part of 1 that a percentage means; 0 if it isn't one. */
function shareFrom(text: string): number {
  return /^\d{1,3}(?:\.\d{1,4})?%$/.test(text) ? Number(text.slice(0, -1)) / 100 : 0
}
