import type { Registry } from 'prom-client'
import type { OperatedGateway } from '../../office.ts'
import { gauge } from './series.ts'

export function addKeySets(registry: Registry, { front }: OperatedGateway): void {
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
