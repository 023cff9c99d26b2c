import { endIso } from '../../../shared/times.ts'
import type { Ban } from './store.ts'
import { windows, type Standing } from './headers.ts'
import { noticeOf, type NearDay } from './near.ts'
import type { BanRules } from './step.ts'

/** A ban as operators are told of it. */
export function banView({ key, name, untilMs }: Pick<Ban, 'key' | 'untilMs'> & { name?: string }) {
  return { id: key, name, until: endIso(untilMs) }
}

export type BanView = ReturnType<typeof banView>

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

/** How a caller stands, as the quota path tells it: also where strikes become a ban, and whether the day is nearly used up. */
export function ownStandingView(
  plan: string,
  standing: Standing,
  { bans, near }: Readonly<{ bans?: BanRules | undefined; near?: NearDay | undefined }> = {},
) {
  return {
    ...standingView(plan, standing),
    strikesToBan: bans?.strikes ?? null,
    notice: noticeOf(standing, near) ?? null,
  }
}

export type OwnStanding = ReturnType<typeof ownStandingView>

function windowView(window: ReturnType<typeof windows>['minute']) {
  if (!window) return null
  const { limit, remaining, resetMs } = window
  return { limit, remaining, reset: Math.ceil(resetMs / 1000) }
}
