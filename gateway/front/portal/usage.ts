import { BoundedMap } from '../../../shared/bounded-map.ts'
import { hasBody } from '../../../shared/node/linger.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { announcer } from '../config/deprecations.ts'
import { bodied } from '../forwarding/refusals.ts'
import type { Caller } from '../keys/caller.ts'
import { deprecatedCall } from '../counts/deprecated-calls.ts'
import { rememberedDays } from '../counts/tally-store.ts'
import { dayText, latestDays, usage, type Usage } from '../counts/usage.ts'
import type { OwnOptions } from './own-options.ts'
import type { Answer } from '../request-record.ts'
import { telling, tooOften } from './refusals.ts'

/** The usage of a caller's own key, and the deprecated operations that it calls. */
export type OwnUsage = Readonly<{
  key: string
  name: string
  days: readonly DayUsage[]
  deprecated: readonly Readonly<{
    operation: string
    calls: number
    last: string
    sunset: string | null
    replacement: string | null
  }>[]
}>

/** The number of days without `?days=`. */
const usualDays = 30

/** The time between two questions of one quota. */
const everyMs = 1_000

/** The least number of quotas whose last question is remembered. */
const leastQuotas = 10_000

/** Answers `GET /v1/usage` with the caller's own usage by day. It costs nothing. */
export function usageAnswer({ config, stores, clock }: OwnOptions): Answer {
  const pace = new Pace()

  async function view(caller: Caller, days: number): Promise<OwnUsage> {
    const { fromDay, toDay } = latestDays(days, clock())
    const own = await usage(stores, { fromDay, toDay, key: caller.id })
    return {
      key: caller.id,
      name: caller.name,
      days: own.map(dayOf),
      deprecated: await deprecatedView(caller, fromDay, toDay),
    }
  }

  async function deprecatedView(caller: Caller, fromDay: number, toDay: number) {
    const { deprecations } = config
    if (deprecations.length === 0) return []
    const sums = new Map<string, { calls: number; lastDay: number }>()
    for await (const { day, what, count } of stores.tallies.list(fromDay, toDay, [caller.id])) {
      const { calls = 0, lastDay = 0 } = sums.get(what) ?? {}
      sums.set(what, { calls: calls + count, lastDay: Math.max(lastDay, day) })
    }
    return deprecations.flatMap((deprecation) => {
      const { operation, replacement = null } = deprecation
      const sum = sums.get(deprecatedCall(operation))
      if (!sum) return []
      const { sunsetMs } = announcer(deprecation)(caller)
      const sunset = sunsetMs === undefined ? null : new Date(sunsetMs).toISOString()
      return [{ operation, calls: sum.calls, last: dayText(sum.lastDay), sunset, replacement }]
    })
  }

  return telling(200, async (request) => {
    if (hasBody(request.raw)) return bodied(request.method)
    const { caller } = request.tollgate ?? {}
    if (!caller) throw new Error('usage comes after authenticate')
    const days = daysIn(request.url)
    if (days === undefined) return wrongDays()
    const nowMs = clock()
    const sentence = 'Usage can be asked for once a second. Try again in 1 second.'
    const told = await pace.take(caller.quota, nowMs, () => view(caller, days))
    // A second is the least that a refusal tells.
    return told ?? tooOften(sentence, nowMs, nowMs)
  })
}

/** The usage of a key on one day, without its name. */
export type DayUsage = ReturnType<typeof dayOf>

function dayOf(usage: Usage) {
  const { day, admitted, points, estimated, beyond, refused, windows, answers } = usage
  return { day, admitted, points, estimated, beyond, refused, windows, answers }
}

/** The days of a URL's query; `undefined` if it asks for anything else. */
function daysIn(url: string): number | undefined {
  const query = new URLSearchParams(url.split('?')[1] ?? '')
  const { days = String(usualDays), ...others } = Object.fromEntries(query)
  const count = /^\d{1,3}$/.test(days) ? Number(days) : 0
  const isAsked = Object.keys(others).length === 0 && count >= 1 && count <= rememberedDays
  return isAsked ? count : undefined
}

function wrongDays(): Refusal {
  const sentence = `Ask with ?days= and a whole number from 1 to ${rememberedDays}, or without a query for ${usualDays} days.`
  return new Refusal('invalid_request', sentence)
}

/** Lets each quota ask once a second, and not while its last question is being answered. */
class Pace {
  readonly #askedAtMs = new BoundedMap<number>(leastQuotas)
  readonly #underWay = new Set<string>()

  /** Does `work` in its turn; `undefined` if it isn't its turn. A question that comes too early delays nothing. */
  async take<Result>(
    quota: string,
    nowMs: number,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    const passedMs = nowMs - (this.#askedAtMs.get(quota) ?? -Infinity)
    // A clock that was set back holds nobody up.
    const isEarly = passedMs >= 0 && passedMs < everyMs
    if (isEarly || this.#underWay.has(quota)) return undefined
    this.#askedAtMs.set(quota, nowMs)
    this.#underWay.add(quota)
    try {
      return await work()
    } finally {
      this.#underWay.delete(quota)
    }
  }
}
