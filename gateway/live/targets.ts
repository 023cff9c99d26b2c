import type { Upstream } from '../forwarding/upstream.ts'
import type { ToldTarget } from './told.ts'

/** The targets of the open upstreams, each once: while a configuration changes, two upstreams may share one. */
export function targetsAsTold(upstreams: readonly Upstream[]): readonly ToldTarget[] {
  const found = new Map<string, ToldTarget>()
  for (const { settings, targets } of upstreams) {
    for (const { origin, isFit } of targets) {
      const { name } = settings
      found.set(`${name} ${origin}`, { upstream: name, target: origin, healthy: isFit })
    }
  }
  return [...found.values()]
}
