import { goodWay } from '../network.ts'
import type { World } from '../world.ts'

/** Something fails, or works again. */
export function trouble(world: World): void {
  const { draws, trace, timeline } = world
  const happens = draws.weighted([
    [6, badWay],
    [4, repairWay],
    [3, breakStore],
    [4, repairStore],
    [2, replicate],
    [1, failOver],
    [1, empty],
    [1, killGateway],
    [2, startGateway],
  ])
  const told = happens(world)
  if (told !== undefined) trace.note(`${timeline.nowMs} ${told}`)
}

function badWay({ draws, gateways }: World): string | undefined {
  if (gateways.length === 0) return undefined
  const { name, way } = draws.oneOf(gateways)
  way.isCut = draws.onceIn(6)
  way.losesQuestions = draws.onceIn(3) ? draws.between(2, 12) : 0
  way.losesAnswers = draws.onceIn(3) ? draws.between(2, 12) : 0
  way.doublesAnswers = draws.onceIn(3) ? draws.between(1, 6) : 0
  way.longestMs = draws.oneOf([1, 5, 20, 60, 200])
  return `the way of ${name} is bad: ${Object.values(way).join()}`
}

function repairWay({ draws, gateways }: World): string | undefined {
  if (gateways.length === 0) return undefined
  const { name, way } = draws.oneOf(gateways)
  Object.assign(way, goodWay())
  return `the way of ${name} is good`
}

function breakStore({ draws, door }: World): string | undefined {
  if (door.state !== 'open') return undefined
  door.state = draws.oneOf(['down', 'mute', 'frozen'])
  return `the store is ${door.state}`
}

function repairStore(world: World): string | undefined {
  const { door } = world
  if (door.state === 'open') return undefined
  door.open()
  world.countFleet()
  return 'the store is open'
}

function replicate(world: World): string {
  const { redis } = world
  if (redis.isBehind) {
    redis.catchUp()
    world.happened?.({ what: 'caughtUp' })
    return 'the replica has caught up'
  }
  redis.fallBehind()
  world.happened?.({ what: 'behind' })
  return 'the replica falls behind'
}

function failOver(world: World): string {
  const { redis, draws, door } = world
  door.forget()
  const losses = redis.failOver()
  // Another machine has another clock: earlier by less than the shortest window.
  if (draws.onceIn(2)) redis.skewMs = draws.between(-400, 400)
  world.happened?.({ what: 'failOver' })
  world.noteLosses(losses)
  return `fail-over: ${losses.length} quotas lose writes`
}

function empty(world: World): string {
  world.door.forget()
  const losses = world.redis.empty()
  world.happened?.({ what: 'emptied' })
  world.noteLosses(losses)
  return 'the store has lost everything'
}

function killGateway(world: World): string | undefined {
  const { draws, gateways } = world
  if (gateways.length < 2) return undefined
  const gateway = draws.oneOf(gateways)
  gateway.kill()
  world.gateways = gateways.filter((other) => other !== gateway)
  world.countFleet()
  return `${gateway.name} is killed`
}

function startGateway(world: World): string | undefined {
  if (world.gateways.length >= 4) return undefined
  world.addGateway()
  return `${world.gateways.at(-1)?.name} starts`
}
