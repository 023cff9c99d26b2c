import { median } from './measure.ts'

const pieces = 20

/**
 * How steady the machine is: a piece of work that is always the same, timed again and again. On a quiet
 * machine the middle of the times is the least of them; what takes longer was taken by neighbours.
 */
export function noise(): { least: number; middle: number; most: number } {
  const times = Array.from({ length: pieces }, work)
  return { least: Math.min(...times), middle: median(times), most: Math.max(...times) }
}

function work(): number {
  const begun = performance.now()
  let sum = 0
  for (let i = 0; i < 20_000_000; i++) sum = (sum + i * 31) % 1_000_003
  return performance.now() - begun + (sum < 0 ? 1 : 0)
}
