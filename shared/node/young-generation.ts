import { getHeapSpaceStatistics } from 'node:v8'
import { letYoungGenerationGrow, major } from './v8-flags.ts'

/**
 * The part of the young generation for each request under way. One of 8 MB costs 1.02 times the CPU time while 200
 * requests wait for a backend, and 1.4 times while 400 do, because objects that don't fit in move to the old generation.
 */
const requestBytes = 40 * 1_024

/**
 * The least size, in MB, by the major version of Node; on others V8 decides. With a quick backend, a forwarded request takes
 * 9 % less time on Node 24 with 16 than with 8, and 5 % less on Node 26.
 */
const leastMb: Readonly<Record<string, number>> = { 22: 8, 24: 16, 26: 16 }

const lookEveryMs = 500
/** V8 grows it twofold, as often as it collects: a late look lets it grow once more. */
const lookEveryMsWhileItGrows = 20

/**
 * Lets V8's young generation, the half that new objects take, grow as far as the requests under way need it. V8 itself
 * grows it to 16 MB, on Node 24 to 64, whatever waits: twice that is memory of the process.
 */
export function sizeYoungGeneration(underWay: () => number): void {
  const mb = leastMb[major]
  if (mb === undefined) return
  const least = mb * 1_000_000
  const look = (): void => {
    const isTooSmall = youngBytes() < Math.max(least, underWay() * requestBytes)
    letYoungGenerationGrow(isTooSmall)
    setTimeout(look, isTooSmall ? lookEveryMsWhileItGrows : lookEveryMs).unref()
  }
  look()
}

/** The size of the young generation. */
export function youngBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return space ? space.space_used_size + space.space_available_size : 0
}
