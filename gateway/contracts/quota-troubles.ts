import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Owed } from '../front/limits/quota-state.ts'
import type { Decision } from '../front/limits/step.ts'
import { numberOf, unanswered, usedIn } from '../front/limits/counters.ts'
import type { Limits } from '../front/limits/limits.ts'
import { usedBy } from '../front/limits/step.ts'
import { dayMs, dayWindow, hourMs, windows } from '../../shared/windows.ts'
import { counted } from './counters.ts'
import { withoutSecond } from './quota-model.ts'
import { TroublesModel } from './troubles-model.ts'
import { start, type Declare, type TriedStore } from './tried-quotas.ts'

/**
 * The part of the contract of `QuotaStore` that holds it against a model while things go wrong: the clock is set back,
 * gateways know more than the store, tell it what they admitted without it, and estimate its time too early.
 */
export function troublesContract(test: Declare, tried: TriedStore, stories: number): void {
  const { setTime, newName, ask, usedOn } = tried
  test('does what the model does, whatever goes wrong', async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 1, maxLength: 60, size: 'max' }),
        async (events) => {
          // One stands for the other after lost writes: each knows only a part of the story.
          const newQuota = () => ({ name: newName(), model: new TroublesModel() })
          const quotas = [newQuota(), newQuota()] as const
          let now = start + ++runs * dayMs * 3
          let [latest, reports] = [now, 0]
          let adjustments = 0
          let known: Decision | undefined
          let lastReport: Owed | undefined
          for (const happens of events) {
            const { name, model } = quotas[happens.which]
            const asked = async (
              cost: number,
              limits: Limits,
              more: Parameters<TroublesModel['ask']>[3] & { atMs?: number } = {},
            ) => {
              const decision = await ask(name, { cost, limits, ...more })
              same(decision, model, model.ask(now, cost, limits, more), limits)
              return decision
            }
            now += happens.afterMs
            latest = Math.max(now, latest)
            setTime(now)
            if (happens.what === 'reopen') {
              // A store forgets the quotas whose windows have ended.
              for (const each of quotas) await counts(each, now)
              await tried.reopen()
              // Without an outage of the store no report is repeated.
              lastReport = undefined
            } else if (happens.what === 'back') {
              // Only what was counted is kept everywhere.
              for (const each of quotas) await counts(each, now)
              now = Math.max(now - happens.backMs, latest - hourMs + 1)
              setTime(now)
              for (const each of quotas) await counts(each, now)
            } else if (happens.what === 'reset') {
              await tried.store.reset(name)
              model.reset(now)
            } else if (happens.what === 'month') {
              await tried.store.setMonthFrom(name, happens.monthFrom)
              model.setMonthFrom(happens.monthFrom, now)
            } else if (happens.what === 'grant') {
              await tried.store.grant(name, { ...happens.points, by: 'a' })
              model.grant(happens.points, now)
            } else if (happens.what === 'adjust' && known) {
              const seen = happens.knows ? known.seen : undefined
              const admission = { counters: known.seen, seen, included: known.included }
              const numbered = { by: 'gateway', number: ++adjustments, from: adjustments }
              const adjust = () =>
                tried.store.adjust(name, happens.adjustment, { ...admission, numbered })
              let counters = await adjust()
              model.adjust(happens.adjustment, admission, now)
              // The answer was late: a store elsewhere is asked again.
              if (happens.notes && !tried.store.isLocal) counters = await adjust()
              assert.equal(usedIn(counters, dayWindow) - model.used('day'), 0)
            } else {
              const { cost, least, tells, earlyMs } = happens
              const limits = cost + least > 0 ? happens.limits : withoutSecond(happens.limits)
              const included = happens.includes ? { ...unlimited, ...happens.includes } : undefined
              const seen = happens.knows && known ? { ...known.seen, bannedUntilMs: 0 } : undefined
              const [minute, hour, day, week, month] = happens.owes
              if (tells === 'new' && known) {
                const counts = { minute, hour: minute + hour, day: day + minute + hour }
                const back = { hour, day: day + hour, week, month }
                lastReport = {
                  ...counted(
                    known.seen,
                    { second: 0, ...counts, week: counts.day + week, month: counts.day + month },
                    { back },
                  ),
                  ...{ by: 'gateway', number: ++reports, included },
                }
              }
              const owed = tells === 'nothing' ? undefined : lastReport
              const decision = await asked(cost, limits, {
                ...(least > 0 ? { least } : {}),
                ...(included ? { included } : {}),
                ...(seen ? { seen, atMs: now - earlyMs } : {}),
                ...(owed ? { owed } : {}),
              })
              if (happens.notes) known = decision
            }
          }
          const today = Math.floor(now / dayMs)
          const [{ name, model }] = quotas
          for (const day of [today + 1, today, today - 1]) {
            const { points, beyond } = await usedOn(name, day)
            const [found, expected] = [
              `${points} points, ${beyond} beyond`,
              `${model.pointsOn(day)} points, ${model.beyondOn(day)} beyond`,
            ]
            if (found !== expected) throw new Error(`${found} are not ${expected}`)
          }

          async function counts(quota: (typeof quotas)[number], at: number): Promise<void> {
            const decision = await ask(quota.name, { cost: 1, limits: unlimited })
            same(decision, quota.model, quota.model.ask(at, 1, unlimited, {}), unlimited)
          }
        },
      ),
      { numRuns: stories },
    )
  })
}

const unlimited = { perMinute: Infinity, perDay: Infinity }

function same(decision: Decision, model: TroublesModel, verdict: string, limits: Limits): void {
  const shown = windows.filter(({ isBrief, limit }) => !isBrief || limits[limit] !== undefined)
  const seen = [
    decision.verdict,
    decision.seen.generation,
    ...shown.map((window) => `${window.name} ${usedBy(decision, window)}`),
    ...shown.map((window) => numberOf(decision.seen, window)),
    ...shown.map(({ limit }) => decision.granted?.[limit] ?? 0),
  ]
  const expected = [
    verdict,
    model.generation,
    ...shown.map(({ name }) => `${name} ${model.used(name)}`),
    ...shown.map(({ name }) => model.windows[name].number),
    ...shown.map(({ name }) => model.granted(name)),
  ]
  if (String(seen) !== String(expected)) throw new Error(`${seen.join()} is not ${expected.join()}`)
}

const few = fc.integer({ min: 0, max: 3 })
const limit = fc.integer({ min: 1, max: 12 })
const optional = fc.option(limit, { nil: undefined, freq: 2 })
const required = fc.oneof(
  { weight: 3, arbitrary: limit },
  { weight: 1, arbitrary: fc.constant(Infinity) },
)

const event = fc.record({
  which: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0 as const) },
    { weight: 1, arbitrary: fc.constant(1 as const) },
  ),
  afterMs: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(0, 1, 400) },
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
    { weight: 2, arbitrary: fc.constantFrom(59_999, 60_000, 300_000, hourMs - 1, dayMs) },
    { weight: 1, arbitrary: fc.constantFrom(3 * dayMs, 7 * dayMs, 17 * dayMs, 31 * dayMs - 1) },
  ),
  what: fc.oneof(
    { weight: 60, arbitrary: fc.constant('ask') },
    { weight: 4, arbitrary: fc.constantFrom('reset', 'month', 'back') },
    { weight: 6, arbitrary: fc.constantFrom('grant', 'adjust') },
    { weight: 1, arbitrary: fc.constant('reopen') },
  ),
  adjustment: fc.oneof(
    fc.record({ points: fc.integer({ min: -4, max: 6 }), isAnswered: fc.constant(true) }),
    fc.integer({ min: 0, max: 4 }).map(unanswered),
  ),
  backMs: fc.constantFrom(1, 50, 3_000, 90_000, hourMs - 1_000),
  points: fc.constantFrom({ perDay: 3 }, { perHour: 4 }, { perHour: 1, perDay: 2 }, { perWeek: 3 }),
  monthFrom: fc.integer({ min: 1, max: 28 }),
  // Whether a gateway asks that has asked before, and whether it is the one that asks next.
  knows: fc.boolean(),
  notes: fc.boolean(),
  tells: fc.oneof(
    { weight: 5, arbitrary: fc.constant('nothing') },
    { weight: 2, arbitrary: fc.constantFrom('new', 'again') },
  ),
  owes: fc.tuple(few, few, few, few, few),
  earlyMs: fc.constantFrom(0, 0, 10, 3_000),
  cost: fc.oneof(
    { weight: 5, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 }) },
  ),
  least: fc.oneof(
    { weight: 5, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) },
  ),
  includes: fc.option(
    fc.oneof(
      fc.record({ perDay: few }),
      fc.record({ perDay: few, perMonth: limit }),
      fc.record({ perWeek: few }),
    ),
    { nil: undefined, freq: 2 },
  ),
  limits: fc.record({
    perSecond: fc.option(limit, { nil: undefined, freq: 1 }),
    perMinute: required,
    perHour: optional,
    perDay: required,
    perWeek: optional,
    perMonth: optional,
  }),
})
