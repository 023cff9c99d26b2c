import type { Upstream } from '../../front/forwarding/upstream.ts'
import { plainCause } from '../../front/stores/redis/name.ts'
import type { Target } from '../../front/forwarding/target.ts'
import type { TargetFigures } from './figures.ts'

/** The targets of the open upstreams, each once: while a configuration changes, two upstreams may share one. */
export function targetFigures(upstreams: readonly Upstream[]): readonly TargetFigures[] {
  const byTarget = new Map<string, TargetFigures>()
  for (const { settings, targets } of upstreams) {
    for (const target of targets) {
      const { origin, isFit, healthSinceMs: sinceMs } = target
      const { name } = settings
      const about = { healthy: isFit, sinceMs, cause: causeOf(target) }
      byTarget.set(`${name} ${origin}`, { upstream: name, target: origin, ...about })
    }
  }
  return [...byTarget.values()]
}

function causeOf({ isFit, refusesSignature, lastFailure }: Target): string {
  if (isFit) return ''
  if (refusesSignature) return 'it refuses our signature'
  return plainCause(lastFailure && new Error(lastFailure.cause))
}
