import fc from 'fast-check'
import type { Test } from 'tap'
import type { Limits } from '../../gateway/front/limits/limits.ts'
import { dayMs, minuteMs, type Decision } from '../../gateway/front/limits/step.ts'
import { rules, start, type TriedStore } from './tried-quotas.ts'

/** The part of the contract of `QuotaStore` that holds it against a model, in stories by chance. */
export function modelContract(t: Test, tried: TriedStore, stories: number): void {
  const { setTime, newName, ask, pointsOf } = tried
  t.test('does what the model does, whatever happens', async (t) => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 60 }), async (events) => {
        const quota = newName()
        const model = newModel()
        let now = start + ++runs * dayMs * 3
        let known: Decision | undefined
        for (const happens of events) {
          now += happens.afterMs
          setTime(now)
          if (happens.what === 'reopen') await tried.reopen()
          else if (happens.what === 'reset')
            await tried.store.reset(quota).then(() => (model.minute = model.day = 0))
          else if (happens.what === 'giveBack') {
            const { day } = known?.seen ?? { day: 0 }
            await tried.store.giveBack(quota, happens.cost, day)
            if (model.dayId === day) model.day = Math.max(0, model.day - happens.cost)
            const points = model.points.get(day) ?? 0
            if (known) model.points.set(day, Math.max(0, points - happens.cost))
          } else if (happens.what === 'lift') {
            await tried.store.lift(quota, 'k')
            Object.assign(model, { until: 0, bans: 0, strikes: [], refused: 0 })
          } else if (happens.what === 'ban') {
            await tried.store.ban(quota, 'k', now + 7_000)
            Object.assign(model, { until: now + 7_000, strikes: [], refused: 0 })
          } else if (happens.what === 'grant') {
            t.equal(await tried.store.grant(quota, { ...happens.points, by: 'a' }), true)
            const [minute, day] = [Math.floor(now / minuteMs), Math.floor(now / dayMs)]
            model.grants.push({ minute, day, ...happens.points })
          } else {
            const { cost, limits } = happens
            const seen = happens.knows && known ? { ...known.seen, bannedUntilMs: 0 } : undefined
            const decision = await ask(quota, { cost, limits, bans: rules, seen })
            same(decision, model, modelStep(model, cost, limits, now))
            if (happens.notes) known = decision
          }
        }
        const today = Math.floor(now / dayMs)
        for (let day = today; day > today - 3; day--) {
          const [found, expected] = [await pointsOf(quota, day), model.points.get(day) ?? 0]
          if (found !== expected) throw new Error(`${found} points are not ${expected}`)
        }
        // Those of the latest day are listed, the oldest first.
        const { day: last } = model.grants.at(-1) ?? {}
        const listed = model.grants.filter(({ day }) => day === last)
        t.match(await tried.store.grants(quota), listed)
        t.equal((await tried.store.grants(quota)).length, listed.length)
      }),
      { numRuns: stories },
    )
    t.pass(`${runs} stories`)
  })
}

type Model = {
  minuteId: number
  dayId: number
  minute: number
  day: number
  refused: number
  strikes: number[]
  until: number
  bans: number
  /** By day, less what was given back. */
  points: Map<number, number>
  grants: { minute: number; day: number; perMinute: number; perDay: number }[]
}

function newModel(): Model {
  const windows = { minuteId: 0, dayId: 0, minute: 0, day: 0 }
  return { ...windows, refused: 0, strikes: [], until: 0, bans: 0, points: new Map(), grants: [] }
}

/** The points that are granted to this minute and this day. */
function grantedNow({ grants, minuteId, dayId }: Model): { perMinute: number; perDay: number } {
  const sums = { perMinute: 0, perDay: 0 }
  for (const { minute, day, perMinute, perDay } of grants) {
    if (minute === minuteId) sums.perMinute += perMinute
    if (day === dayId) sums.perDay += perDay
  }
  return sums
}

/** The rules of minute, day, grant, strike and ban, as short as they can be written. */
function modelStep(m: Model, cost: number, limits: Limits, now: number): string {
  const [minuteId, dayId] = [Math.floor(now / minuteMs), Math.floor(now / dayMs)]
  if (m.minuteId !== minuteId) Object.assign(m, { minuteId, minute: 0 })
  if (m.dayId !== dayId) Object.assign(m, { dayId, day: 0 })
  if (m.until > now) return 'banned'
  if (cost === 0) return 'admitted'
  const granted = grantedNow(m)
  const perMinute = limits.perMinute + granted.perMinute
  const perDay = limits.perDay + granted.perDay
  if (m.minute + cost <= perMinute && m.day + cost <= perDay) {
    Object.assign(m, { minute: m.minute + cost, day: m.day + cost, refused: 0 })
    m.points.set(dayId, (m.points.get(dayId) ?? 0) + cost)
    return 'admitted'
  }
  m.refused ||= now
  if (now - m.refused <= rules.graceMs) return 'refused'
  m.strikes = [...m.strikes, now].slice(-rules.strikes)
  const recent = m.strikes.filter((at) => now - at < rules.withinMs)
  if (recent.length < rules.strikes) return 'refused'
  m.bans = m.until && now - m.until <= rules.memoryMs ? m.bans + 1 : 0
  m.until = now + Math.min(rules.forMs * rules.factor ** m.bans, rules.atMostMs)
  Object.assign(m, { strikes: [], refused: 0 })
  return 'banned'
}

function same(decision: Decision, model: Model, verdict: string): void {
  const seen = [
    decision.verdict,
    decision.minuteUsed,
    decision.dayUsed,
    decision.bannedUntilMs,
    decision.strikes,
    decision.granted?.perMinute ?? 0,
    decision.granted?.perDay ?? 0,
  ]
  const { perMinute, perDay } = grantedNow(model)
  const until = model.until > decision.nowMs ? model.until : 0
  const { minute, day, strikes } = model
  const expected = [verdict, minute, day, until, strikes.length, perMinute, perDay]
  if (String(seen) !== String(expected)) throw new Error(`${seen.join()} is not ${expected.join()}`)
}

const afterMs = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 1, 400) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(59_999, 60_000, 300_000, 3_600_001, dayMs) },
)
const event = fc.record({
  afterMs,
  what: fc.oneof(
    { weight: 30, arbitrary: fc.constant('ask') },
    { weight: 1, arbitrary: fc.constantFrom('reset', 'lift', 'ban', 'reopen') },
    { weight: 2, arbitrary: fc.constantFrom('grant', 'giveBack') },
  ),
  points: fc.constantFrom(
    { perMinute: 2, perDay: 0 },
    { perMinute: 0, perDay: 3 },
    { perMinute: 1, perDay: 100 },
  ),
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
  ),
})
