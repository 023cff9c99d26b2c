import { join } from 'node:path'
import t from 'tap'
import { Peaks } from '../../../gateway/front/counts/peaks.ts'
import { Caller } from '../../../gateway/front/keys/caller.ts'
import { decisiveWindow } from '../../../gateway/front/limits/headers.ts'
import { limitOf, recordedWith, type Limits } from '../../../gateway/front/limits/limits.ts'
import { newQuota } from '../../../gateway/front/limits/quota-state.ts'
import { step } from '../../../gateway/front/limits/step.ts'
import { planDemand } from '../../../gateway/office/foresight/demand.ts'
import { previewPlan, type PlanPreview } from '../../../gateway/office/foresight/preview.ts'
import { previewCsv, previewText } from '../../../gateway/office/operations/plans/texts.ts'
import { byLimit, dayMs, windows, type Window, type WindowName } from '../../../shared/windows.ts'
import { newKey } from '../../contracts/keys.ts'
import { open, storeAt } from '../../support/filled-store.ts'
import { seeded } from '../../support/seeded.ts'
import { folderOf } from '../../support/folder.ts'

/** A request of one point, and the beginning of its time that names each window. */
type Sent = Readonly<{ quota: string; atMs: number }>
const lengthOfName = { second: 19, minute: 16, hour: 13, day: 10, month: 7 }

/** The beginning of its time in ISO 8601; of a week the day on which it began. */
function nameAt(name: WindowName, atMs: number): string {
  if (name !== 'week') return new Date(atMs).toISOString().slice(0, lengthOfName[name])
  const daysSince = (new Date(atMs).getUTCDay() + 6) % 7
  return `Monday ${nameAt('day', atMs - daysSince * dayMs)}`
}

/** The quotas and days on which limits refuse something of what was sent: by counting, without any of the gateway. */
function bruteForce(sent: readonly Sent[], limits: Limits): string[] {
  const used = new Map<string, number>()
  const days = new Set<string>()
  for (const { quota, atMs } of sent) {
    const names = windows.map((window) => {
      return [window, `${quota} ${window.name} ${nameAt(window.name, atMs)}`] as const
    })
    if (names.some(([window, name]) => (used.get(name) ?? 0) >= limitOf(limits, window))) {
      days.add(`${quota} ${nameAt('day', atMs)}`)
    } else for (const [, name] of names) used.set(name, (used.get(name) ?? 0) + 1)
  }
  return [...days].sort()
}

const named = ({ hit }: PlanPreview): string[] =>
  hit.flatMap(({ quota, daysHit }) => daysHit.map((day) => `${quota} ${day}`)).sort()
const quotasOf = (days: readonly string[]) => [...new Set(days.map((day) => day.split(' ')[0]))]

/** Two months of requests, which limits decide; and previews of other limits. */
async function story(t: Tap, name: string, limits: Limits) {
  const random = seeded(46)
  const stores = await open(t, storeAt(join(folderOf(t), name)))
  const peaks = new Peaks(stores.peaks)
  const firstMs = Date.UTC(2028, 0, 25)
  const callers = await Promise.all(
    Array.from({ length: 12 }, async (_, i) => {
      const key = newKey({ name: `Key ${i}` })
      await stores.keys.add([key])
      return { caller: new Caller(`tg_${i}`, { key, version: 1 }), state: newQuota(), busy: i }
    }),
  )
  const sent: Sent[] = []
  const recorded = recordedWith(limits)
  for (let day = 0; day < 50; day++) {
    const beganMs = firstMs + day * dayMs
    const ofDay = callers.flatMap((each) => {
      const bursts = Array.from({ length: random(3) }, () => beganMs + random(dayMs - 2_000))
      return bursts.flatMap((atMs) =>
        Array.from({ length: random(each.busy + 2) }, () => ({
          ...each,
          atMs: atMs + random(2_000),
        })),
      )
    })
    for (const { caller, state, atMs } of ofDay.sort((a, b) => a.atMs - b.atMs)) {
      const decision = step(state, { key: caller.id, cost: 1, limits }, atMs)
      const standing = { decision, limits }
      const full = decision.verdict === 'refused' ? decisiveWindow(decision, limits) : undefined
      const record = { terms: { recorded } as never, refusal: undefined }
      peaks.count({ caller, record, standing, refusedBy: full?.window.name })
      sent.push({ quota: caller.quota, atMs })
    }
    await peaks.write()
  }
  const nowMs = firstMs + 50 * dayMs
  const toDay = nowMs / dayMs
  const now = { name: 'free', limits, bans: false }
  const range = { fromDay: firstMs / dayMs, toDay, nowMs, limit: 1_000 }
  const preview = (then: Limits) =>
    previewPlan(stores, { name: 'free', now, then: { ...now, limits: then }, ...range })
  return { random, sent, preview, demand: () => planDemand(stores, { plan: now, ...range }) }
}

type Tap = Parameters<typeof open>[0]

t.test('a preview of each window names the quotas and days that brute force names', async (t) => {
  const wide = byLimit(() => 10_000)
  const { random, sent, preview, demand } = await story(t, 'wide.db', wide)
  const highest = { second: 6, minute: 11, hour: 12, day: 20, week: 70, month: 250 }
  for (const { name, limit } of windows) {
    let hits = 0
    for (let i = 0; i < 8; i++) {
      const lower = { ...wide, [limit]: 1 + random(highest[name]) }
      const told = await preview(lower)
      const expected = bruteForce(sent, lower)
      t.strictSame(named(told), expected, JSON.stringify(lower))
      t.equal(told.bound, 'exact')
      hits += expected.length
    }
    t.ok(hits > 20, `${hits} days were refused by the limit of the ${name}`)
  }
  for (let i = 0; i < 20; i++) {
    const lower = byLimit(({ name }: Window) => 1 + random(highest[name]))
    t.strictSame(
      quotasOf(named(await preview(lower))),
      quotasOf(bruteForce(sent, lower)),
      JSON.stringify(lower),
    )
  }
  const told = await preview({ ...wide, perMonth: 100, perHour: 9 })
  t.match(previewText(told), /^free 10,000 → 9 an hour, 10,000 → 100 a month: \d+ of \d+ quotas/)
  t.match(previewText(told), /HIGHEST HOUR +HIGHEST DAY +HIGHEST WEEK +HIGHEST MONTH/)
  t.match(previewText(told), /A month counts all that was sent in it/)
  t.match(
    previewCsv([told]),
    /peak_second","?peak_minute","?peak_hour","?peak_day","?peak_week","?peak_month/,
  )
  const { byDay, curves } = await demand()
  t.strictSame(Object.keys(curves.quotas).sort(), windows.map(({ name }) => name).sort())
  const last = byDay.at(-1)
  t.ok((last?.month?.highest ?? 0) > (last?.day.highest ?? 0))
})

t.test(
  'who was refused by a limit is refused by a lower one, and told of a higher one',
  async (t) => {
    const limits = byLimit(
      ({ name }) => ({ second: 5, minute: 8, hour: 9, day: 15, week: 40, month: 60 })[name],
    )
    const { random, sent, preview } = await story(t, 'narrow.db', limits)
    for (let i = 0; i < 20; i++) {
      const lower = byLimit((window) => 1 + random(limitOf(limits, window) - 1))
      t.strictSame(
        quotasOf(named(await preview(lower))),
        quotasOf(bruteForce(sent, lower)),
        JSON.stringify(lower),
      )
    }
    const raised = await preview({ ...limits, perMonth: 90 })
    t.equal(raised.bound, 'lower')
    t.ok(raised.refusedQuotas > 0)
    for (const { refused } of raised.refused) t.ok((refused.month ?? 0) > 0)
  },
)

t.test('a month that nothing limited counts as the sum of its days', async (t) => {
  const limits = { perMinute: 10_000, perDay: 10_000 }
  const { random, sent, preview } = await story(t, 'unlimited.db', limits)
  for (let i = 0; i < 10; i++) {
    const then = { ...limits, perMonth: 20 + random(200) }
    const told = await preview(then)
    const expected = bruteForce(
      sent.filter(({ atMs }) => atMs >= Date.UTC(2028, 0, 25)),
      then,
    )
    t.strictSame(named(told), expected, JSON.stringify(then))
    t.equal(told.bound, 'lower')
    t.match(
      told.unsaid.join(' '),
      /each month is recorded only where .* sum .* shadow with perMonth/,
    )
  }
  const told = await preview({ ...limits, perHour: 5 })
  const expected = bruteForce(sent, { ...limits, perHour: 5 })
  t.strictSame(
    named(told).filter((day) => !expected.includes(day)),
    [],
  )
  t.match(told.unsaid.join(' '), /each hour is recorded only where/)
})
