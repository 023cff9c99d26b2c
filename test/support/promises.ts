import { appendFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import type { Test } from 'tap'
import type { Asked, Traffic } from './traffic.ts'
import { until } from './until.ts'

/** Whether the long form runs: `npm run faults`. */
export const isLong = process.env['FAULTS'] === 'long'

/** The longest bound that load alone makes: a test that waits for longer is stuck. */
const longestMs = 240_000

/** A bound of time: what `npm test` shares its processors with may make it wait for longer, by how much of it there is. */
export function bound(milliseconds: number): number {
  if (isLong) return milliseconds
  const [load = 0] = loadavg()
  const byLoad = Math.min(longestMs, (milliseconds * 2 * load) / availableParallelism())
  return Math.max(5 * milliseconds, byLoad) + 50
}

/** A promise to users, what was seen of it, and whether it was held; `npm run faults` makes a table of them. */
export function held(t: Test, promise: string, seen: string, isHeld: boolean): void {
  t.ok(isHeld, `${promise}: ${seen}`)
  const file = process.env['FAULTS_FILE']
  if (file) appendFileSync(file, `${JSON.stringify({ promise, seen, held: isHeld })}\n`)
}

/**
 * How long requests take: nearly all of them in the long form. Beside other tests, where anything may
 * stall, the fastest fifth, which tells as well whether each waits for something.
 */
export function usualWait(asked: readonly Asked[]): number {
  return timeOf(asked, isLong ? 0.99 : 0.2)
}

/**
 * The requests since a time, or, in the short form, the last of them: where others have the processors nothing is quick
 * for a while; a request that waits for something never is.
 */
export async function answered(
  traffic: Traffic,
  fromMs: number,
  usual: number,
): Promise<readonly Asked[]> {
  await traffic.answeredSince(fromMs)
  if (isLong) return traffic.between(fromMs)
  let latest: readonly Asked[] = []
  await until(() => {
    latest = traffic.between(Math.max(fromMs, performance.now() - 600))
    return latest.length > 16 && usualWait(latest) < usual + 30
  })
  return latest
}

/** That requests take hardly longer than they usually do; 40 ms is less than a store is waited for. */
export function heldQuick(
  t: Test,
  promise: string,
  asked: readonly Asked[],
  { usual, most }: Readonly<{ usual: number; most: number }>,
): void {
  const added = usualWait(asked) - usual
  const sign = added < 0 ? '−' : '+'
  const seen = `${isLong ? 'p99' : 'the fastest fifth'} ${sign}${Math.abs(added).toFixed(1)} ms`
  held(t, promise, seen, added < (isLong ? most : 40))
}

/** The time within which a share of what was asked was answered. */
function timeOf(asked: readonly Asked[], share: number): number {
  const times = asked.map(({ ms }) => ms).sort((a, b) => a - b)
  return times[Math.floor(times.length * share)] ?? NaN
}
