import type { Registry } from 'prom-client'
import type { OperatedGateway } from '../../office.ts'
import { counter, gauge, histogram } from './series.ts'

export function addStores(
  registry: Registry,
  { front: { meters, quotas } }: OperatedGateway,
): void {
  histogram(registry, 'tollgate_store_duration_seconds', {
    help: 'Time of a decision in Redis; embedded: of writing counters to the file',
    read: () => [[meters.store]],
  })
  counter(registry, 'tollgate_store_errors_total', {
    help: 'Decisions and look-ups that failed because the store was out of reach',
    labels: [],
    read: () => [[meters.storeErrors]],
  })
  counter(registry, 'tollgate_store_emptied_total', {
    help: 'Times that the store was found emptied, or another one in its place',
    labels: [],
    read: () => [[meters.emptiedStores]],
  })
  gauge(registry, 'tollgate_store_fallback', {
    help: '1 while limits are not decided by the store',
    aggregator: 'max',
    read: () => [[quotas.isReachable ? 0 : 1]],
  })
}

export function addFleet(registry: Registry, { front: { quotas, stores } }: OperatedGateway): void {
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
