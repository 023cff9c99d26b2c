import type { Registry } from 'prom-client'
import type { OperatedGateway } from '../../office.ts'
import { gauge } from './series.ts'

export function addCertificates(registry: Registry, { front }: OperatedGateway): void {
  gauge(registry, 'tollgate_certificate_expires_seconds', {
    help: 'Time until a certificate in use ends; negative after its end',
    labels: ['use'],
    aggregator: 'min',
    *read() {
      for (const { use, leftMs } of front.certificates.ends) yield [leftMs / 1_000, use]
    },
  })
}
