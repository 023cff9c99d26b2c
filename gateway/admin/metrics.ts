import { AggregatorRegistry, collectDefaultMetrics, Counter, Registry } from 'prom-client'
import type { Reloaded, Reloader } from '../config/reload.ts'
import { answerClasses, type Counts } from '../records/meters.ts'
import type { Gateway } from '../server.ts'
import type { Target } from '../forwarding/target.ts'
import { beginnings } from './beginnings.ts'
import { counter, gauge, histogram } from './series.ts'

export type Metrics = Readonly<{
  /** The media type and the text for Prometheus, over all workers at the same port. */
  read: () => Promise<{ type: string; text: string }>
  /** The numbers of this gateway alone. */
  own: () => Promise<object[]>
  /** Counts a reload of the configuration. */
  reloaded: (result: Reloaded) => void
}>

/** Gauges of prom-client that are named like counters. The gauges that they sum up stay. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

/** Gathers the numbers of the other workers. */
type Gatherer = Readonly<{ gather: () => Promise<readonly unknown[]> }>

/** The metrics of a gateway. No label ever holds a key, a key's id or an address. */
export function createMetrics(
  gateway: Gateway,
  state: () => Reloader['state'],
  others?: Gatherer,
): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  addRequests(registry, gateway)
  addStores(registry, gateway)
  addFleet(registry, gateway)
  addUpstreams(registry, gateway)
  addSpans(registry, gateway)
  const reloads = new Counter({
    name: 'tollgate_config_reloads_total',
    help: 'Reloads of the configuration, by result',
    labelNames: ['result'] as const,
    registers: [registry],
  })
  for (const result of ['changed', 'unchanged', 'refused'] as const) reloads.inc({ result }, 0)
  gauge(registry, 'tollgate_config_info', {
    help: 'The configuration in force, by hash; always 1',
    labels: ['hash'],
    aggregator: 'first',
    read: () => [[1, state().hash]],
  })
  gauge(registry, 'tollgate_config_refused', {
    help: '1 while the file has mistakes, and the configuration before them stays in force',
    aggregator: 'max',
    read: () => [[state().mistakes === undefined ? 0 : 1]],
  })
  const own = (): Promise<object[]> => registry.getMetricsAsJSON()
  const whole = async (): Promise<Registry> => {
    if (!others) return registry
    const [ours, theirs] = await Promise.all([own(), others.gather()])
    return AggregatorRegistry.aggregate([ours, ...(theirs as object[][])])
  }
  return {
    own,
    read: async () => ({ type: registry.contentType, text: await (await whole()).metrics() }),
    reloaded: (result) => reloads.inc({ result }),
  }
}

function addRequests(registry: Registry, gateway: Gateway): void {
  const { meters } = gateway.core
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
    help: 'Requests that the gateway refused, by the code of its answer, and the window of a limit',
    labels: ['plan', 'reason', 'window'],
    begins: () => beginnings.refusals(gateway.config),
    *read() {
      for (const [plan, name, count] of meters.refusals) {
        yield [count, plan, ...String(name).split(' ')]
      }
    },
  })
  histogram(registry, 'tollgate_own_duration_seconds', {
    help: 'From a request’s headers until it was sent on, or refused',
    read: () => [[meters.own]],
  })
  counter(registry, 'tollgate_near_limit_total', {
    help: 'Requests that were let in with 80 % or more of a limit used, by window',
    labels: ['plan', 'window'],
    begins: () => beginnings.near(gateway.config),
    read: () => counts(meters.near),
  })
  counter(registry, 'tollgate_shadow_refusals_total', {
    help: 'Requests that were let in and that the shadow of their plan would have refused, by window',
    labels: ['plan', 'window'],
    begins: () => beginnings.shadows(gateway.config),
    read: () => counts(meters.shadows),
  })
  counter(registry, 'tollgate_bans_total', {
    help: 'Keys that were banned for going on after refusals',
    labels: ['plan'],
    begins: () => beginnings.bans(gateway.config),
    read: () => counts(meters.bans),
  })
  counter(registry, 'tollgate_strangers_total', {
    help: 'Requests without a valid key, by the code of their answer',
    labels: ['outcome'],
    begins: beginnings.strangers,
    read: () => counts(meters.strangers),
  })
  counter(registry, 'tollgate_notices_total', {
    help: 'Notices by event and result: delivered, failed (one try), given_up, dropped',
    labels: ['type', 'result'],
    read: () => counts(meters.notices),
  })
  counter(registry, 'tollgate_deprecated_requests_total', {
    help: 'Calls of deprecated operations',
    labels: ['operation', 'plan'],
    begins: () => beginnings.deprecated(gateway.config),
    read: () => counts(meters.deprecated),
  })
}

/** The numbers of a meter, each with the values of its labels. */
function* counts(meter: Counts) {
  for (const [first, second, count] of meter) yield [count, first, second] as const
}

function addStores(registry: Registry, { core: { meters, quotas } }: Gateway): void {
  histogram(registry, 'tollgate_store_duration_seconds', {
    help: 'Time of a decision in Redis; embedded: of writing counters to the file',
    read: () => [[meters.store]],
  })
  counter(registry, 'tollgate_store_errors_total', {
    help: 'Decisions and look-ups that failed because the store was out of reach',
    labels: [],
    read: () => [[meters.storeErrors]],
  })
  gauge(registry, 'tollgate_store_fallback', {
    help: '1 while limits are not decided by the store',
    aggregator: 'max',
    read: () => [[quotas.isReachable ? 0 : 1]],
  })
}

function addFleet(registry: Registry, { core: { quotas, stores } }: Gateway): void {
  gauge(registry, 'tollgate_gateways', {
    help: 'Gateways that count in this store: a limit’s share of each while it is out of reach',
    aggregator: 'max',
    read: () => [[quotas.gateways]],
  })
  gauge(registry, 'tollgate_configs_in_force', {
    help: 'Different configurations that the gateways of this store go by; 1 is well',
    aggregator: 'max',
    read: () => [[stores.fleet.configs]],
  })
}

function addSpans(registry: Registry, { core: { meters } }: Gateway): void {
  counter(registry, 'tollgate_spans_total', {
    help: 'Spans for OpenTelemetry: sent, failed (the collector didn’t take them), dropped (too many waited)',
    labels: ['result'],
    *read() {
      for (const [result, count] of Object.entries(meters.spans)) yield [count, result]
    },
  })
}

function addUpstreams(registry: Registry, gateway: Gateway): void {
  // Only targets of the configuration in force: a removed target leaves the metrics at once.
  function* targets(): Generator<readonly [string, Target]> {
    for (const [upstream, settings] of gateway.config.upstreams) {
      for (const target of gateway.core.upstreams.see(settings)?.targets ?? []) {
        yield [upstream, target]
      }
    }
  }
  histogram(registry, 'tollgate_upstream_duration_seconds', {
    help: 'From sending a request on to the first byte of its answer, or its failure',
    labels: ['upstream', 'target'],
    *read() {
      for (const [upstream, { origin, meter }] of targets()) {
        yield [meter.durations, upstream, origin]
      }
    },
  })
  counter(registry, 'tollgate_upstream_answers_total', {
    help: 'Answers of targets by the class of their status; none: a request that got no answer',
    labels: ['upstream', 'target', 'class'],
    *read() {
      for (const [upstream, { origin, meter }] of targets()) {
        for (const [i, name] of answerClasses.entries()) {
          yield [meter.answers[i] ?? 0, upstream, origin, name]
        }
      }
    },
  })
  gauge(registry, 'tollgate_upstream_healthy', {
    help: 'Whether a target is fit to be asked',
    labels: ['upstream', 'target'],
    aggregator: 'min',
    *read() {
      for (const [upstream, target] of targets()) {
        yield [target.isFit ? 1 : 0, upstream, target.origin]
      }
    },
  })
  gauge(registry, 'tollgate_swap_step', {
    help: 'The step of the swap of an upstream, from 1; 0 before it begins and after it went back',
    labels: ['upstream'],
    aggregator: 'max',
    *read() {
      for (const [upstream, settings] of gateway.config.upstreams) {
        const swap = gateway.core.swaps.see(settings)
        if (swap) yield [swap.stepInForce + 1, upstream]
      }
    },
  })
}
