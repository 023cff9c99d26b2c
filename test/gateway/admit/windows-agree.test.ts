import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json, type Answer } from '../../support/http.ts'
import { seeded } from '../../support/seeded.ts'
import { hourMs, minuteMs, windows, type WindowName } from '../../../shared/windows.ts'

const plans = {
  all: { second: 4, minute: 6, hour: 14, day: 40, week: 60, month: 90 },
  some: { minute: 8, hour: 20, day: undefined, month: 110 },
  two: { minute: 10, day: 45 },
} as const

const settingOf = (limit: number | undefined) => limit ?? 'unlimited'
const planLines = Object.entries(plans).map(([name, limits]) => {
  const settings = Object.entries(limits).map(([window, limit]) => {
    return `per${window.charAt(0).toUpperCase()}${window.slice(1)}: ${settingOf(limit)}`
  })
  return `  ${name}: { ${settings.join(', ')}, bans: off }`
})

type View = Readonly<{ limit: number; remaining: number; reset: number; used: number }>

t.test('headers, quota, explain, metrics and usage agree at 200 moments', async (t) => {
  let now = Date.UTC(2026, 5, 29, 22)
  const { gateway, ask, operate } = await startAdmin(t, {
    clock: () => now,
    more: `plans:\n${planLines.join('\n')}`,
    upstream: await startUpstream(t),
  })
  const random = seeded(45)
  const names = Object.keys(plans) as (keyof typeof plans)[]
  const callers = await Promise.all(
    names.map(async (plan) => ({ plan, issued: await gateway.key({ plan }) })),
  )
  const refusals = new Map<string, number>()
  const admitted = new Map<string, number>()
  for (let moment = 0; moment < 200; moment++) {
    now += [0, 1, 300, 1_000, 7_000, minuteMs, 11 * minuteMs, hourMs][random(8)] ?? 0
    const { plan, issued } = callers[random(callers.length)] ?? {}
    if (!plan || !issued) throw new Error('there are three')
    const { headers, key } = issued
    const at = `moment ${moment}, ${plan}`
    let answer: Answer | undefined
    for (let i = random(6); i >= 0; i--) {
      answer = await gateway.call('GET', '/v1/pets', undefined, headers)
      if (answer.status === 200) admitted.set(key.id, (admitted.get(key.id) ?? 0) + 1)
      else {
        const window = windowIn(answer)
        refusals.set(`${plan} ${window}`, (refusals.get(`${plan} ${window}`) ?? 0) + 1)
      }
    }
    const quota = json(await gateway.call('GET', '/v1/quota', undefined, headers))
    const standing = json(await ask('GET', `/admin/quota/${key.id}`))
    const own: Partial<Record<WindowName, View | null>> = quota
    const operators: Partial<Record<WindowName, View | null>> = standing
    const limits: Partial<Record<WindowName, number | undefined>> = plans[plan]
    for (const { name, isRequired } of windows) {
      const [one, other, limit] = [own[name], operators[name], limits[name]]
      if (limit === undefined) {
        t.strictSame([one, other], isRequired ? [null, null] : [undefined, undefined], at)
        continue
      }
      if (!one || !other) return t.fail(`${at}: no ${name}`)
      const { used, ...rest } = other
      t.strictSame(rest, one, at)
      t.strictSame([one.limit, one.remaining], [limit, limit - used], at)
    }
    // An answer tells the window with the least left, of equals the longest; a refusal the one that is full for longest.
    const told = windows
      .toReversed()
      .flatMap(({ name, isBrief }) => (own[name] ? [{ name, isBrief, ...own[name] }] : []))
    const isRefused = answer?.status === 429
    const least = told
      .filter(({ isBrief }) => !isBrief)
      .reduce((one, other) => (other.remaining < one.remaining ? other : one))
    const last = Math.max(...told.map(({ remaining, reset }) => (remaining === 0 ? reset : 0)))
    const shown = isRefused
      ? told.find(({ remaining, reset }) => remaining === 0 && reset === last)
      : least
    const expected = [shown?.limit, shown?.remaining, shown?.reset].map(String)
    const inHeaders = ['limit', 'remaining', 'reset'].map(
      (name) => answer?.headers[`x-ratelimit-${name}`],
    )
    t.strictSame(inHeaders, expected, at)
    if (!isRefused || !answer) continue
    t.equal(windowIn(answer), shown?.name, at)
    const id = String(answer.headers['x-request-id'])
    const { answers } = json(await ask('GET', `/admin/requests/${id}`))
    t.match(answers, [{ reason: shown?.name, code: 'rate_limit_exceeded' }], at)
  }
  await gateway.app.front.flushCounts()
  const { text } = await operate('GET', '/metrics')
  for (const { plan, issued } of callers) {
    const usage = json(await ask('GET', `/admin/usage/${issued.key.id}?days=90`)) as unknown as {
      admitted: number
      windows: Record<string, number>
    }[]
    const sum = (count: (day: (typeof usage)[number]) => number | undefined) =>
      usage.reduce((all, day) => all + (count(day) ?? 0), 0)
    t.equal(
      sum((day) => day.admitted),
      admitted.get(issued.key.id),
      `${plan}: usage`,
    )
    for (const { name } of windows) {
      const count = refusals.get(`${plan} ${name}`) ?? 0
      const told = new RegExp(
        `^tollgate_refusals_total{plan="${plan}",reason="rate_limit_exceeded",window="${name}".*} (\\d+)$`,
        'm',
      )
      t.equal(Number(told.exec(text)?.[1] ?? 0), count, `${plan}: metrics of the ${name}`)
      const reported = sum((day) => day.windows[name])
      if (usage.some((day) => day.windows[name] !== undefined))
        t.equal(reported, count, `${plan}: usage of the ${name}`)
    }
  }
  const refused = new Set([...refusals.keys()].map((each) => each.split(' ')[1]))
  t.strictSame(refused, new Set(windows.map(({ name }) => name)), 'each window has refused')
})

/** The window that the sentence of a refusal names. */
function windowIn({ text }: Answer): string | undefined {
  return /requests an? (\w+) are used up/.exec(text)?.[1]
}
