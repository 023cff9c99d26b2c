import { setFlagsFromString } from 'node:v8'
import { sizeYoungGeneration, youngBytes } from '../../shared/node/v8-flags.ts'

// Allocates much and keeps some, first with no requests under way and then with many, in a process of its own. Prints
// the size of V8's young generation after each, in MB.

// Objects that live long would be made outside of it.
setFlagsFromString('--no-allocation-site-pretenuring')

let underWay = 0
sizeYoungGeneration(() => underWay)

/** Allocates until the young generation has some size, or for a second. */
async function allocate(untilMb = Infinity): Promise<number> {
  const kept: object[] = []
  let next = 0
  const until = performance.now() + (untilMb === Infinity ? 1_000 : 30_000)
  while (performance.now() < until && mb() < untilMb) {
    for (let i = 0; i < 200_000; i++) kept[(next = (next + 1) % 1_000_000)] = { i }
    await new Promise((go) => setTimeout(go, 5))
  }
  return mb()
}

function mb(): number {
  return youngBytes() / 1_000_000
}

const idle = await allocate()
underWay = 2_000
const busy = await allocate(1.9 * idle)
process.stdout.write(JSON.stringify({ idle, busy }))
process.exit(0)
