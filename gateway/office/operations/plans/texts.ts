import type { HitQuota, PlanPreview, RefusedQuota } from '../../foresight/preview.ts'
import type { LimitsView } from '../../foresight/views.ts'
import { csvText } from '../../../../shared/csv-text.ts'
import { aligned } from '../table.ts'

/** A preview for people: a summary, who is hit, who was refused, and what it can't tell. */
export function previewText(preview: PlanPreview): string {
  const { hit, hitQuotas, refused, refusedQuotas, unsaid } = preview
  const parts = [
    summary(preview),
    ...(hit.length > 0 ? [hitTable(hit) + leftOut(hitQuotas - hit.length)] : []),
    ...(refused.length > 0
      ? [
          'Refused by the limits that would be raised:\n' +
            refusedTable(refused) +
            leftOut(refusedQuotas - refused.length),
        ]
      : []),
    unsaid.join('\n'),
  ]
  return parts.join('\n\n')
}

/** Such as `free 60 → 40 a minute: 12 of 340 quotas, on 31 of 1,204 days; 3 of them right now.` */
function summary(preview: PlanPreview): string {
  const { hitQuotas, quotas, hitDays, days, hitNow, bound } = preview
  const least = bound === 'lower' ? 'at least ' : ''
  const now = hitQuotas > 0 ? `; ${counted(hitNow)} of them right now` : ''
  return `${changeText(preview)}: ${least}${counted(hitQuotas)} of ${counted(quotas)} quotas, on ${counted(hitDays)} of ${counted(days)} days${now}.`
}

/** The change of a plan, such as `free 60 → 40 a minute, 1,000 → 800 a day`. */
export function changeText({
  plan,
  now,
  then,
}: Pick<PlanPreview, 'plan' | 'now' | 'then'>): string {
  if (now === null || then === null) return `${plan} ${now ? 'taken away' : 'unknown'}`
  if (typeof now === 'string' || typeof then === 'string') {
    return `${plan} ${limitsText(now)} → ${limitsText(then)}`
  }
  const changes = [
    ...(now.perMinute === then.perMinute
      ? []
      : [`${counted(now.perMinute)} → ${counted(then.perMinute)} a minute`]),
    ...(now.perDay === then.perDay
      ? []
      : [`${counted(now.perDay)} → ${counted(then.perDay)} a day`]),
  ]
  return `${plan} ${changes.length > 0 ? changes.join(', ') : 'as it is'}`
}

function limitsText(limits: LimitsView): string {
  if (typeof limits === 'string') return limits
  return `${counted(limits.perMinute)} a minute, ${counted(limits.perDay)} a day`
}

function counted(number: number | 'unlimited'): string {
  return typeof number === 'number' ? number.toLocaleString('en') : number
}

function leftOut(count: number): string {
  return count > 0 ? `\n… and ${counted(count)} more (--limit lists more)` : ''
}

const heads = ['NAME', 'PLAN', 'QUOTA', 'DAYS', 'HIT', 'HIGHEST MINUTE', 'HIGHEST DAY']

function hitTable(hit: readonly HitQuota[]): string {
  const rows = hit.map((each) => [
    ...cells(each, each.daysHit.length),
    each.refusedNow ? 'refused now' : '',
  ])
  return aligned([[...heads, 'NOW'], ...rows])
}

function refusedTable(refused: readonly RefusedQuota[]): string {
  const rows = refused.map((each) => [
    ...cells(each, each.daysRefused.length),
    counted(each.refused.minute),
    counted(each.refused.day),
  ])
  const named = heads.map((head) => (head === 'HIT' ? 'REFUSED ON' : head))
  return aligned([[...named, 'BY MINUTE', 'BY DAY'], ...rows])
}

function cells(held: HitQuota | RefusedQuota, days: number): string[] {
  const { name, plan, quota, peakMinute, peakDay } = held
  return [
    name,
    plan,
    quota,
    counted(held.days),
    counted(days),
    counted(peakMinute),
    counted(peakDay),
  ]
}

/** The quotas that are hit, for letters. */
export function previewCsv(previews: readonly PlanPreview[]): string {
  const rows = previews.flatMap(({ hit }) =>
    hit.map((each) => [
      each.plan,
      each.quota,
      each.key,
      each.name,
      each.account ?? '',
      each.days,
      each.daysHit.length,
      each.daysHit.join(' '),
      each.peakMinute,
      each.peakDay,
      each.refusedNow,
    ]),
  )
  const names =
    'plan,quota,key,name,account,days,days_hit,dates_hit,peak_minute,peak_day,refused_now'
  return csvText(names.split(','), rows)
}
