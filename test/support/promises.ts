import { appendFileSync } from 'node:fs'
import type { Test } from 'tap'

/** Whether the long form runs: `npm run faults`. */
export const isLong = process.env['FAULTS'] === 'long'

/** A bound of time: what `npm test` shares its processors with may make it wait for longer. */
export function bound(milliseconds: number): number {
  return isLong ? milliseconds : milliseconds * 5 + 50
}

/** A promise to users, what was seen of it, and whether it was held; `npm run faults` makes a table of them. */
export function held(t: Test, promise: string, seen: string, isHeld: boolean): void {
  t.ok(isHeld, `${promise}: ${seen}`)
  const file = process.env['FAULTS_FILE']
  if (file) appendFileSync(file, `${JSON.stringify({ promise, seen, held: isHeld })}\n`)
}
