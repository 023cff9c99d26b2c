import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client'
import type { ConfigState, Reloaded } from '../../config/reload.ts'
import type { OperatedGateway } from '../../office.ts'
import { plansWithPlaces } from './beginnings.ts'
import { addRequests, addSpans } from './requests.ts'
import { counter, gauge, histogram } from './series.ts'
import { addUpstreams } from './upstreams.ts'

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

export type MetricsOptions = Readonly<{
  /** The state of the configuration's file. */
  state: () => Pick<ConfigState, 'hash' | 'mistakes'>
  /** How often the office's thread was replaced. */
  officeRestarts?: () => number
  others?: Gatherer | undefined
}>

/** The metrics of a gateway. No label ever holds a key, a key's id or an address. */
export function createMetrics(
  gateway: OperatedGateway,
  { state, officeRestarts = () => 0, others }: MetricsOptions,
): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  addRequests(registry, gateway)
  addStores(registry, gateway)
  addFleet(registry, gateway)
  addUpstreams(registry, gateway)
  addCertificates(registry, gateway)
  addKeySets(registry, gateway)
  addSpans(registry, gateway)
  counter(registry, 'tollgate_office_restarts_total', {
    help: 'Times that the thread of reports and configurations died or hung, and was replaced',
    read: () => [[officeRestarts()]],
  })
  const reloads = { changed: 0, unchanged: 0, refused: 0 }
  counter(registry, 'tollgate_config_reloads_total', {
    help: 'Reloads of the configuration, by result',
    labels: ['result'],
    read: () => Object.entries(reloads).map(([result, times]) => [times, result]),
  })
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
    reloaded: (result) => reloads[result]++,
  }
}

function addCertificates(registry: Registry, { front }: OperatedGateway): void {
  gauge(registry, 'tollgate_certificate_expires_seconds', {
    help: 'Time until a certificate in use ends; negative after its end',
    labels: ['use'],
    aggregator: 'min',
    *read() {
      for (const { use, leftMs } of front.certificates.ends) yield [leftMs / 1_000, use]
    },
  })
}

function addKeySets(registry: Registry, { front }: OperatedGateway): void {
  gauge(registry, 'tollgate_jwt_keys_age_seconds', {
    help: 'Time since the key set of an issuer was fetched, or since it is tried for the first time',
    labels: ['issuer'],
    aggregator: 'max',
    *read() {
      for (const { settings, ageMs } of front.issuers.states) {
        if (ageMs !== undefined) yield [ageMs / 1_000, settings.issuer]
      }
    },
  })
}

function addStores(registry: Registry, { front: { meters, quotas } }: OperatedGateway): void {
  histogram(registry, 'tollgate_store_duration_seconds', {
    help: 'Time of a decision in Redis; embedded: of writing counters to the file',
    read: () => [[meters.store]],
  })
  counter(registry, 'tollgate_store_errors_total', {
    help: 'Decisions and look-ups that failed because the store was out of reach',
    read: () => [[meters.storeErrors]],
  })
  counter(registry, 'tollgate_store_emptied_total', {
    help: 'Times that the store was found emptied, or another one in its place',
    read: () => [[meters.emptiedStores]],
  })
  gauge(registry, 'tollgate_store_fallback', {
    help: '1 while limits are not decided by the store',
    aggregator: 'max',
    read: () => [[quotas.isReachable ? 0 : 1]],
  })
}

function addFleet(registry: Registry, gateway: OperatedGateway): void {
  const { quotas, stores } = gateway.front
  gauge(registry, 'tollgate_gateways', {
    help: 'Gateways that count in this store: a limit’s share of each while it is out of reach',
    aggregator: 'max',
    read: () => [[quotas.gateways]],
  })
  gauge(registry, 'tollgate_under_way', {
    help: 'Requests of a plan’s callers that this gateway has under way, where these are limited',
    labels: ['plan'],
    aggregator: 'sum',
    *read() {
      const none = plansWithPlaces(gateway.config).map((plan) => [plan, 0] as const)
      for (const [plan, count] of new Map([...none, ...quotas.placesByPlan()])) yield [count, plan]
    },
  })
  gauge(registry, 'tollgate_configs_in_force', {
    help: 'Different configurations that the gateways of this store run; 1 is well',
    aggregator: 'max',
    read: () => [[stores.fleet.configs]],
  })
}
