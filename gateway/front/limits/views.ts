import { endIso } from '../../../shared/times.ts'
import type { Ban } from './store.ts'
import { windows, type Standing } from './headers.ts'

/** A ban as operators are told of it. */
export function banView({ key, name, untilMs }: Pick<Ban, 'key' | 'untilMs'> & { name?: string }) {
  return { id: key, name, until: endIso(untilMs) }
}

/** How a caller stands: what it is told itself at the quota path, and an operator by its key. */
export function standingView(plan: string, standing: Standing) {
  const { strikes, bannedUntilMs } = standing.decision
  const { minute, day } = windows(standing.decision, standing.limits)
  return {
    plan,
    minute: windowView(minute),
    day: windowView(day),
    strikes,
    bannedUntil: bannedUntilMs > 0 ? Math.ceil(bannedUntilMs / 1000) : null,
  }
}

function windowView(window: ReturnType<typeof windows>['minute']) {
  if (!window) return null
  const { limit, remaining, resetMs } = window
  return { limit, remaining, reset: Math.ceil(resetMs / 1000) }
}
