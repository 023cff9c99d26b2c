import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import type { Reloaded, Reloader } from '../config/reload.ts'
import type { Gateway } from '../server.ts'

export type Metrics = Readonly<{
  /** The type and the text of what Prometheus reads. */
  read: () => Promise<{ type: string; text: string }>
  /** A configuration was read again. */
  reloaded: (result: Reloaded) => void
}>

/** What a gateway tells of itself in numbers. No label ever holds a key, a key's id or an address. */
export function createMetrics(gateway: Gateway, state: () => Reloader['state']): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const reloads = new Counter({
    name: 'tollgate_config_reloads_total',
    help: 'Times the configuration was read again, by what came of it',
    labelNames: ['result'] as const,
    registers,
  })
  new Gauge({
    name: 'tollgate_config_info',
    help: 'Which configuration is in force; always 1',
    labelNames: ['hash'] as const,
    registers,
    collect() {
      this.reset()
      this.set({ hash: state().hash }, 1)
    },
  })
  new Gauge({
    name: 'tollgate_store_fallback',
    help: '1 while limits are not decided by the store',
    registers,
    collect() {
      this.set(gateway.core.quotas.isReachable ? 0 : 1)
    },
  })
  new Gauge({
    name: 'tollgate_upstream_healthy',
    help: 'Whether a target is fit to be asked',
    labelNames: ['upstream', 'target'] as const,
    registers,
    collect() {
      this.reset()
      for (const [upstream, settings] of gateway.config.upstreams) {
        for (const { origin, isHealthy } of gateway.core.upstreams.see(settings)?.targets ?? []) {
          this.set({ upstream, target: origin }, isHealthy ? 1 : 0)
        }
      }
    },
  })
  return {
    read: async () => ({ type: registry.contentType, text: await registry.metrics() }),
    reloaded: (result) => reloads.inc({ result }),
  }
}
