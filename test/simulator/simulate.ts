import { settle, poll } from './events/gateways.ts'
import { operate, topUp } from './events/operators.ts'
import { look, lookAtPurses, request } from './events/requests.ts'
import { strangers } from './events/strangers.ts'
import { leap } from './events/times.ts'
import { trouble } from './events/troubles.ts'
import { goodWay } from './network.ts'
import type { Violation, WorldOptions } from './happening.ts'
import { World } from './world.ts'

export type Simulated = Readonly<{
  seed: number
  /** The steps that were done: fewer than asked for, if an invariant was violated. */
  steps: number
  questions: number
  violation: Violation | undefined
  /** A hash of all events. */
  trace: string
  /** The latest events. */
  lines: readonly string[]
}>

/** How often each event happens, beside the others. */
const events = [
  [100, request],
  [4, look],
  [8, settle],
  [8, poll],
  [10, strangers],
  [4, operate],
  [4, topUp],
  [8, trouble],
  [3, leap],
] as const

/** Once in so many events everything is repaired, and the books are closed. */
const quietOnceIn = 400

/** How often gateways report at least, and at most, before they have told everything. */
const [fewestRounds, mostRounds] = [6, 200]

/** How long it takes at most until nothing is under way any more. */
const longestRepairMs = 600_000

const neverQuiet: Violation = {
  name: 'in the end everything is over',
  mistake: `${longestRepairMs} ms after everything was repaired, something is still under way`,
}

/** Runs a world of a seed for some steps, each an event, or something that arrives or is over. */
export async function simulate(
  seed: number,
  steps: number,
  options: WorldOptions = {},
): Promise<Simulated> {
  const world = new World(seed, options)
  const { timeline } = world
  let [rounds, quietByMs] = [0, Infinity]
  const plan = (): void => void timeline.later(happen, gapMs(world))
  const happen = (): void => {
    if (world.draws.onceIn(quietOnceIn)) {
      // Nothing happens from here on until everything that is under way is over.
      repairAll(world)
      quietByMs = timeline.nowMs + longestRepairMs
    } else {
      world.draws.weighted(events)(world)
      plan()
    }
  }
  plan()
  let done = 0
  while (done < steps && !world.violation) {
    if (timeline.nowMs > quietByMs) world.violation = neverQuiet
    else if (!timeline.next()) {
      const isTold = world.gateways.every(({ offline }) => offline.unsettled().length === 0)
      if (rounds++ < (isTold ? fewestRounds : mostRounds)) {
        for (const { quotas } of world.gateways) void quotas.settle()
        lookAtPurses(world)
      } else {
        ;[rounds, quietByMs] = [0, Infinity]
        world.closeBooks()
        plan()
      }
    }
    done++
    await turn()
  }
  const { questions, violation, trace } = world
  for (const gateway of world.gateways) gateway.kill()
  return { seed, steps: done, questions, violation, trace: trace.hash, lines: trace.lines }
}

function repairAll(world: World): void {
  for (const { way } of world.gateways) Object.assign(way, goodWay())
  world.door.open()
  world.countFleet()
}

/** Mostly much happens at once. */
function gapMs({ draws }: World): number {
  return draws.weighted([
    [8, draws.below(4)],
    [4, draws.below(60)],
    [1, draws.below(2_000)],
  ])
}

/** The end of the turn of the loop: all promises have been gone through by then, in their order. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
