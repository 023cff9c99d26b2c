import type { Upstream } from '../../front/forwarding/upstream.ts'
import type { TargetFigures } from './figures.ts'

/** The targets of the open upstreams, each once: while a configuration changes, two upstreams may share one. */
export function targetFigures(upstreams: readonly Upstream[]): readonly TargetFigures[] {
  const byTarget = new Map<string, TargetFigures>()
  for (const { settings, targets } of upstreams) {
    for (const { origin, isFit } of targets) {
      const { name } = settings
      byTarget.set(`${name} ${origin}`, { upstream: name, target: origin, healthy: isFit })
    }
  }
  return [...byTarget.values()]
}
