import t from 'tap'
import type { QuotaDay } from '../../gateway/front/counts/peak-store.ts'
import { Peaks } from '../../gateway/front/counts/peaks.ts'
import { Caller } from '../../gateway/front/keys/caller.ts'
import { ConfiguredPlans } from '../../gateway/front/keys/terms.ts'
import type { Limits } from '../../gateway/front/limits/limits.ts'
import type { BanRules } from '../../gateway/front/limits/conduct.ts'
import { newQuota } from '../../gateway/front/limits/quota-state.ts'
import { step } from '../../gateway/front/limits/step.ts'
import { shadowOf } from '../../gateway/front/limits/shadow.ts'
import { Refusal } from '../../shared/refusal.ts'
import { newKey } from '../contracts/keys.ts'

const nowMs = Date.UTC(2026, 10, 20, 12)

/** Peaks of one caller, whose plan may change. */
function counting() {
  const lines: QuotaDay[] = []
  const peaks = new Peaks({ add: (batch) => Promise.resolve(void lines.push(...batch.lines)) })
  const caller = new Caller('tg_1', { key: newKey({ plan: 'free' }), version: 1 })
  const state = newQuota()
  const termsOf = (limits: Limits, shadow?: Limits) => {
    const plan = { name: 'free', limits, bans: false, shadow: shadow && shadowOf('free', shadow) }
    const plans = new Map([['free', plan]])
    return new ConfiguredPlans({ plans, bans: {} as BanRules, nearPercents: [] }).termsFor(caller)
  }
  const count = (terms = termsOf({ perMinute: 9, perDay: 99 }), refusal?: Refusal) => {
    if (!terms) throw new Error('the plan has limits')
    const ask = { key: caller.id, cost: 1, limits: terms.limits, countsBrief: terms.countsBrief }
    const decision = step(state, ask, nowMs)
    const standing = { decision, limits: terms.limits }
    const refusedBy = refusal && 'minute'
    peaks.count({ caller, record: { terms, refusal }, standing, refusedBy })
  }
  const written = async () => {
    await peaks.write()
    return lines.splice(0).map(({ most, refused }) => ({ most, refused }))
  }
  return { count, termsOf, written }
}

t.test('optional windows are recorded where a plan limits or shadows them', async (t) => {
  const { count, termsOf, written } = counting()
  const usual = { perMinute: 9, perDay: 99 }
  count(termsOf(usual))
  t.strictSame(await written(), [{ most: { minute: 1, day: 1 }, refused: {} }])
  count(termsOf({ ...usual, perMonth: 999 }, { ...usual, perSecond: 5 }))
  t.strictSame(await written(), [{ most: { second: 1, minute: 2, day: 2, month: 2 }, refused: {} }])
  count(termsOf(usual))
  count(termsOf({ ...usual, perHour: 50 }))
  t.strictSame(
    await written(),
    [
      { most: { minute: 3, day: 3 }, refused: {} },
      { most: { minute: 4, hour: 4, day: 4 }, refused: {} },
    ],
    'other limits begin another count, and none is lost',
  )
})

t.test(
  'what the limit of an operation or a cap refuses counts for no limit of the quota',
  async (t) => {
    const { count, termsOf, written } = counting()
    const terms = termsOf({ perMinute: 9, perDay: 99 })
    const refusal = () => new Refusal('rate_limit_exceeded', 'All are used up.')
    count(terms, refusal().because('minute', undefined, 'minute'))
    const ofOperation = refusal().because('minute', undefined, 'minute')
    ofOperation.of = 'operation GET /v1/pets'
    count(terms, ofOperation)
    t.strictSame(await written(), [{ most: { minute: 2, day: 2 }, refused: { minute: 1 } }])
  },
)
