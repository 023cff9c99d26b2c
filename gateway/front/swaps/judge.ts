import { withCommas } from '../../../shared/commas.ts'
import type { BackSettings, SwapSettings } from '../config/config.ts'
import type { SwapProgress, Measure } from './progress.ts'
import type { RoundCounts } from './side-counts.ts'

/** A p95 that is longer by less than this is no reason to go back, however short the old one is. */
const leastDifferenceMs = 5

/** The least number of answers whose p95 says something: among fewer, one slow connection would decide. */
const leastForTimes = 100

/** Whether the new side is so much worse that the swap goes back: a sentence that says why. */
export function reasonToGoBack(
  { old, new: side }: RoundCounts,
  before: Measure | undefined,
  back: BackSettings,
): string | undefined {
  if (side.requests < back.after) return undefined
  const measure = measureOf(old.measure, before, back)
  const share = measure.requests === 0 ? 0 : measure.failures / measure.requests
  // All callers of a step with fewer than that.
  const callers = Math.min(back.callers, side.callers.size)
  if (side.failureShare - share > back.errors && side.failed.size >= callers) {
    return (
      `${percentText(side.failureShare)} of ${withCommas(side.requests)} requests to the new side failed, ` +
      `${percentText(share)} of ${withCommas(measure.requests)} to the old one`
    )
  }
  const p95Ms = side.times.within(0.95)
  const isKnown = Math.min(side.requests, measure.requests) >= leastForTimes
  if (!isKnown || p95Ms === null || measure.p95Ms === null) return undefined
  const isSlower = p95Ms > back.slower * measure.p95Ms && p95Ms - measure.p95Ms >= leastDifferenceMs
  if (!isSlower) return undefined
  return `95 % of the answers of the new side took up to ${p95Ms} ms, those of the old one ${measure.p95Ms} ms`
}

/** The old side as it is now, if it gets enough requests, else as it was in the step before. */
export function measureOf(now: Measure, before: Measure | undefined, back: BackSettings): Measure {
  return now.requests >= back.after || !before ? now : before
}

/** Whether the time of a step is over and the new side was asked often enough for the next one. */
export function isDone(
  progress: SwapProgress,
  { new: side }: RoundCounts,
  { steps, everyMs, back }: SwapSettings,
  nowMs: number,
): boolean {
  const isUnderWay =
    progress.state === 'moving' && !progress.isPaused && progress.step < steps.length
  return isUnderWay && nowMs - progress.sinceMs >= everyMs && side.requests >= back.after
}

export function percentText(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`
}
