import { csvText } from '../../../shared/csv-text.ts'
import {
  byWindow,
  requiredWindows,
  windowNames,
  type ByName,
  type Window,
  type WindowName,
} from '../../../shared/windows.ts'
import type { KeyStore } from '../../front/keys/store.ts'
import type { Plan } from '../../front/limits/plan.ts'
import type { Shadow } from '../../front/limits/shadow.ts'
import type { TallyStore } from '../../front/counts/tally-store.ts'
import { dayText } from '../../front/counts/usage.ts'
import { limitsView, shownLimits, sumOf, windowsOf } from './views.ts'

/** The requests of one key that were let in and that the shadow of its plan would have refused. */
export type ShadowedKey = Awaited<ReturnType<typeof shadowedKey>>

export type ShadowReport = Awaited<ReturnType<typeof shadowReport>>

export type ShadowStores = Readonly<{ keys: KeyStore; tallies: TallyStore }>

type Sum = Record<WindowName | 'all', number> & {
  plan: string
  firstDay: number
  lastMs: number
}
type ShadowedPlan = Plan & Readonly<{ shadow: Shadow }>

/** The keys that shadows would have refused in some days, those with the most requests first. */
export async function shadowReport(
  { keys, tallies }: ShadowStores,
  plans: readonly Plan[],
  { fromDay, toDay }: Readonly<{ fromDay: number; toDay: number }>,
) {
  const shadowed = plans.filter((plan): plan is ShadowedPlan => plan.shadow !== undefined)
  const counters = new Map<string, readonly [plan: string, what: WindowName | 'all']>()
  for (const { name, shadow } of shadowed) {
    for (const what of [...windowNames, 'all'] as const) {
      counters.set(shadow.tallies[what], [name, what])
    }
  }
  const sums = new Map<string, Sum>()
  for await (const { key, day, what, count, lastMs } of tallies.list(fromDay, toDay)) {
    const [plan, member] = counters.get(what) ?? []
    if (plan === undefined || member === undefined) continue
    const name = `${key} ${plan}`
    const sum = sums.get(name) ?? { plan, ...noRequests, firstDay: Infinity, lastMs: 0 }
    sums.set(name, sum)
    sum[member] += count
    if (member === 'all') continue
    sum.firstDay = Math.min(sum.firstDay, day)
    sum.lastMs = Math.max(sum.lastMs, lastMs)
  }
  const shownByPlan = new Map(
    shadowed.map(({ name, shadow }) => [name, windowsOf([shownLimits(shadow.limits)])]),
  )
  const shadowedKeys: ShadowedKey[] = []
  for (const [name, sum] of sums) {
    if (windowNames.every((window) => sum[window] === 0)) continue
    const [id = ''] = name.split(' ', 1)
    shadowedKeys.push(
      await shadowedKey(keys, id, sum, shownByPlan.get(sum.plan) ?? requiredWindows),
    )
  }
  return {
    from: dayText(fromDay),
    to: dayText(toDay),
    /** The shadows of the configuration. The hash changes with the limits; requests are counted by it. */
    shadows: shadowed.map(shadowView),
    keys: shadowedKeys.sort(byRefusals),
  }
}

const noRequests = { ...byWindow(() => 0), all: 0 }

async function shadowedKey(keys: KeyStore, id: string, sum: Sum, shown: readonly Window[]) {
  const { plan, all, firstDay, lastMs } = sum
  const refused = Object.fromEntries(shown.map(({ name }) => [name, sum[name]])) as ByName<number>
  const { name = '', account } = (await keys.get(id))?.key ?? {}
  return {
    key: id,
    name,
    account,
    plan,
    /** By the window that would have refused them; one that several would have refused is in each. */
    refused,
    /** The requests that were let in and judged. */
    of: all,
    /** The day of the first of them, and the time of the last. */
    first: dayText(firstDay),
    last: new Date(lastMs).toISOString(),
  }
}

function shadowView(plan: ShadowedPlan) {
  const { hash, limits } = plan.shadow
  return { plan: plan.name, hash, now: limitsView(plan), shadow: shownLimits(limits) }
}

function byRefusals(a: ShadowedKey, b: ShadowedKey): number {
  return sumOf(b.refused) - sumOf(a.refused) || (a.key < b.key ? -1 : 1)
}

/** The windows that a report is about. */
export function shadowedWindows({ shadows }: ShadowReport): readonly WindowName[] {
  return windowsOf(shadows.map(({ shadow }) => shadow)).map(({ name }) => name)
}

/** The keys of a report, for letters. */
export function shadowCsv(report: ShadowReport): string {
  const shown = shadowedWindows(report)
  const names = ['key', 'name', 'account', 'plan', ...shown, 'of', 'first', 'last']
  const rows = report.keys.map(({ key, name, account = '', plan, refused, of, first, last }) => [
    ...[key, name, account, plan],
    ...shown.map((window) => refused[window] ?? 0),
    ...[of, first, last],
  ])
  return csvText(names, rows)
}
