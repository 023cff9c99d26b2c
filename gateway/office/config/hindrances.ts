import type { Config, TargetSettings } from '../../front/config/config.ts'
import type { Swaps } from '../../front/swaps/swaps.ts'
import { originOf } from '../../front/forwarding/target-url.ts'
import type { Fault } from './preview.ts'

/** Swaps under way that a configuration would take away, while it has the old targets. */
export function hindrances(swaps: Swaps, before: Config, after: Config): readonly Fault[] {
  return [...before.upstreams.values()].flatMap((settings): Fault[] => {
    const { name, swap } = settings
    const next = after.upstreams.get(name)
    const isUnderWay = swaps.see(settings)?.progress?.state === 'moving'
    if (!swap || !isUnderWay || !next || next.swap || isSame(next.targets, swap.to)) return []
    const sentence =
      'has callers at the targets of its swap: keep swap, or write them as its targets, or call it back first ' +
      `(tollgate upstream swap back ${name})`
    return [[['upstreams', name], sentence]]
  })
}

function isSame(some: readonly TargetSettings[], others: readonly TargetSettings[]): boolean {
  const origins = (targets: readonly TargetSettings[]): string =>
    targets
      .map(({ url }) => originOf(url))
      .sort()
      .join()
  return origins(some) === origins(others)
}
