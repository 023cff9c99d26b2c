import assert from 'node:assert/strict'
import fc from 'fast-check'
import { newCounters, unanswered } from '../front/limits/counters.ts'
import type { Limits } from '../front/limits/limits.ts'
import { usedBy, type Decision } from '../front/limits/step.ts'
import {
  byWindow,
  dayMs,
  windows,
  type LimitName,
  type Window,
  type WindowName,
} from '../../shared/windows.ts'
import { numbersOf } from './counters.ts'
import { rules, start, type Declare, type TriedStore } from './tried-quotas.ts'
import { match } from './contract.ts'

/** The part of the contract of `QuotaStore` that holds it against a model, in stories by chance. */
export function modelContract(test: Declare, tried: TriedStore, stories: number): void {
  const { setTime, newName, ask, pointsOf } = tried
  test('does what the model does, whatever happens', async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 60 }), async (events) => {
        const quota = newName()
        const model = newModel()
        let now = start + ++runs * dayMs * 3
        let known: Decision | undefined
        let isKnownReset = false
        for (const happens of events) {
          now += happens.afterMs
          setTime(now)
          if (happens.what === 'reopen') await tried.reopen()
          else if (happens.what === 'reset') {
            await tried.store.reset(quota)
            for (const { name } of windows) model.windows[name].used = 0
            isKnownReset = true
          } else if (happens.what === 'month') {
            await tried.store.setMonthFrom(quota, happens.monthFrom)
            rollModel(model, now)
            if (model.monthFrom !== happens.monthFrom) {
              model.monthFrom = happens.monthFrom
              model.windows.month = { id: idAt(model, 'month', now), used: 0 }
            }
          } else if (happens.what === 'giveBack') {
            const seen = known?.seen ?? newCounters()
            await tried.store.adjust(quota, unanswered(happens.cost), {
              counters: { ...newCounters(), ...seen },
            })
            const numbers = numbersOf(seen)
            for (const name of ['hour', 'day', 'week', 'month'] as const) {
              const window = model.windows[name]
              // Points that were admitted before a reset come back to the ledger alone.
              if (isKnownReset || window.id !== numbers[name]) continue
              window.used = Math.max(0, window.used - happens.cost)
            }
            const points = model.points.get(numbers.day) ?? 0
            if (known) model.points.set(numbers.day, Math.max(0, points - happens.cost))
          } else if (happens.what === 'lift') {
            await tried.store.lift(quota, 'k')
            Object.assign(model, { until: 0, bans: 0, strikes: 0, since: 0, refused: 0 })
          } else if (happens.what === 'ban') {
            await tried.store.ban(quota, 'k', now + 7_000)
            Object.assign(model, { until: now + 7_000, strikes: 0, since: 0, refused: 0 })
          } else if (happens.what === 'grant') {
            assert.equal(await tried.store.grant(quota, { ...happens.points, by: 'a' }), true)
            rollModel(model, now)
            const runs = (grant: ModelGrant) => grantedBy(model, grant, now).length > 0
            model.grants = [...model.grants.filter(runs), { atMs: now, ...happens.points }]
          } else {
            const { cost } = happens
            const limits = cost > 0 ? happens.limits : withoutSecond(happens.limits)
            const seen = happens.knows && known ? { ...known.seen, bannedUntilMs: 0 } : undefined
            const decision = await ask(quota, { cost, limits, bans: rules, seen })
            same(decision, model, modelStep(model, cost, limits, now), { limits, now })
            if (!happens.notes) continue
            known = decision
            isKnownReset = false
          }
        }
        const today = Math.floor(now / dayMs)
        for (let day = today; day > today - 3; day--) {
          const [found, expected] = [await pointsOf(quota, day), model.points.get(day) ?? 0]
          if (found !== expected) throw new Error(`${found} points are not ${expected}`)
        }
        // The oldest first; some may be of windows that have ended.
        const run = (grant: ModelGrant) => grantedBy(model, grant, now).length > 0
        const listed = (await tried.store.grants(quota)).filter(run)
        match(listed, model.grants.filter(run))
        assert.equal(listed.length, model.grants.filter(run).length)
      }),
      { numRuns: stories },
    )
  })
}

type ModelGrant = Readonly<{ atMs: number } & Partial<Record<LimitName, number>>>

type Model = {
  monthFrom: number
  windows: Record<WindowName, { id: number; used: number }>
  refused: number
  strikes: number
  since: number
  until: number
  bans: number
  /** By day, less what was given back. */
  points: Map<number, number>
  grants: ModelGrant[]
}

function newModel(): Model {
  const counts = byWindow(() => ({ id: 0, used: 0 }))
  const conduct = { refused: 0, strikes: 0, since: 0, until: 0, bans: 0 }
  return { monthFrom: 1, windows: counts, ...conduct, points: new Map(), grants: [] }
}

export const lengths = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }

/** The number of a window at a time; of a week and a month, the day on which it began. */
export function idAt(
  { monthFrom }: Pick<Model, 'monthFrom'>,
  name: WindowName,
  ms: number,
): number {
  if (name !== 'month' && name !== 'week') return Math.floor(ms / lengths[name])
  const begins = (date: Date): boolean =>
    name === 'week' ? date.getUTCDay() === 1 : date.getUTCDate() === monthFrom
  let day = Math.floor(ms / dayMs)
  while (!begins(new Date(day * dayMs))) day--
  return day
}

function rollModel(m: Model, now: number, isSecondCounted = false): void {
  for (const { name } of windows) {
    if (name === 'second' && !isSecondCounted) continue
    const id = idAt(m, name, now)
    if (m.windows[name].id !== id) m.windows[name] = { id, used: 0 }
  }
}

/** The windows of a grant that run. */
function grantedBy(m: Model, grant: ModelGrant, now: number): readonly Window[] {
  return windows.filter(
    ({ name, limit }) =>
      (grant[limit] ?? 0) > 0 && idAt(m, name, grant.atMs) === idAt(m, name, now),
  )
}

/** The points that are granted to the windows that run. */
function grantedNow(m: Model, now: number): Partial<Record<LimitName, number>> {
  const sums: Partial<Record<LimitName, number>> = {}
  for (const grant of m.grants) {
    for (const { limit } of grantedBy(m, grant, now)) {
      sums[limit] = (sums[limit] ?? 0) + (grant[limit] ?? 0)
    }
  }
  return sums
}

/** Whether a question of cost 0 begins a second isn't promised. */
export function withoutSecond(limits: Limits): Limits {
  return { ...limits, perSecond: undefined }
}

/** The rules of windows, grant, strike and ban, as short as they can be written. */
function modelStep(m: Model, cost: number, limits: Limits, now: number): string {
  rollModel(m, now, limits.perSecond !== undefined)
  if (m.until > now) return 'banned'
  if (cost === 0) return 'admitted'
  const granted = grantedNow(m, now)
  const full = windows.filter(({ name, limit }) => {
    const most = limits[limit] ?? Infinity
    return m.windows[name].used + cost > most + (granted[limit] ?? 0)
  })
  if (full.length === 0) {
    for (const { name } of windows) m.windows[name].used += cost
    m.refused = 0
    const { id: day } = m.windows.day
    m.points.set(day, (m.points.get(day) ?? 0) + cost)
    return 'admitted'
  }
  if (full.some(({ name }) => name !== 'second' && name !== 'minute')) return 'refused'
  if (Math.floor(m.refused / 60_000) !== Math.floor(now / 60_000)) m.refused = now
  if (now - m.refused <= rules.graceMs) return 'refused'
  if (now - m.since >= rules.withinMs) Object.assign(m, { strikes: 0, since: now })
  if (++m.strikes < rules.strikes) return 'refused'
  m.bans = m.until && now - m.until <= rules.memoryMs ? m.bans + 1 : 0
  m.until = now + Math.min(rules.forMs * rules.factor ** m.bans, rules.atMostMs)
  Object.assign(m, { strikes: 0, since: 0, refused: 0 })
  return 'banned'
}

function same(
  decision: Decision,
  model: Model,
  verdict: string,
  { limits, now }: Readonly<{ limits: Limits; now: number }>,
): void {
  const shown = windows.filter(({ isBrief, limit }) => !isBrief || limits[limit] !== undefined)
  const granted = grantedNow(model, now)
  const seen = [
    decision.verdict,
    decision.bannedUntilMs,
    decision.strikes,
    ...shown.map((window) => `${window.name} ${usedBy(decision, window)}`),
    ...shown.map(({ limit }) => decision.granted?.[limit] ?? 0),
  ]
  const expected = [
    verdict,
    model.until > decision.nowMs ? model.until : 0,
    model.strikes,
    ...shown.map(({ name }) => `${name} ${model.windows[name].used}`),
    ...shown.map(({ limit }) => granted[limit] ?? 0),
  ]
  if (String(seen) !== String(expected)) throw new Error(`${seen.join()} is not ${expected.join()}`)
}

const afterMs = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 1, 400) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(59_999, 60_000, 300_000, 3_600_001, dayMs) },
  { weight: 1, arbitrary: fc.constantFrom(3 * dayMs, 7 * dayMs, 17 * dayMs, 31 * dayMs - 1) },
)
const event = fc.record({
  afterMs,
  what: fc.oneof(
    { weight: 30, arbitrary: fc.constant('ask') },
    { weight: 1, arbitrary: fc.constantFrom('reset', 'lift', 'ban', 'reopen', 'month') },
    { weight: 2, arbitrary: fc.constantFrom('grant', 'giveBack') },
  ),
  points: fc.constantFrom(
    { perMinute: 2 },
    { perDay: 3 },
    { perMinute: 1, perDay: 100 },
    { perHour: 4, perMonth: 2 },
    { perDay: 1, perWeek: 4 },
    { perMonth: 5 },
  ),
  monthFrom: fc.integer({ min: 1, max: 28 }),
  // Whether a gateway asks that has asked before, and whether it is the one that asks next.
  knows: fc.boolean(),
  notes: fc.boolean(),
  cost: fc.oneof(
    { weight: 5, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 }) },
  ),
  limits: fc.constantFrom(
    { perMinute: 2, perDay: 1_000 },
    { perMinute: 2, perDay: 1_000 },
    { perMinute: 5, perDay: 7 },
    { perMinute: Infinity, perDay: 9 },
    { perMinute: 3, perDay: Infinity },
    { perSecond: 2, perMinute: 4, perDay: Infinity },
    { perMinute: 4, perHour: 6, perDay: 9, perMonth: 12 },
    { perMinute: Infinity, perDay: Infinity, perMonth: 10 },
    { perMinute: Infinity, perDay: 9, perWeek: 10, perMonth: 14 },
  ),
})
