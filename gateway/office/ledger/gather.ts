import { breathe } from '../../../shared/breathe.ts'
import { entryOf } from '../../../shared/entry-of.ts'
import { sortedBy } from '../../../shared/in-order.ts'
import { quotaOf, type Key } from '../../front/keys/key.ts'
import { usageKind, type UsageKind } from '../../front/counts/usage.ts'
import { isRareFigure } from '../../front/counts/use.ts'
import type { QuotaPoints } from '../../front/limits/past-points.ts'
import type { Stores } from '../../front/stores/stores.ts'
import {
  addFigures,
  noFigures,
  ownKey,
  type Figures,
  type KeyFigures,
  type LedgerRow,
} from './rows.ts'

/** The stores that a day is gathered from. */
export type Sources = Pick<Stores, 'quota' | 'tallies' | 'keys'>

/** The part of a row that keys tell. */
type OfKeys = { keys: KeyFigures[]; plan: string; unusedPlan: string }

type PointsByQuota = Map<string, QuotaPoints>

/** Keys that are looked at in one turn of the loop. */
const keysAtOnce = 1_000

/** The rows of a day, by the names of quotas: of each quota that used points or whose keys were used. */
export async function gathered(stores: Sources, day: number): Promise<LedgerRow[]> {
  const points = await pointsByQuota(stores, day)
  const usage = await usageByKey(stores, day)
  const byQuota = new Map<string, OfKeys>()
  let count = 0
  for await (const key of stores.keys.list()) {
    noteKey(key, { day, points, usage, byQuota })
    if (++count % keysAtOnce === 0) await breathe()
  }
  const names = new Set([...points.keys(), ...byQuota.keys()])
  const rows = [...names].map((quota) => rowOf(quota, points.get(quota), byQuota.get(quota)))
  return sortedBy(rows, ({ quota }) => quota)
}

function rowOf(
  quota: string,
  used: QuotaPoints | undefined,
  summed: OfKeys | undefined,
): LedgerRow {
  const keys = [...(summed?.keys ?? [])].sort((a, b) => inOrder(a.key, b.key))
  const figures = noFigures()
  for (const each of keys) addFigures(figures, each)
  figures.points = used?.points ?? 0
  figures.beyond = used?.beyond ?? 0
  const own = ownKey(quota, figures)
  return {
    quota,
    plan: summed?.plan || summed?.unusedPlan || '',
    ...figures,
    keys: own.length > 0 ? own : keys,
  }
}

async function pointsByQuota({ quota }: Sources, day: number): Promise<PointsByQuota> {
  const byQuota: PointsByQuota = new Map()
  for await (const some of quota.points(day)) {
    for (const used of some) if (/^(?:key|account):/.test(used.quota)) byQuota.set(used.quota, used)
  }
  return byQuota
}

/** The usage of keys as gateways have written it down. */
async function usageByKey({ tallies }: Sources, day: number): Promise<Map<string, Figures>> {
  const byKey = new Map<string, Figures>()
  for await (const { key, what, count } of tallies.list(day, day)) {
    const kind = usageKind(what)
    if (kind) addTo(entryOf(byKey, key, noFigures), kind, count)
  }
  return byKey
}

function addTo(figures: Figures, kind: UsageKind, count: number): void {
  if (kind === 'admitted') figures.requests += count
  if (kind === 'refused' || isRareFigure(kind)) figures[kind] += count
  else figures.points += kind === 'less' ? -count : count
}

type Noting = Readonly<{
  day: number
  points: PointsByQuota
  usage: ReadonlyMap<string, Figures>
  byQuota: Map<string, OfKeys>
}>

/** Notes a key, unless it is a test key, which nobody pays for: with its quota at the end of the day, and with its own one if it left that within the day. */
function noteKey(key: Key, { points, usage, byQuota }: Noting): void {
  const [quota, own] = [quotaOf(key), `key:${key.id}`]
  if (key.test) return void points.delete(own)
  const figures = usage.get(key.id)
  if (!figures && !points.has(quota) && !points.has(own)) return
  const { plan } = key
  if (quota !== own && points.has(own)) entry(byQuota, own).unusedPlan = plan
  if (!figures && !points.has(quota)) return
  const summed = entry(byQuota, quota)
  if (figures) {
    summed.keys.push({ key: key.id, ...figures })
    summed.plan = withPlan(summed.plan, plan)
  } else summed.unusedPlan = withPlan(summed.unusedPlan, plan)
}

function entry(byQuota: Map<string, OfKeys>, quota: string): OfKeys {
  return entryOf(byQuota, quota, () => ({ keys: [], plan: '', unusedPlan: '' }))
}

/** A list of plans with one more. */
function withPlan(plans: string, plan: string): string {
  if (plans === '' || plans === plan) return plan
  return [...new Set([...plans.split(','), plan])].sort(inOrder).join(',')
}

/** By the numbers of their characters, which is the same everywhere. */
function inOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
