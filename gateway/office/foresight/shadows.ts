import { csvText } from '../../../shared/csv-text.ts'
import type { KeyStore } from '../../front/keys/store.ts'
import type { Plan } from '../../front/limits/plan.ts'
import type { Shadow } from '../../front/limits/shadow.ts'
import type { TallyStore } from '../../front/counts/tally-store.ts'
import { dayText } from '../../front/counts/usage.ts'
import { limitView, limitsView, type ShownLimits } from './views.ts'

/** The requests of one key that were let in and that the shadow of its plan would have refused. */
export type ShadowedKey = Readonly<{
  key: string
  name: string
  account: string | undefined
  plan: string
  /** By the window that would have refused them; one that both would have refused is in both. */
  refused: Readonly<{ minute: number; day: number }>
  /** The requests that were let in and judged. */
  of: number
  /** The day of the first of them, and the time of the last. */
  first: string
  last: string
}>

export type ShadowReport = Readonly<{
  from: string
  to: string
  /** The shadows of the configuration. The hash changes with the limits; requests are counted by it. */
  shadows: readonly Readonly<{
    plan: string
    hash: string
    now: ReturnType<typeof limitsView>
    shadow: ShownLimits
  }>[]
  keys: readonly ShadowedKey[]
}>

export type ShadowStores = Readonly<{ keys: KeyStore; tallies: TallyStore }>

type Sum = {
  plan: string
  minute: number
  day: number
  all: number
  firstDay: number
  lastMs: number
}
type ShadowedPlan = Plan & Readonly<{ shadow: Shadow }>

/** The keys that shadows would have refused in some days, those with the most requests first. */
export async function shadowReport(
  { keys, tallies }: ShadowStores,
  plans: readonly Plan[],
  { fromDay, toDay }: Readonly<{ fromDay: number; toDay: number }>,
): Promise<ShadowReport> {
  const shadowed = plans.filter((plan): plan is ShadowedPlan => plan.shadow !== undefined)
  const counters = new Map<string, readonly [plan: string, what: 'minute' | 'day' | 'all']>()
  for (const { name, shadow } of shadowed) {
    for (const what of ['minute', 'day', 'all'] as const) {
      counters.set(shadow.tallies[what], [name, what])
    }
  }
  const sums = new Map<string, Sum>()
  for await (const { key, day, what, count, lastMs } of tallies.list(fromDay, toDay)) {
    const [plan, member] = counters.get(what) ?? []
    if (plan === undefined || member === undefined) continue
    const name = `${key} ${plan}`
    const sum = sums.get(name) ?? { plan, minute: 0, day: 0, all: 0, firstDay: Infinity, lastMs: 0 }
    sums.set(name, sum)
    sum[member] += count
    if (member === 'all') continue
    sum.firstDay = Math.min(sum.firstDay, day)
    sum.lastMs = Math.max(sum.lastMs, lastMs)
  }
  const shadowedKeys: ShadowedKey[] = []
  for (const [name, sum] of sums) {
    if (sum.minute + sum.day === 0) continue
    const [id = ''] = name.split(' ', 1)
    shadowedKeys.push(await shadowedKey(keys, id, sum))
  }
  return {
    from: dayText(fromDay),
    to: dayText(toDay),
    shadows: shadowed.map(shadowView),
    keys: shadowedKeys.sort(byRefusals),
  }
}

async function shadowedKey(keys: KeyStore, id: string, sum: Sum): Promise<ShadowedKey> {
  const { plan, minute, day, all, firstDay, lastMs } = sum
  const { name = '', account } = (await keys.get(id))?.key ?? {}
  return {
    key: id,
    name,
    account,
    plan,
    refused: { minute, day },
    of: all,
    first: dayText(firstDay),
    last: new Date(lastMs).toISOString(),
  }
}

function shadowView(plan: ShadowedPlan): ShadowReport['shadows'][number] {
  const { hash, limits } = plan.shadow
  const shadow = { perMinute: limitView(limits.perMinute), perDay: limitView(limits.perDay) }
  return { plan: plan.name, hash, now: limitsView(plan), shadow }
}

function byRefusals(a: ShadowedKey, b: ShadowedKey): number {
  const sum = ({ refused }: ShadowedKey): number => refused.minute + refused.day
  return sum(b) - sum(a) || (a.key < b.key ? -1 : 1)
}

/** The keys of a report, for letters. */
export function shadowCsv({ keys }: ShadowReport): string {
  const names = ['key', 'name', 'account', 'plan', 'minute', 'day', 'of', 'first', 'last']
  const rows = keys.map(({ key, name, account = '', plan, refused, of, first, last }) => [
    key,
    name,
    account,
    plan,
    refused.minute,
    refused.day,
    of,
    first,
    last,
  ])
  return csvText(names, rows)
}
