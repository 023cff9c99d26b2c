import type { BanListener } from '../../gateway/front/limits/store.ts'
import type { World } from './world.ts'

/** Tells all gateways that a ban was lifted, a quota reset or points granted. */
export function tellLift(world: World): void {
  publish(world, ({ forgiven }) => forgiven())
}

/** Tells all gateways of a ban. */
export function tellBan(
  world: World,
  ban: Readonly<{ quota: string; key: string; untilMs: number }>,
): void {
  publish(world, ({ banned }) => banned(ban))
}

/** Some gateways get no message. */
function publish(
  { gateways, draws, timeline }: World,
  tell: (listener: BanListener) => void,
): void {
  for (const gateway of gateways) {
    const { isCut, losesAnswers, longestMs } = gateway.way
    if (isCut || (losesAnswers > 0 && draws.onceIn(losesAnswers))) continue
    const hear = (): void => gateway.stores.listeners.forEach(tell)
    timeline.later(() => gateway.isAlive && hear(), draws.below(longestMs + 1))
  }
}
