import { whole, type NearLimit } from '../../front/counts/near-limits.ts'
import { numberOf } from '../../front/limits/counters.ts'
import { leftIn } from '../../front/limits/purse.ts'
import { usedBy } from '../../front/limits/step.ts'
import { dayWindow, endsAtMs } from '../../../shared/windows.ts'
import { noticedKey, noticeOf, type NewNotice } from '../../front/records/notice.ts'
import type { Outbox } from './outbox.ts'

/** The percentages of a window that some address wants to hear of, rising. */
export function watchedPercents(outbox: Outbox, percents: readonly number[]): number[] {
  const near = outbox.wants('key.near_limit') ? percents : []
  const full = outbox.wants('key.limit_reached') ? [whole] : []
  return [...near.filter((percent) => percent < whole), ...full]
}

/** The notices that aren't about a percentage. */
const types = {
  beyond: 'quota.beyond',
  low: 'quota.prepaid_low',
  empty: 'quota.prepaid_empty',
} as const

/**
 * The notice of a percentage, or of the first points beyond what is included: once a window, quota, percentage and limit. One from a gateway that only found it crossed yields
 * to any other of the same percentage and window.
 */
export function nearLimitNotice(near: NearLimit): NewNotice {
  const { caller, decision, window, percent, limit, crosses } = near
  const { id, name, account, isTest: test, plan, quota } = caller
  const number = numberOf(decision.seen, window)
  const purse = percent === 'low' || percent === 'empty' ? decision.purse : undefined
  const used = {
    ...(percent === 'beyond' ? { included: limit } : { percent, limit }),
    used: usedBy(decision, window),
    resetsAt: new Date(endsAtMs(window, number)).toISOString(),
  }
  const data = {
    key: noticedKey({ id, name, account, test }),
    plan,
    window: window.name,
    ...(purse ? { left: leftIn(purse), lastTopUp: limit } : used),
  }
  const type =
    typeof percent === 'string'
      ? types[percent]
      : percent === whole
        ? 'key.limit_reached'
        : 'key.near_limit'
  // A day's has the parts that it always had: another name would send it again.
  const about = purse
    ? [quota, 'prepaid', purse.topUps, percent]
    : [quota, ...(window === dayWindow ? [] : [window.name]), number, percent]
  const event = { type, parts: [...about, limit], atMs: decision.nowMs, data } as const
  return noticeOf(event, { mark: about.join(' '), yields: !crosses })
}
