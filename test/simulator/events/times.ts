import {
  dayMs,
  dayWindow,
  hourMs,
  minuteMs,
  numberAt,
  windowOf,
  endsAtMs,
  type WindowName,
} from '../../../shared/windows.ts'
import type { World } from '../world.ts'

/** Time passes at once: a while, or to about the end of a window. What was under way comes late. */
export function leap(world: World): void {
  const { draws, timeline, trace, redis } = world
  const { nowMs } = redis
  const toEndOf = (name: WindowName): number => {
    const window = windowOf(name)
    const monthFrom = draws.onceIn(2)
      ? 1
      : world.bookOf(draws.oneOf(world.customers).quota).monthFrom
    return endsAtMs(window, numberAt(window, nowMs, monthFrom)) - nowMs
  }
  const aboutMs = draws.weighted([
    [6, toEndOf('minute')],
    [3, toEndOf('hour')],
    [3, toEndOf('day')],
    [1, toEndOf('week')],
    [1, toEndOf('month')],
    [2, draws.between(1, 59) * 1_000],
    [1, draws.between(1, 5) * minuteMs],
    [1, draws.between(1, 23) * hourMs],
    [1, draws.between(1, 4) * dayMs],
  ])
  timeline.nowMs += Math.max(0, aboutMs + draws.between(-30, 30))
  trace.note(`${timeline.nowMs} is reached, day ${numberAt(dayWindow, timeline.nowMs)}`)
}
