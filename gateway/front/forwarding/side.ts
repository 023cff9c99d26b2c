import type { HealthSettings, TargetSettings } from '../config/config.ts'
import { HealthWatch } from './health.ts'
import type { Target, TargetOptions } from './target.ts'

export type SideOptions = Readonly<{
  settings: readonly TargetSettings[]
  health: HealthSettings
  make: MakeTarget
  /** Hears of changes of health. */
  healthChanged: TargetOptions['changed']
}>

/** Makes a target that tells of its health. */
export type MakeTarget = (
  settings: TargetSettings,
  about: Pick<TargetOptions, 'changed' | 'suspected'>,
) => Target

/** Targets that share requests by weight: those of an upstream, or those that a swap leads to. */
export class Side {
  readonly targets: readonly Target[]
  readonly #watches: readonly HealthWatch[]

  constructor(options: SideOptions) {
    const { settings, health, make, healthChanged } = options
    const about: Pick<TargetOptions, 'changed' | 'suspected'> = {
      changed: (target, cause) => {
        this.#watches.forEach((watch) => watch.schedule())
        healthChanged(target, cause)
      },
      suspected: (target, cause) => this.#watches[this.targets.indexOf(target)]?.suspect(cause),
    }
    this.targets = settings.map((target) => make(target, about))
    this.#watches = this.targets.map(
      (target) => new HealthWatch(target, health, () => this.#isLastHealthy(target)),
    )
    this.#watches.forEach((watch) => watch.schedule())
  }

  /** The next target by weighted round robin: each gains its weight as credit, and the richest pays the sum. */
  choose(tried: readonly Target[]): Target | undefined {
    let best: Target | undefined
    let weights = 0
    for (const target of this.targets) {
      if (!target.isHealthy || tried.includes(target)) continue
      weights += target.weight
      target.turn += target.weight
      if (!best || target.turn > best.turn) best = target
    }
    if (best) best.turn -= weights
    return best
  }

  /** Ends the checks. */
  stop(): void {
    this.#watches.forEach((watch) => watch.stop())
  }

  #isLastHealthy(target: Target): boolean {
    return !this.targets.some((other) => other !== target && other.isHealthy)
  }
}
