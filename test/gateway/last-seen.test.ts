import t from 'tap'
import { usedIn } from '../../gateway/front/limits/counters.ts'
import { remembered } from '../../gateway/front/limits/last-seen.ts'
import { newQuota } from '../../gateway/front/limits/quota-state.ts'
import { standing } from '../../gateway/front/limits/step.ts'
import { dayWindow } from '../../shared/windows.ts'
import { counted } from '../../gateway/contracts/counters.ts'

t.test(
  'an earlier answer doesn’t lower what is known of a day whose month another one has begun',
  (t) => {
    const nowMs = Date.UTC(2026, 5, 15, 12)
    const limits = { perMinute: 9, perDay: 9 }
    const { seen, ...decision } = standing(newQuota(), { key: 'k', limits }, nowMs)
    // A report of the former month counts in the day alone.
    const answer = (day: number) => ({ ...decision, seen: counted(seen, { day, month: 0 }) })
    const last = remembered(undefined, answer(3))
    t.equal(usedIn(remembered(last, answer(2)), dayWindow), 3)
    t.equal(usedIn(remembered(last, answer(4)), dayWindow), 4)
    t.end()
  },
)
