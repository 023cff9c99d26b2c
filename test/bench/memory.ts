import { addKeys, get, newTokens } from './callers.ts'
import { load } from './load.ts'
import type { Say, Settings } from './measure.ts'
import { memoryOf, started } from './server.ts'
import { withStage, type Stage } from './stage.ts'
import { tableOf, whole } from './tables.ts'

const keyCounts = [10_000, 100_000]
const points = 5

type Point = Readonly<{ keys: number; requests: number; mb: number }>

/** Measures what an embedded gateway takes of memory when all its keys have asked, and later. */
export async function benchMemory(
  settings: Settings,
  say: Say,
  progress: Say,
): Promise<readonly Point[]> {
  const all: Point[] = []
  await withStage(async (stage) => {
    for (const keys of keyCounts) all.push(...(await pointsOf(keys, stage, settings, progress)))
  })
  const table = tableOf(all, [
    ['keys that have asked', ({ keys }) => whole(keys)],
    ['requests since', ({ requests }) => whole(requests)],
    ['memory, MB', ({ mb }) => mb.toFixed(0)],
  ])
  say(`\n${table}`)
  return all
}

async function pointsOf(
  keys: number,
  stage: Stage,
  { rounds, connections }: Settings,
  progress: Say,
): Promise<Point[]> {
  // Ten million with the usual fifteen rounds.
  const step = Math.round((10_000_000 * rounds) / 15 / points)
  const tokens = newTokens(keys)
  const gateway = stage.gateway(`memory-${keys}`)
  await gateway.within((stores) => addKeys(stores, tokens))
  const request = get(...tokens)
  const { url, pid, end } = await started(gateway.server)
  const all: Point[] = []
  try {
    for (let point = 0; point <= points; point++) {
      const atLeast = point === 0 ? keys : step
      await load({ url, connections, seconds: 0, atLeast, request })
      all.push({ keys, requests: point * step, mb: memoryOf(pid) })
      progress(`${whole(keys)} keys, ${whole(point * step)} requests: ${whole(memoryOf(pid))} MB`)
    }
  } finally {
    await end()
  }
  return all
}
