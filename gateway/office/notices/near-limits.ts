import { whole, type NearLimit } from '../../front/counts/near-limits.ts'
import { dayMs } from '../../front/limits/step.ts'
import { noticedKey, noticeOf, type NewNotice } from '../../front/records/notice.ts'
import type { Outbox } from './outbox.ts'

/** The percentages of a day that some address wants to hear of, rising. */
export function watchedPercents(outbox: Outbox, percents: readonly number[]): number[] {
  const near = outbox.wants('key.near_limit') ? percents : []
  const full = outbox.wants('key.limit_reached') ? [whole] : []
  return [...near.filter((percent) => percent < whole), ...full]
}

/**
 * The notice of a percentage: once a day, quota, percentage and limit. One from a gateway that only found it crossed yields
 * to any other of the same percentage and day.
 */
export function nearLimitNotice({
  caller,
  decision,
  limits,
  percent,
  crosses,
}: NearLimit): NewNotice {
  const { id, name, account, isTest: test, plan, quota } = caller
  const { day } = decision.seen
  const data = {
    key: noticedKey({ id, name, account, test }),
    plan,
    window: 'day',
    percent,
    limit: limits.perDay,
    used: decision.dayUsed,
    resetsAt: new Date((day + 1) * dayMs).toISOString(),
  }
  const type = percent === whole ? 'key.limit_reached' : 'key.near_limit'
  const about = [quota, day, percent]
  const event = { type, parts: [...about, limits.perDay], atMs: decision.nowMs, data } as const
  return noticeOf(event, { mark: about.join(' '), yields: !crosses })
}
