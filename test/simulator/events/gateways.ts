import type { World } from '../world.ts'

/** A gateway reports what it hasn't told the store yet, as every gateway does every four seconds. */
export function settle(world: World): void {
  const { draws, gateways } = world
  if (gateways.length > 0) void draws.oneOf(gateways).quotas.settle()
}

/** A gateway looks whether operators have forgiven something, as every gateway does four times a second. */
export function poll({ draws, gateways }: World): void {
  if (gateways.length > 0)
    void draws
      .oneOf(gateways)
      .stores.poll()
      .catch(() => undefined)
}
